/* Tables that scroll sideways can be reached and scrolled by keyboard. Names in them do not break. */
(() => {
  const watcher = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      if (target.scrollWidth > target.clientWidth) {
        target.tabIndex = 0;
        target.setAttribute("role", "region");
        target.setAttribute("aria-label", "Table, scrolls sideways");
      } else {
        for (const name of ["tabindex", "role", "aria-label"]) target.removeAttribute(name);
      }
    }
  });
  addEventListener("load", () => {
    for (const code of document.querySelectorAll(".md-typeset td code")) {
      code.classList.toggle("dkmd-whole", code.textContent.length <= 22);
    }
    for (const table of document.querySelectorAll(".md-typeset__scrollwrap")) watcher.observe(table);
  });
})();
