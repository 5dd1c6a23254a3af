"""The copy button of the site: what it copies can be pasted into a shell."""


def test_a_copied_example_is_its_commands(new_page, site):
    page = new_page(permissions=["clipboard-read", "clipboard-write"])
    page.goto(f"{site}tutorial/score-two-systems/")
    page.wait_for_selector("[data-clipboard-text]", state="attached")
    copied = []
    for button in page.query_selector_all("[data-clipboard-text]"):
        button.dispatch_event("click")
        page.wait_for_timeout(50)
        copied.append(page.evaluate("navigator.clipboard.readText()"))
    loop = copied[0].splitlines()
    assert (
        loop[0] == "cgbench data get demo --out data"
        and loop[-1] == "done"
        and "[...]" not in copied[0]
    )
    # A command over two lines, without the table that it prints.
    (paired,) = [
        text for text in copied if "score bleu --ref" in text and "--tokenize none --paired" in text
    ]
    assert len(paired.splitlines()) == 2 and paired.splitlines()[0].endswith("\\")


def test_an_example_without_colours_is_copied_as_its_commands_too(new_page, site):
    page = new_page()
    page.goto(f"{site}reference/train/")
    page.wait_for_selector("[data-clipboard-text]", state="attached")
    copied = page.eval_on_selector_all(
        "[data-clipboard-text]", "buttons => buttons.map((button) => button.dataset.clipboardText)"
    )
    # A second line that only its indentation shows belongs to the command; the table after it does
    # not.
    (demo,) = [text for text in copied if "validate_metric=exact_match" in text]
    first, second = demo.splitlines()
    assert (
        first.startswith("cgbench train --model demo")
        and first.endswith("\\")
        and second.startswith("    --set ")
    )
