// SPDX-License-Identifier: GPL-3.0-or-later
// The page of carm compare --history: a table of the steps, and each series over the commits.

const UNITS = { time: "s", flops: "flop", instructions: "" };

function historyValue(series, v) {
  const unit = UNITS[series.quantity] === undefined ? "B" : UNITS[series.quantity];
  return unit === "s" && v < 1 ? `${digits4(v * (v < 1e-3 ? 1e6 : 1e3))} ${v < 1e-3 ? "µs" : "ms"}` : si(v, unit);
}

// A value as text. Exact counts have all digits, as a step may be one instruction.
function stepValue(series, v) {
  return series.exact ? String(v) : historyValue(series, v);
}

function changeText(step) {
  return step.before > 0 ? `${step.after > step.before ? "+" : ""}${percent(step.after / step.before - 1)}` : "from 0";
}

function drawSteps(data) {
  const rows = data.series.flatMap((series, k) => series.steps.map((step) => ({ series, step, k })));
  rows.sort((a, b) => b.step.at - a.step.at);
  const box = byId("steps");
  if (!rows.length) {
    box.append(el("p", {}, "There are no steps."));
    return;
  }
  const head = el("tr", {}, ...["From", "Benchmark", "Quantity", "Before", "After", "Change", "Where"].map((t) => el("th", { scope: "col" }, t)));
  const body = rows.map(({ series, step, k }) => el("tr", {},
    el("td", {}, data.files[step.at]), el("td", {}, el("a", { href: `#series-${k}` }, series.name)), el("td", {}, series.quantity),
    el("td", {}, stepValue(series, step.before)), el("td", {}, stepValue(series, step.after)), el("td", {}, changeText(step)),
    el("td", {}, step.causes)));
  box.append(el("div", { class: "scroll" }, el("table", {}, el("thead", {}, head), el("tbody", {}, ...body))));
}

// Draws one quantity: a line through the values, with marked steps. The axis does not begin at zero, so that a step of
// 1% is visible.
function drawSeries(data, series, k) {
  const figure = el("figure", { class: "history", id: `series-${k}` }, el("figcaption", {}, `${series.name}: ${series.quantity}`));
  byId("series").append(figure);
  const box = { w: Math.min(1200, Math.max(340, figure.clientWidth || 900)), h: 220, left: 90, right: 20, top: 14, bottom: 30 };
  const points = series.values.map((v, i) => ({ v, i })).filter((p) => p.v !== null);
  const low = d3.min(points, (p) => p.v);
  const high = d3.max(points, (p) => p.v);
  const room = (high - low) * 0.1 || Math.abs(high) * 0.01 || 1;
  const x = d3.scale.linear().domain([0, Math.max(1, data.files.length - 1)]).range([box.left, box.w - box.right]);
  const y = d3.scale.linear().domain([low - room, high + room]).range([box.h - box.bottom, box.top]);
  const svg = d3.select(figure).append("svg")
    .attr({ viewBox: `0 0 ${box.w} ${box.h}`, role: "img",
      "aria-label": `${series.name}, ${series.quantity}: ${series.steps.length} steps in ${points.length} values` });
  for (const v of y.ticks(4)) {
    svg.append("line").attr({ class: "grid", x1: box.left, x2: box.w - box.right, y1: y(v), y2: y(v) });
    svg.append("text").attr({ x: box.left - 6, y: y(v) + 4, "text-anchor": "end" }).text(historyValue(series, v));
  }
  svg.append("text").attr({ x: box.left, y: box.h - 8 }).text(data.files[0]);
  svg.append("text").attr({ x: box.w - box.right, y: box.h - 8, "text-anchor": "end" }).text(data.files[data.files.length - 1]);
  svg.append("path").attr("d", d3.svg.line().x((p) => x(p.i)).y((p) => y(p.v))(points));
  for (const step of series.steps) {
    svg.append("line").attr({ class: "step", x1: x(step.at), x2: x(step.at), y1: box.top, y2: box.h - box.bottom });
    svg.append("text").attr({ x: x(step.at) + 4, y: box.top + 10 }).text(`${changeText(step)} ${data.files[step.at]}`);
  }
  const steps = new Set(series.steps.map((s) => s.at));
  svg.selectAll("circle").data(points).enter().append("circle")
    .attr({ cx: (p) => x(p.i), cy: (p) => y(p.v), r: points.length > 200 ? 1.5 : 3, class: (p) => (steps.has(p.i) ? "step" : null) })
    .append("title").text((p) => `${data.files[p.i]}: ${historyValue(series, p.v)}`);
}

function startHistory() {
  const data = JSON.parse(byId("carm-data").textContent);
  const n = d3.sum(data.series, (s) => s.steps.length);
  byId("title").textContent = n === 1 ? "One step" : `${n} steps`;
  byId("subtitle").textContent = `${data.files.length} files, ${data.files[0]} to ${data.files[data.files.length - 1]}`;
  drawSteps(data);
  data.series.forEach((series, k) => drawSeries(data, series, k));
  byId("made").textContent = `Exact counts: each change is a step. Times and what else scatters: steps of more than ${percent(data.noise)}; a series without ` +
    `a step shows a false one in at most ${percent(data.false_alarms)} of cases.`;
}

startHistory();
