"use strict";
document.documentElement.classList.add("js");
document.addEventListener("DOMContentLoaded", () => {
  const table = document.querySelector(".overview");
  const rows = [...table.tBodies];
  const heads = [...table.tHead.rows[0].cells];

  function open(body, wanted) {
    const link = body.querySelector("a");
    body.classList.toggle("open", wanted);
    body.querySelector("details").open = wanted;
    link.setAttribute("aria-expanded", wanted);
  }
  rows.forEach((body) => {
    open(body, body.querySelector("details").open);
    body.rows[0].addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || String(getSelection())) return;
      event.preventDefault();
      open(body, !body.classList.contains("open"));
    });
  });
  function follow() {
    const target = location.hash && document.getElementById(location.hash.slice(1));
    const body = target && target.closest("tbody");
    if (body) { body.hidden = false; open(body, true); target.scrollIntoView(); }
  }
  addEventListener("hashchange", follow);
  follow();

  function value(body, column) {
    const cell = body.rows[0].cells[column];
    return column ? parseFloat(cell.dataset.v) : cell.textContent.trim();
  }
  function compare(column, sign) {
    if (!column) return (a, b) => sign * a.key.localeCompare(b.key, undefined, {numeric: true});
    return (a, b) => isNaN(a.key) - isNaN(b.key) || sign * (a.key - b.key) || 0;
  }
  function sort(column) {
    const was = heads[column].getAttribute("aria-sort");
    const first = column ? "descending" : "ascending";
    const now = was === first ? (first === "ascending" ? "descending" : "ascending") : first;
    heads.forEach((head, i) => {
      if (head.hasAttribute("aria-sort")) head.setAttribute("aria-sort", i === column ? now : "none");
    });
    rows.map((body) => ({body, key: value(body, column)}))
      .sort(compare(column, now === "ascending" ? 1 : -1))
      .forEach((entry) => table.append(entry.body));
  }
  heads.forEach((head, column) => {
    const button = head.querySelector("button");
    if (button) button.addEventListener("click", () => sort(column));
  });

  const tools = document.querySelector(".tools");
  if (tools) {
    const text = tools.querySelector("input");
    const chips = [...tools.querySelectorAll(".chips button")];
    const shown = tools.querySelector(".shown");
    const names = rows.map((body) => body.rows[0].cells[0].textContent.toLowerCase());
    const filter = () => {
      const part = text.value.trim().toLowerCase();
      const word = chips.find((chip) => chip.getAttribute("aria-pressed") === "true").dataset.w;
      let left = 0;
      rows.forEach((body, i) => {
        body.hidden = !(names[i].includes(part) && (!word || body.dataset.w === word));
        left += !body.hidden;
      });
      shown.textContent = left === rows.length ? "" : left + " of " + rows.length + " shown";
    };
    text.addEventListener("input", filter);
    chips.forEach((chip) => chip.addEventListener("click", () => {
      chips.forEach((other) => other.setAttribute("aria-pressed", other === chip));
      filter();
    }));
    addEventListener("keydown", (event) => {
      if (event.key === "/" && event.target === document.body) { event.preventDefault(); text.focus(); }
      if (event.key === "Escape" && event.target === text) { text.value = ""; filter(); }
    });
  }

  let opened = [];
  addEventListener("beforeprint", () => {
    if (!document.body.classList.contains("all")) return;
    opened = rows.filter((body) => !body.classList.contains("open"));
    opened.forEach((body) => open(body, true));
  });
  addEventListener("afterprint", () => opened.forEach((body) => open(body, false)));
});
