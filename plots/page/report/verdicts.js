// SPDX-License-Identifier: GPL-3.0-or-later
// The table of verdicts: the limit of each part of a program, the share of time that it explains, and the gain without
// it. A row opens its loop: bounds as bars, code with counts, strides of accesses.

const VERDICT_HEADS = ["time", "limited by", "explains", "gain", "where"];
// smaller bounds give no advice
const BOUNDS_SHOWN = 8;

// "86.0%"; for a part without samples, its seconds
function timeOf(p) {
  return p.part && p.part.time_share !== null ? percent(p.part.time_share) : known(p.seconds) ? `${short(p.seconds)} s` : "\u2013";
}

// "86.0% of the time in sweep loop jacobi.c:12, limited by L2 bandwidth for 93% of its time: ..."
function answerText(p) {
  return `${timeOf(p)} of the time in ${p.name}${p.verdict.limit === "unknown" ? ":" : ","} ${p.verdict.text}.`;
}

function boundBar(bound, seconds) {
  const share = bound.seconds / seconds;
  const kind = bound.refuted ? " refuted" : bound.estimate ? " estimate" : "";
  const bar = el("i");
  bar.style.width = `${Math.min(100, 100 * share).toFixed(1)}%`; // the page's policy forbids style attributes
  return el("div", { class: `bound${kind}` }, el("div", {}, bound.words), el("div", {}, bar), el("b", {}, percent(share, 0)),
    el("span", {}, bound.origin + (bound.refuted ? "; the measured time refutes it" : bound.estimate ? "; an estimate" : "")));
}

function movesText(a) {
  return a.pattern === "stride" ? (a.stride_bytes ? `moves by ${a.stride_bytes} bytes each iteration` : "stays at its address")
    : { once: "seen once", regular: "moves by the same distance each time", indirect: "goes where a loaded number says" }[a.pattern] ||
      "goes to computed addresses";
}

function accessText(a, line) {
  const lines = a.lines >= 0.95 ? "a new line of 64 bytes each time" : a.lines >= 0.005 ? `a new line in ${percent(a.lines, 0)} of the times` : "found in L1";
  return `${a.kind}${line ? ` of line ${line}` : ` at 0x${a.offset.toString(16)}`}: ${movesText(a)}, ${lines}`;
}

function codeTable(loop) {
  const most = Math.max(...loop.lines.map((l) => l.executions));
  return el("div", { class: "code", tabindex: 0, role: "region", "aria-label": "code of the loop" }, el("table", {}, el("tbody", {}, ...loop.lines.map((l) =>
    el("tr", { class: l.executions > 0 && l.executions === most ? "hottest" : null },
      el("td", { class: "n" }, l.executions ? si(l.executions, "").trim() : ""),
      el("td", { class: "n" }, known(l.line) ? l.line : `0x${l.offset.toString(16)}`), el("td", {}, l.text))))));
}

function loopDetails(loop) {
  const v = loop.verdict;
  const times = new Map(); // number of times of each text
  v.accesses.forEach((a, i) => {
    const text = accessText(a, loop.access_lines[i]);
    times.set(text, (times.get(text) || 0) + 1);
  });
  const accesses = [...times].map(([text, n]) => el("li", {}, n > 1 ? `${n} times: ${text}` : text));
  const title = loop.file ? `${loop.file}: executions, line` : `Instructions (${loop.why})`;
  return el("div", { class: "loop" },
    el("div", {}, el("h3", {}, `Lower bounds of its time: ${si(1e9 * v.iteration_seconds, "").trim()} ns for an iteration`),
      ...v.bounds.slice(0, BOUNDS_SHOWN).map((b) => boundBar(b, v.iteration_seconds)),
      accesses.length ? el("h3", {}, "Its loads and stores") : null, accesses.length ? el("ul", {}, ...accesses) : null),
    el("div", {}, el("h3", {}, title), codeTable(loop),
      loop.left_out ? el("p", { class: "hint" }, `${loop.left_out} more are not shown`) : null));
}

// A row of the table, and the row that it opens.
function verdictRows(report, p, index) {
  const v = p.verdict;
  const loop = (report.data.loops || [])[index];
  const where = loop ? el("button", { type: "button", "aria-expanded": "false" }, p.name) : p.name;
  const cells = [timeOf(p), v.limited_by, percent(v.explains, 0), v.gain, where];
  const row = el("tr", { "data-name": p.name }, ...cells.map((c, i) =>
    el("td", { class: i === 0 || i === 2 ? "n" : i === 4 ? "name" : null, "data-label": VERDICT_HEADS[i] }, c)));
  const opened = el("tr", { hidden: "" }, el("td", { class: "opened", colspan: VERDICT_HEADS.length }));
  if (loop) {
    where.addEventListener("click", () => {
      opened.hidden = !opened.hidden;
      where.setAttribute("aria-expanded", String(!opened.hidden));
      if (!opened.firstChild.firstChild) {
        opened.firstChild.append(loopDetails(loop));
      }
    });
  }
  return [row, opened];
}

function makeVerdicts(report) {
  const { places } = report.data;
  const judged = places.map((p, i) => i).filter((i) => places[i].verdict);
  const time = (i) => (places[i].part || {}).time_share || 0;
  if (!judged.length) {
    return;
  }
  const shown = judged.sort((a, b) => time(b) - time(a) || a - b).slice(0, ROWS_AT_ONCE);
  const section = byId("verdicts");
  section.hidden = false;
  section.parentElement.classList.add("judged"); // rooflines go beside it if there is room
  section.append(el("p", { class: "answer name" }, answerText(places[shown[0]])),
    el("div", { class: "scroll" }, el("table", { class: "cards" },
      el("thead", {}, el("tr", {}, ...VERDICT_HEADS.map((h, i) => el("th", { scope: "col", class: i === 0 || i === 2 ? "n" : null }, h)))),
      el("tbody", {}, ...shown.flatMap((i) => verdictRows(report, places[i], i))))));
}
