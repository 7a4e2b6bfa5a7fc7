// SPDX-License-Identifier: GPL-3.0-or-later
// The spread of a group's nodes for each roof: histograms, or dots for few nodes.

const SPREAD_BINS = 25;
const SPREAD_DOTS_MOST = 40;
const SPREAD = { width: 168, height: 78, left: 4, right: 4, top: 10, bottom: 14 };

function columnTip(c, group) {
  if (!c.n) {
    return [c.label, "disturbed on all nodes"];
  }
  const extreme = (node, word) => (node < 0 ? "" : `${word}: ${group.names[node]}, ${signed(group.share[group.cell(node, c.index)], 2)}`);
  return [
    c.label, Number.isFinite(c.median) ? `median of ${plural(c.n, "node")}: ${si(c.median, unitOf(c))}` : plural(c.n, "node"),
    `spread of nodes ${percent(c.spread, 2)} (robust standard deviation, their own errors left out)`,
    `5% to 95% of nodes: ${signed(c.p5, 2)} to ${signed(c.p95, 2)}`,
    extreme(c.low, "lowest"), extreme(c.high, "highest"), c.disturbed ? `disturbed on ${plural(c.disturbed, "node")}, left out` : "",
  ];
}

// The end of a histogram's scale, a round value that only the outermost nodes exceed.
function spreadReach(c) {
  const wanted = Math.max(0.002, 2.2 * Math.max(Math.abs(c.p5), Math.abs(c.p95)), 4 * c.spread);
  const power = 10 ** Math.floor(Math.log10(wanted));
  return [1, 2, 5, 10].map((m) => m * power).find((v) => v >= wanted);
}

// Values of undisturbed nodes.
function spreadValues(group, c) {
  const values = [];
  for (let i = 0; i < group.names.length; i++) {
    const at = group.cell(i, c.index);
    if (group.state[at] & HAS && !(group.state[at] & DISTURBED)) {
      values.push(group.share[at]);
    }
  }
  return values;
}

function binsOf(values, reach) {
  const bins = new Array(SPREAD_BINS).fill(0);
  values.forEach((v) => {
    const at = Math.floor(((v + reach) / (2 * reach)) * SPREAD_BINS);
    bins[Math.max(0, Math.min(SPREAD_BINS - 1, at))]++;
  });
  return bins;
}

function drawSpreadPlot(report, c) {
  const { group, node } = report;
  const { width, height, left, right, top, bottom } = SPREAD;
  const reach = spreadReach(c);
  const x = d3.scale.linear().domain([-reach, reach]).range([left, width - right]).clamp(true);
  const base = height - bottom;
  const tip = columnTip(c, group);
  const svg = d3.select(document.createElementNS(d3.ns.prefix.svg, "svg")).datum(c)
    .attr({ viewBox: `0 0 ${width} ${height}`, role: "img", tabindex: 0, "aria-label": tip.filter(Boolean).join("; ") });
  svg.append("rect").attr({ class: "sigma", x: x(-c.spread), width: Math.max(0.5, x(c.spread) - x(-c.spread)), y: top, height: base - top });
  const values = spreadValues(group, c);
  if (values.length <= SPREAD_DOTS_MOST) {
    values.forEach((v, i) => svg.append("circle").attr({ class: "count", r: 3, cx: x(v), cy: base - 6 - ((i * 7) % 4) * ((base - top - 12) / 3) }));
  } else {
    const bins = binsOf(values, reach);
    const most = Math.max(...bins);
    const step = (width - left - right) / SPREAD_BINS;
    // keeps a bar of one node among ten thousand visible
    const tall = (n) => (n ? Math.max(1.5, (n / most) * (base - top)) : 0);
    svg.append("path").attr("class", "count")
      .attr("d", bins.map((n, i) => `M${left + i * step},${base}v${-tall(n)}h${step - 0.6}v${tall(n)}z`).join(""));
  }
  svg.append("line").attr({ class: "base", x1: left, x2: width - right, y1: base, y2: base });
  svg.append("line").attr({ class: "median", x1: x(0), x2: x(0), y1: top - 3, y2: base });
  const mine = group.share[group.cell(node, c.index)];
  if (Number.isFinite(mine)) {
    const at = x(mine);
    svg.append("path").attr({ class: "mine", d: `M${at},${base + 1}V${top}M${at - 4},${top - 8}h8l-4,7z` }).attr("data-share", mine);
  }
  [[-reach, "start"], [reach, "end"]].forEach(([v, anchor]) => svg.append("text")
    .attr({ x: x(v), y: height - 3, "text-anchor": anchor }).text(signed(v, reach < 0.01 ? 1 : 0)));
  withTip(svg, () => [...tip, Number.isFinite(mine) ? `${group.names[node]}: ${signed(mine, 2)}` : ""]);
  return svg.node();
}

function spreadFigure(report, c) {
  const title = el("button", { type: "button", title: "sort the map by this roof" }, c.short);
  title.addEventListener("click", () => orderBy(report, c));
  const under = c.n ? `${Number.isFinite(c.median) ? `${si(c.median, unitOf(c))}, ` : ""}\u00b1${percent(c.spread)}` : "disturbed on all nodes";
  return el("figure", { "data-column": c.label }, el("figcaption", {}, title, el("span", {}, under)), c.n ? drawSpreadPlot(report, c) : null);
}

function drawSpread(report) {
  const columns = chosenColumns(report);
  const parts = [];
  for (const [first, end, text] of runsOf(columns, (c) => (c.kind === "level" ? "levels: the weighted mean of their roofs" : c.set))) {
    parts.push(el("h3", { class: "name" }, text), ...columns.slice(first, end).map((c) => spreadFigure(report, c)));
  }
  const focus = document.activeElement && document.activeElement.closest ? document.activeElement.closest("#spread-plots figure") : null;
  const label = focus ? focus.dataset.column : null;
  byId("spread-plots").replaceChildren(...parts);
  const again = label === null ? null : [...byId("spread-plots").querySelectorAll("figure")].find((f) => f.dataset.column === label);
  if (again) {
    again.querySelector("button").focus({ preventScroll: true });
  }
}
