// SPDX-License-Identifier: GPL-3.0-or-later
// A plain chart: residuals and curves. Drawn anew whenever it changes.

// host   element that it fills
// chart  {label, titles [x, y], x: [low, high], y: [low, high], xLinear, yLinear, xTicks, yTicks (each
//        (count) -> [{at, text}]), series: [{name, style, set, line, points: [{x, y, tip}]}],
//        marks: [{x, os, text}], band: [low, high] or null}
function drawChart(host, chart) {
  host.replaceChildren();
  const width = Math.max(260, Math.round(host.clientWidth));
  if (host.clientWidth === 0) {
    return;
  }
  const height = Math.round(Math.max(240, Math.min(380, width * 0.55)));
  const box = {
    left: MARGIN.left, top: MARGIN.top,
    width: width - MARGIN.left - MARGIN.right, height: height - MARGIN.top - MARGIN.bottom,
  };
  const svg = d3.select(host).append("svg")
    .attr({ viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": chart.label });
  const x = (chart.xLinear ? d3.scale.linear() : d3.scale.log().base(2)).domain(chart.x).range([box.left, box.left + box.width]);
  const y = (chart.yLinear ? d3.scale.linear() : d3.scale.log().base(2)).domain(chart.y)
    .range([box.top + box.height, box.top]);
  svg.append("rect").attr({ class: "back", x: box.left, y: box.top, width: box.width, height: box.height });
  if (chart.band) {
    svg.append("rect").attr({ class: "band", x: box.left, y: y(chart.band[1]), width: box.width, height: y(chart.band[0]) - y(chart.band[1]) });
  }
  drawAxes(svg.append("g"), box, x, y, chart.xTicks(Math.floor(box.width / 58)), chart.yTicks(Math.floor(box.height / 30)), chart.titles);
  if (chart.band) {
    svg.append("line").attr({ class: "zero", x1: box.left, x2: box.left + box.width, y1: y(0), y2: y(0) });
  }
  drawMarks(svg, box, x, chart);
  svg.append("rect").attr({ class: "border", x: box.left, y: box.top, width: box.width, height: box.height });
  chart.series.forEach((s) => drawSeries(svg, s, x, y));
}

// Draws vertical lines, with names at the top where these have room.
function drawMarks(svg, box, x, chart) {
  let end = -Infinity;
  for (const mark of chart.marks.filter((m) => m.x > chart.x[0] && m.x < chart.x[1]).sort((a, b) => a.x - b.x)) {
    const at = x(mark.x);
    svg.append("line").attr({ class: mark.os ? "mark os" : "mark", x1: at, x2: at, y1: box.top, y2: box.top + box.height })
      .append("title").text(mark.tip);
    const length = textLength(mark.text, 12);
    const from = Math.min(at, box.left + box.width - length / 2) - length / 2;
    if (from > end + 4 && from > 50) {
      svg.append("text").attr({ x: from, y: box.top - 8 }).text(mark.text);
      end = from + length;
    }
  }
}

function drawSeries(svg, series, x, y) {
  const set = `set${Math.min(3, series.set || 0)}`;
  const g = svg.append("g").attr({ class: set, role: "group", "aria-label": series.name });
  if (series.line) {
    const path = d3.svg.line().x((p) => x(p.x)).y((p) => y(p.y));
    g.append("path").attr("class", `series line ${series.style}`).attr("d", path(series.points));
  }
  const circles = g.selectAll("circle").data(series.points).enter().append("circle")
    .attr({ r: series.line ? 3 : 4.5, role: "img" }).attr("class", `sample ${series.style}`)
    .attr("tabindex", (p, i) => (i ? -1 : 0)).attr("aria-label", (p) => p.tip.filter(Boolean).join("; "))
    .attr("data-x", (p) => p.x).attr("data-value", (p) => (known(p.value) ? p.value : p.y))
    .attr("cx", (p) => x(p.x)).attr("cy", (p) => y(p.y));
  withTip(circles, (p) => p.tip);
  circles.on("keydown", function () {
    const next = { ArrowRight: this.nextElementSibling, ArrowLeft: this.previousElementSibling }[d3.event.key];
    if (next && next.classList.contains("sample")) {
      d3.event.preventDefault();
      next.focus();
    }
  });
}

// The key of a chart: [{name, style}]
function chartKey(entries) {
  return el("ul", { class: "key" }, ...entries.map((e) => el("li", { class: e.style }, el("i"), el("span", { class: "name" }, e.name))));
}
