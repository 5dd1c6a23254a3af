// The data of the examples; a page without them ends here.
const data = JSON.parse($("#data").textContent);
const section = $("#examples");
if (!data.rows || !section) return;
$(".browse", section).hidden = false;
const count = new Intl.NumberFormat("en");
