// SPDX-License-Identifier: GPL-3.0-or-later
// The table of points: place, limit, advice. Its heads sort it.

const ROWS_AT_ONCE = 50;

// In the data, null is an infinite intensity: of a placed point without bytes.
function intensityOf(place) {
  return place && place.intensity === null ? Infinity : (place || {}).intensity;
}

// The head has flop/byte; points of another metric show their unit.
function intensityText(v, p) {
  return v === Infinity ? "\u221e, no bytes" : `${short(v)}${p.metric ? ` ${p.metric}/byte` : ""}`;
}

// title: the bytes that the model counts
function placeColumns(which, title) {
  const at = (p) => p[KEYS[which]] || {};
  return [
    { key: `${which} intensity`, title: `flop/byte (${title})`, which, number: true, value: (p) => intensityOf(p[KEYS[which]]), text: intensityText },
    { key: `${which} share`, title: `of the roof (${title})`, which, number: true, value: (p) => at(p).share, text: (v) => percent(v) },
    { key: `${which} bound`, title: `bound by (${title})`, which, value: (p) => at(p).bound, text: String },
    { key: `${which} left`, title: `next ceiling (${title})`, which, number: true, value: (p) => (at(p).above || {}).left, text: (v) => `${short(v)}x` },
  ];
}

function notesOf(p) {
  // each note once: the point's own note may repeat a note of its placement
  return [...new Set([...p.not_placed, ...p.note.split("; ")])].filter(Boolean).join("; ");
}

// Advice of each model and notes as one text, for sorting.
function adviceOf(p) {
  return [partText(p.part), ...MODELS.map((which) => (p[KEYS[which]] || {}).advice), p.levels_advice, notesOf(p)].filter(Boolean).join("; ");
}

// The cell with the advice. A verdict goes first: it names the cause, while a place under roofs may
// have several.
function adviceCell(p) {
  const advice = p.verdict && p.verdict.limit !== "unknown" ? [el("div", {}, el("b", {}, "verdict: "), p.verdict.text)]
    : MODELS.filter((which) => (p[KEYS[which]] || {}).advice).map((which) => el("div", { class: which }, el("b", {}, `${which}: `), p[KEYS[which]].advice));
  if (p.levels) {
    advice.push(el("div", { class: "levels" }, el("b", {}, "levels: "), p.levels_advice));
  }
  return [p.part ? el("div", { class: "part-text" }, partText(p.part)) : null, ...advice,
    notesOf(p) ? el("div", { class: "note" }, notesOf(p)) : null];
}

const COLUMNS = [
  { key: "name", title: "point", name: true, value: (p) => p.name, text: String },
  { key: "performance", title: "flop/s", number: true, value: (p) => p.performance, text: (v, p) => si(v, `${p.metric || "flop"}/s`) },
  { key: "roofs", title: "under", value: (p) => (p.roofs ? setText(p.roofs) : ""), text: String },
  ...placeColumns("cache-aware", "core"),
  ...placeColumns("original", "memory"),
  { key: "advice", title: "what to try, notes", long: true, value: adviceOf, cell: adviceCell },
];

// Row numbers in the view's order; unknown values come last in both directions. If there are too many points to show at
// once, the longest come first.
function sortedRows(places, sort) {
  const order = places.map((p, i) => i);
  if (!sort) {
    const time = (p) => (p.part ? p.part.time_share : p.seconds) || 0;
    return places.length > ROWS_AT_ONCE ? order.sort((a, b) => time(places[b]) - time(places[a]) || a - b) : order;
  }
  const column = COLUMNS.find((c) => c.key === sort[0]);
  const values = places.map(column.value);
  const sign = sort[1] ? -1 : 1;
  return order.sort((a, b) => {
    const [va, vb] = [values[a], values[b]];
    if (known(va) !== known(vb)) {
      return known(va) ? -1 : 1;
    }
    const less = va < vb ? -1 : va > vb ? 1 : 0;
    return sign * less || a - b;
  });
}

function placeRow(report, index) {
  const p = report.data.places[index];
  const row = el("tr", { "data-name": p.name, role: "row", tabindex: -1 });
  for (const c of COLUMNS) {
    const v = c.value(p);
    const kind = [c.name ? "name" : "", c.number ? "n" : "", c.long ? "long" : "", c.which || ""].filter(Boolean).join(" ");
    row.append(el("td", { class: kind || null, role: "cell", "data-label": c.title },
      ...(!known(v) ? ["\u2013"] : c.cell ? [el("div", {}, ...c.cell(p))] : [c.text(v, p)])));
  }
  const at = () => highlight(report, index);
  const away = () => highlight(report, null);
  row.addEventListener("mouseenter", at);
  row.addEventListener("focus", at);
  row.addEventListener("mouseleave", away);
  row.addEventListener("blur", away);
  row.addEventListener("keydown", (event) => {
    const next = { ArrowDown: row.nextElementSibling, ArrowUp: row.previousElementSibling }[event.key];
    if (next) {
      event.preventDefault();
      next.focus();
    }
  });
  return row;
}

