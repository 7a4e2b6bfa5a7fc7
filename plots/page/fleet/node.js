// SPDX-License-Identifier: GPL-3.0-or-later
// The chosen node: facts, its roofline over the group's band, its history.

// The columns of the chosen set in the roofline: one mix of memory, and computation.
function rooflineColumns(report) {
  const { set, mix } = report;
  return set ? set.columns.filter((c) => c.kind === "compute" || (isMemory(c) && mixOf(c) === mix)) : [];
}

function isMemory(c) {
  return c.kind === "memory" || c.kind === "dram_peak";
}

// "L3 2:1" is level L3 with mix 2:1.
function mixOf(c) {
  return c.name.startsWith(`${c.family} `) ? c.name.slice(c.family.length + 1) : c.name;
}

function mixesOf(set) {
  return [...new Set(set.columns.filter(isMemory).map(mixOf))];
}

// The view's set and mix; by default the set with the highest peak and the mix of most levels.
function chooseSet(report) {
  const { group, view } = report;
  const peak = (s) => Math.max(0, ...s.columns.filter((c) => c.kind === "compute").map((c) => c.median || 0));
  const ranked = [...group.sets].sort((a, b) => peak(b) - peak(a));
  report.set = group.sets.find((s) => s.text === view.set) || ranked[0] || null;
  const mixes = report.set ? mixesOf(report.set) : [];
  const levels = (mix) => report.set.columns.filter((c) => isMemory(c) && mixOf(c) === mix).length;
  const first = [...mixes].sort((a, b) => levels(b) - levels(a) || mixes.indexOf(a) - mixes.indexOf(b))[0];
  report.mix = mixes.includes(view.mix) ? view.mix : mixes.includes("2:1") ? "2:1" : first;
  report.levels = [...new Set((report.set ? report.set.columns : []).filter(isMemory).map((c) => c.family))];
}

function styleOf(report, c) {
  return isMemory(c) ? `lv${Math.min(4, report.levels.indexOf(c.family))}` : "flat";
}

function fleetLines(report) {
  const { group, node, set } = report;
  return rooflineColumns(report).filter((c) => stateOf(group, node, c.index) & HAS).map((c) => ({
    kind: isMemory(c) ? "memory" : "compute", name: c.name, value: rateOf(group, node, c.index), set,
    style: styleOf(report, c), tip: cellTip(group, node, c.index), id: c.label, column: c,
    ...(isMemory(c) ? { level: c.family, mix: mixOf(c) } : { op: c.name }),
  }));
}

// Draws the range of 5% to 95% of the group under each line.
function drawBands(plot) {
  const { report, scales } = plot;
  const { window, x, y } = scales;
  const rest = plot.lines.map((line) => ({ ...line, value: line.column.median }));
  const top = rest.length ? topsOf(rest).get(setText(rest[0].set)) : null;
  const bands = rest.map((line) => {
    const parts = [line.column.p5, line.column.p95].map((off) => visiblePart({ ...line, value: line.value * (1 + off) }, top, window));
    return parts.every(Boolean) ? { line, parts } : null;
  }).filter(Boolean);
  const paths = plot.bandLayer.selectAll("path").data(bands, (b) => b.line.id);
  paths.enter().append("path");
  paths.exit().remove();
  const corner = (px, py) => `${x(px)},${y(py)}`;
  paths.attr("class", (b) => styleOf(report, b.line.column)).attr("data-name", (b) => b.line.name)
    .attr("data-low", (b) => b.line.value * (1 + b.line.column.p5)).attr("data-high", (b) => b.line.value * (1 + b.line.column.p95))
    .attr("d", ({ parts: [low, high] }) => `M${corner(low[0], low[1])}L${corner(low[2], low[3])}L${corner(high[2], high[3])}L${corner(high[0], high[1])}Z`);
}

function makeRoofline(report) {
  const plot = plotOf(report, "fleet", [], [], []);
  plot.drawBands = drawBands;
  report.plots = [plot];
  byId("reset-view").addEventListener("click", () => {
    report.view.zoom = {};
    report.changed();
  });
}

function drawRoofline(report) {
  const [plot] = report.plots;
  const lines = fleetLines(report);
  // the window is the group's, so that it is the same for all nodes
  const medians = rooflineColumns(report).filter((c) => c.median > 0).map((c) => ({
    kind: isMemory(c) ? "memory" : "compute", value: c.median, mix: isMemory(c) ? mixOf(c) : undefined,
  }));
  report.data.model.config.ldst = report.mix;
  report.shownSets = report.set ? [report.set] : [];
  plot.lines = lines;
  plot.domain = domainOf([...medians, ...lines], [], report.mix);
  plot.size = null;
  byId("plot-fleet").dataset.node = report.group.names[report.node];
  drawPlot(plot);
}

