// The copy button of an example in a shell copies its commands, without prompts and output.
document$.subscribe(() => {
  for (const block of document.querySelectorAll(".highlight")) {
    const lines = block.querySelector("code").textContent.split("\n");
    if (!lines.some((line) => line.startsWith("$ "))) continue;
    // A line after a backslash belongs to its command, with or without a prompt.
    let open = false;
    const commands = lines.filter((line) => {
      const taken = open || /^[$>] /.test(line);
      open = taken && line.endsWith("\\");
      return taken;
    }).map((line) => line.replace(/^[$>] /, "")).join("\n");
    const set = () => block.querySelector("[data-clipboard-target]:not([data-clipboard-text])")
      ?.setAttribute("data-clipboard-text", commands);
    new MutationObserver(set).observe(block, { childList: true, subtree: true });
    set();
  }
});