// Fills the table up to report.rowsShown rows.
function fillRows(report) {
  const body = document.querySelector("#places tbody");
  const word = report.search.toLowerCase();
  const found = report.order.filter((i) => report.data.places[i].name.toLowerCase().includes(word));
  const order = found.slice(0, report.rowsShown);
  report.rows = new Map();
  body.replaceChildren(...order.map((index, i) => {
    const row = placeRow(report, index);
    row.tabIndex = i === 0 ? 0 : -1;
    report.rows.set(index, row);
    return row;
  }));
  const rest = found.length - order.length;
  const more = byId("more");
  byId("places-count").textContent = (word ? `${found.length} of ` : "") + plural(report.order.length, "point") +
    (rest ? `, of which ${order.length} are shown${report.view.sort || word ? "" : ", longest time first"}` : "");
  more.hidden = rest === 0;
  more.textContent = `Show ${Math.min(rest, ROWS_AT_ONCE)} more of ${rest}`;
}

function sortPlaces(report) {
  if (!report.data.places.length) {
    return;
  }
  const sort = report.view.sort;
  report.order = sortedRows(report.data.places, sort);
  document.querySelectorAll("#places th").forEach((th, i) => {
    const mine = sort && COLUMNS[i].key === sort[0];
    th.setAttribute("aria-sort", mine ? (sort[1] ? "descending" : "ascending") : "none");
  });
  fillRows(report);
}

// Goes to a point's row, which may not be in the table yet.
function showRow(report, index) {
  if (!report.rows.has(index)) {
    report.search = byId("search").value = "";
    report.rowsShown = Math.max(report.rowsShown, report.order.indexOf(index) + 1);
    fillRows(report);
  }
  report.rows.get(index).scrollIntoView({ block: "center" });
  report.rows.get(index).focus({ preventScroll: true });
}

function makePlaces(report) {
  const section = byId("placement");
  const { places } = report.data;
  report.rows = new Map();
  report.rowsShown = ROWS_AT_ONCE;
  report.search = "";
  if (!places.length) {
    section.append(el("p", { class: "hint" }, "No points were given: carm report MODEL points.csv places them."));
    return;
  }
  const heads = COLUMNS.map((c) => {
    const button = el("button", { type: "button" }, c.title);
    button.addEventListener("click", () => {
      const sort = report.view.sort;
      const again = sort && sort[0] === c.key;
      // numbers: largest first; texts: from A; a third press restores the files' order
      const first = Boolean(c.number);
      report.view.sort = !again ? [c.key, first] : sort[1] === first ? [c.key, !first] : null;
      report.changed();
    });
    const kind = [c.number ? "n" : "", c.long ? "long" : "", c.which || ""].filter(Boolean).join(" ");
    return el("th", { scope: "col", role: "columnheader", class: kind || null }, button);
  });
  const more = el("button", { type: "button", id: "more", class: "more" });
  more.addEventListener("click", () => {
    report.rowsShown += ROWS_AT_ONCE;
    fillRows(report);
  });
  const search = el("input", { type: "search", id: "search", placeholder: "find a point", "aria-label": "find a point by its name" });
  search.addEventListener("input", () => {
    report.search = search.value;
    report.rowsShown = ROWS_AT_ONCE;
    fillRows(report);
  });
  search.hidden = places.length <= ROWS_AT_ONCE;
  section.append(search,
    // roles, since the style sheet's grid layout would remove those of a table
    el("div", { class: "scroll" }, el("table", { id: "places", class: "cards", role: "table" },
      el("caption", {}, el("span", { id: "places-count" }), el("span", { class: "screen" },
        "; point at a row to see its point in the plots; click a head to sort")),
      el("thead", { role: "rowgroup" }, el("tr", { role: "row" }, ...heads)), el("tbody", { role: "rowgroup" }))),
    more);
  if (report.data.many) {
    const told = places.length - report.data.untold;
    section.append(el("p", { class: "hint" }, `What to try is here for the ${told} points that took longest; carm place has it for all.`));
  }
}
