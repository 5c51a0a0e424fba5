"use strict";
document.documentElement.classList.add("js");
document.addEventListener("DOMContentLoaded", () => {
  const table = document.querySelector(".overview");
  if (!table) return;  // a single comparison is open already
  const rows = [...table.tBodies];
  const heads = [...table.tHead.rows[0].cells];
  const tools = document.querySelector(".tools");

  function open(body, wanted) {
    const link = body.querySelector("a");
    body.classList.toggle("open", wanted);
    body.querySelector("details").open = wanted;
    link.setAttribute("aria-expanded", wanted);
  }
  // selecting text with the mouse must not open a row; a click by keyboard has detail 0
  const selects = (event, row) => event.detail && String(getSelection()) && getSelection().containsNode(row, true);
  rows.forEach((body) => {
    open(body, body.querySelector("details").open);
    body.rows[0].addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || selects(event, body.rows[0])) return;
      event.preventDefault();
      open(body, !body.classList.contains("open"));
    });
  });
  function tell() {
    const left = rows.filter((body) => !body.hidden).length;
    const words = left === rows.length ? "" : left + " of " + rows.length + " shown";
    if (tools) tools.querySelector(".shown").textContent = words;
  }
  function follow() {
    const target = location.hash && document.getElementById(location.hash.slice(1));
    const body = target && target.closest("tbody");
    if (!body) return;
    body.hidden = false;
    open(body, true);
    tell();
    body.rows[0].scrollIntoView();
  }
  addEventListener("hashchange", follow);
  follow();

  const turned = {ascending: "descending", descending: "ascending"};
  const choice = document.getElementById("sort");
  function value(body, key) {
    return key === "name" ? body.rows[0].cells[0].textContent.trim() : parseFloat(body.dataset[key]);
  }
  function compare(key, sign) {
    if (key === "name") return (a, b) => sign * a.key.localeCompare(b.key, undefined, {numeric: true});
    return (a, b) => isNaN(a.key) - isNaN(b.key) || sign * (a.key - b.key) || 0;
  }
  function sort(key, order) {
    heads.forEach((head) => {
      if (head.dataset.key) head.setAttribute("aria-sort", head.dataset.key === key ? order : "none");
    });
    choice.value = order === "none" ? "" : key;
    const entries = rows.map((body) => ({body, key: value(body, key)}));
    if (order !== "none") entries.sort(compare(key, order === "ascending" ? 1 : -1));
    table.append(...entries.map((entry) => entry.body));
  }
  const first = (key) => choice.querySelector(`[value=${key}]`).dataset.order;
  choice.addEventListener("change", () => sort(choice.value, choice.value ? first(choice.value) : "none"));
  // the first click sorts in the usual order, the second reverses, the third restores the given order
  heads.forEach((head) => {
    const key = head.dataset.key;
    if (!key) return;
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.firstElementChild.childNodes);
    button.addEventListener("click", () => {
      const was = head.getAttribute("aria-sort");
      sort(key, was === "none" ? first(key) : was === first(key) ? turned[was] : "none");
    });
    head.firstElementChild.replaceWith(button);
    head.setAttribute("aria-sort", "none");
  });

  if (tools) {
    const text = tools.querySelector("input");
    const chips = [...tools.querySelectorAll(".chips button")];
    const names = rows.map((body) => body.rows[0].cells[0].textContent.toLowerCase());
    const filter = () => {
      const part = text.value.trim().toLowerCase();
      const word = chips.find((chip) => chip.getAttribute("aria-pressed") === "true").dataset.w;
      rows.forEach((body, i) => {
        body.hidden = !(names[i].includes(part) && (!word || body.dataset.w === word));
      });
      tell();
    };
    text.addEventListener("input", filter);
    chips.forEach((chip) => chip.addEventListener("click", () => {
      chips.forEach((other) => other.setAttribute("aria-pressed", other === chip));
      filter();
    }));
    addEventListener("keydown", (event) => {
      const typing = event.target.closest("input, textarea, select, [contenteditable]");
      const plain = !event.ctrlKey && !event.metaKey && !event.altKey;
      if (event.key === "/" && plain && !typing) { event.preventDefault(); text.focus(); }
      if (event.key === "Escape" && event.target === text) { text.value = ""; filter(); }
    });
  }

  // in print: the overview without details, then what stands below it, then the open details
  function lines() {
    const brief = table.cloneNode(false);
    brief.classList.add("brief");
    brief.append(...[...table.children].filter((part) => !part.hidden).map((part) => {
      if (part.tagName !== "TBODY") return part.cloneNode(true);
      const body = part.cloneNode(false);
      body.classList.remove("open");
      body.append(part.rows[0].cloneNode(true));
      return body;
    }));
    // browsers do not draw buttons in a heading that repeats on each sheet
    brief.querySelectorAll("button").forEach((button) => button.replaceWith(...button.childNodes));
    return brief;
  }
  let opened = [];
  let brief = null;
  let below = [];
  addEventListener("beforeprint", () => {
    if (document.body.classList.contains("all")) {
      opened = rows.filter((body) => !body.classList.contains("open"));
      opened.forEach((body) => open(body, true));
    }
    if (rows.length < 2 || brief) return;
    brief = lines();
    below = [...document.querySelectorAll(".overview ~ *")];
    table.before(brief, ...below);
  });
  addEventListener("afterprint", () => {
    opened.forEach((body) => open(body, false));
    opened = [];
    if (!brief) return;
    brief.remove();
    brief = null;
    table.after(...below);
  });
});
