// SPDX-License-Identifier: GPL-3.0-or-later
// Plain tables and lists of facts.

// head: texts; rows: arrays of texts; numbers: right-aligned columns
function plainTable(caption, head, rows, numbers) {
  const kind = (i) => (numbers.includes(i) ? "n" : null);
  return el("div", { class: "scroll" }, el("table", { class: "cards" },
    caption ? el("caption", {}, caption) : null,
    el("thead", {}, el("tr", {}, ...head.map((h, i) => el("th", { scope: "col", class: kind(i) }, h)))),
    el("tbody", {}, ...rows.map((row) =>
      el("tr", {}, ...row.map((cell, i) => el("td", { class: kind(i), "data-label": head[i] }, cell)))))));
}

function facts(pairs) {
  const list = el("dl");
  for (const [name, value] of pairs.filter(([, v]) => known(v))) {
    list.append(el("dt", {}, name), el("dd", { class: "name" }, value));
  }
  return list;
}
