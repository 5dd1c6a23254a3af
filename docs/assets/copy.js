// The copy button of an example in a shell copies its commands, without prompts and output.
document$.subscribe(() => {
  for (const block of document.querySelectorAll(".highlight:has(.gp)")) {
    const commands = block.querySelector("code").textContent.split("\n")
      .filter((line) => /^[$>] /.test(line)).map((line) => line.slice(2)).join("\n");
    const set = () => block.querySelector("[data-clipboard-target]:not([data-clipboard-text])")
      ?.setAttribute("data-clipboard-text", commands);
    new MutationObserver(set).observe(block, { childList: true, subtree: true });
    set();
  }
});