// ---- deviations of the set's roofs

function drawOff(report) {
  const { group, node, set } = report;
  const host = document.querySelector("#plot-off .frame");
  host.replaceChildren();
  const width = Math.max(260, Math.round(host.clientWidth));
  const columns = set ? set.columns.filter((c) => Number.isFinite(c.median) && c.n) : [];
  if (!host.clientWidth || !columns.length) {
    return;
  }
  const off = (c) => group.share[group.cell(node, c.index)];
  const reach = Math.max(0.01, ...columns.flatMap((c) => [c.p5, c.p95, off(c)]).filter(Number.isFinite).map(Math.abs)) * 1.1;
  const left = Math.ceil(Math.min(width * 0.36, Math.max(...columns.map((c) => textLength(c.name, 12))) + 10));
  const [row, top] = [19, 24];
  const height = top + columns.length * row + 6;
  const x = d3.scale.linear().domain([-reach, reach]).range([left + 6, width - 10]);
  const svg = d3.select(host).append("svg").attr({ viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": "deviations of the node's roofs" });
  x.ticks(Math.max(3, Math.floor((width - left) / 80))).forEach((v) => {
    svg.append("line").attr({ class: v === 0 ? "zero" : null, x1: x(v), x2: x(v), y1: top - 4, y2: height });
    svg.append("text").attr({ x: x(v), y: 13, "text-anchor": "middle", class: "set" }).text(v ? signed(v, reach < 0.03 ? 1 : 0) : "median");
  });
  columns.forEach((c, k) => {
    const y = top + k * row + row / 2;
    svg.append("text").attr({ x: left, y: y + 4, "text-anchor": "end" }).text(fittedEnd(c.name, left - 4, 12));
    svg.append("rect").attr({ class: "bar", x: x(c.p5), width: Math.max(1, x(c.p95) - x(c.p5)), y: y - 5, height: 10, rx: 2 });
    if (!Number.isFinite(off(c))) {
      return;
    }
    const half = 1.959964 * group.own[group.cell(node, c.index)] * (1 + off(c));
    if (half > 0) {
      const within = (v) => Math.max(left, Math.min(width - 4, x(v)));
      svg.append("line").attr({ class: "own", x1: within(off(c) - half), x2: within(off(c) + half), y1: y, y2: y });
    }
    const flagged = stateOf(group, node, c.index) & FLAGGED;
    const lines = cellTip(group, node, c.index);
    const dot = svg.selectAll(null).data([c]).enter().append("circle")
      .attr({ class: flagged ? "dot flagged" : "dot", cx: x(off(c)), cy: y, r: 4.5, role: "img", tabindex: k ? -1 : 0, "aria-label": lines.filter(Boolean).join("; ") })
      .attr("data-name", c.label).attr("data-value", off(c));
    withTip(dot, () => lines);
    dot.on("keydown", () => {
      const all = [...host.querySelectorAll(".dot")];
      const next = all[all.indexOf(d3.event.currentTarget) + ({ ArrowDown: 1, ArrowUp: -1 }[d3.event.key] || NaN)];
      if (next) {
        d3.event.preventDefault();
        next.focus();
      }
    });
  });
}

// ---- history

function dayTicks(low, high, most) {
  const scale = d3.time.scale.utc().domain([new Date(low), new Date(high)]);
  const format = d3.time.format.utc(high - low > 3 * 86400e3 ? "%Y-%m-%d" : "%m-%d %H:%M");
  return scale.ticks(Math.max(2, Math.floor(most / 1.6))).map((t) => ({ at: t.getTime(), text: format(t) }));
}

function shareTicks(low, high, most) {
  return d3.scale.linear().domain([low, high]).ticks(Math.min(8, most))
    .map((v) => ({ at: v, text: signed(v, high - low < 0.05 ? 1 : 0) }));
}

function historySeries(report, models) {
  const { group } = report;
  const roofs = group.columns.filter((c) => c.kind !== "level");
  // a single operation: the peak's
  const peak = Math.max(...rooflineColumns(report).filter((c) => !isMemory(c)).map((c) => c.median || 0));
  return rooflineColumns(report).filter((c) => isMemory(c) || c.median === peak).map((c) => {
    const k = roofs.indexOf(c);
    const points = models.map(([time, shares]) => ({ x: Date.parse(time), y: shares[k] === null ? NaN : shares[k] * 1e-5, time }))
      .filter((p) => Number.isFinite(p.x) && Number.isFinite(p.y)).reverse();
    return {
      name: c.name, style: styleOf(report, c), set: isMemory(c) ? 0 : 1, line: true,
      points: points.map((p) => ({
        ...p, tip: [`${c.label}: ${si(c.median * (1 + p.y), unitOf(c))}`, `${signed(p.y, 2)} off the group's median of today`, `measured ${p.time}`],
      })),
    };
  }).filter((s) => s.points.length);
}

function drawHistory(report) {
  const { group, node } = report;
  const figure = byId("plot-history");
  const history = group.history.get(node);
  const series = history ? historySeries(report, history.models) : [];
  figure.hidden = !series.length;
  if (!series.length) {
    return;
  }
  const xs = series.flatMap((s) => s.points.map((p) => p.x));
  const ys = series.flatMap((s) => s.points.map((p) => p.y));
  const room = Math.max(3600e3, Math.max(...xs) - Math.min(...xs)) * 0.04;
  const x = [Math.min(...xs) - room, Math.max(...xs) + room];
  const reach = Math.max(0.01, ...ys.map(Math.abs)) * 1.15;
  const y = [-reach, reach];
  figure.querySelector("figcaption").textContent = "Its models over time, off the group's median of today" +
    (history.total > history.models.length ? `; the newest ${history.models.length} of ${history.total}` : "");
  drawChart(figure.querySelector(".frame"), {
    label: "history of the node", titles: ["measured (UTC)", "off the median"], x, y, xLinear: true, yLinear: true, series, marks: [], band: [0, 0],
    xTicks: (most) => dayTicks(x[0], x[1], most), yTicks: (most) => shareTicks(y[0], y[1], most),
  });
  figure.querySelector(".key").replaceWith(chartKey(series));
}

// ---- facts and choices

// The command that compares the node with the soundest node of its group, if both have their own files.
function compareText(report) {
  const { group, node } = report;
  const sound = group.score.reduce((best, v, i) => (v < group.score[best] ? i : best), 0);
  const files = [group.files[sound], group.files[node]];
  return sound !== node && files.every((f) => /^[\w./+-]+\.json$/.test(f)) ? `carm compare ${files.join(" ")}` : "";
}

function drawNodeFacts(report) {
  const { group, node } = report;
  const name = group.names[node];
  const flagged = group.columns.filter((c) => stateOf(group, node, c.index) & FLAGGED);
  const history = group.history.get(node);
  const worst = group.worst[node];
  const levels = flagged.filter((c) => c.kind === "level" && !c.threads);
  const most = (levels.length ? levels : flagged.slice(0, 3)).map((c) => `${c.label} ${signed(group.share[group.cell(node, c.index)])}`);
  byId("h-node").replaceChildren("Node ", el("span", { class: "name" }, name));
  byId("node-facts").replaceChildren(facts([
    ["Verdict", VERDICTS[group.verdict[node]]], ["How sure", sureText(group.chance[node])],
    ["File", group.files[node]], ["Measured", group.times[node]],
    ["Models", history ? `${history.total}, the newest is judged` : "1"],
    ["Off", most.length ? most.join("; ") + (flagged.length > most.length ? `; ${plural(flagged.length, "roof and level", "roofs and levels")} in all` : "") : "no roof significantly"],
    ["Most certain", !flagged.length && worst >= 0 ? `${group.columns[worst].label} ${signed(group.share[group.cell(node, worst)])}` : ""],
    ["Look at", group.hints[node]], ["Compare", compareText(report)],
  ]));
}

function drawNodeForm(report) {
  const { group, set, view } = report;
  const change = (name) => (value) => {
    view[name] = value;
    view.zoom = {};
    report.changed();
  };
  renew(byId("node-form"), ...(set ? [
    choice("Set", group.sets.map((s) => [s.text, s.text]), set.text, change("set")),
    choice("Loads to stores", mixesOf(set).map((m) => [m, m]), report.mix, change("mix")),
  ] : []));
}

function drawNode(report) {
  chooseSet(report);
  drawNodeFacts(report);
  drawNodeForm(report);
  drawRoofline(report);
  drawOff(report);
  drawHistory(report);
}
