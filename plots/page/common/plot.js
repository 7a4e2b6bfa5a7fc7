// SPDX-License-Identifier: GPL-3.0-or-later
// One roofline: log-log axes, roofs, ceilings, labels, zoom.

const MARGIN = { left: 50, right: 12, top: 24, bottom: 42 };
const ZOOM_MOST = 64;
const LABEL_DOTS_MOST = 400; // labels avoid at most so many points
const MEASURE = document.createElement("canvas").getContext("2d");

function textLength(text, size) {
  MEASURE.font = `${size}px system-ui, "DejaVu Sans", sans-serif`;
  return MEASURE.measureText(text).width;
}

// The plot's window at scale 1: powers of two around ridges, roofs and points.
function domainOf(lines, points, mix) {
  const values = (kind) => lines.filter((l) => l.kind === kind && (!l.mix || l.mix === mix)).map((l) => l.value);
  const slopes = values("memory");
  const flats = values("compute");
  const least = (list, other) => Math.min(...(list.length ? list : other.length ? other : [1e9]));
  const most = (list, other) => Math.max(...(list.length ? list : other.length ? other : [1e9]));
  const peak = most(flats, slopes);
  const down = (v) => 2 ** Math.floor(Math.log2(v));
  const up = (v) => 2 ** Math.ceil(Math.log2(v));
  const near = points.filter((p) => p.y > peak / 2 ** 20); // loops that hardly compute stay out
  const right = (4 * peak) / least(slopes, flats);
  const levelsOf = (p) => (p.place.levels || []).map((l) => l.intensity).filter((v) => v < 64 * right);
  const xs = near.flatMap((p) => [p.x, ...levelsOf(p)]);
  const ys = near.map((p) => p.y);
  const extreme = (list, pick, first) => list.reduce((a, b) => pick(a, b), first);
  const x0 = down(extreme(xs, Math.min, peak / most(slopes, flats) / 12) / 1.3);
  const x1 = up(extreme(xs, Math.max, right) * 1.3);
  const y0 = extreme(ys, Math.min, Math.min(least(slopes, flats) * x0, least(flats, slopes) / 1.5)) / 1.3;
  const y1 = extreme(ys, Math.max, peak) * 2.2;
  return { x0, x1, y0: down(y0), y1 };
}

function makePlot(report, which) {
  const { model, places, ceilings } = report.data;
  return plotOf(report, which, linesOf(model, which), pointsOf(places, which), ceilingsOf(ceilings, which));
}

function plotOf(report, which, lines, points, ceilings) {
  const frame = d3.select(`#plot-${which} .frame`);
  const svg = frame.append("svg").attr({ role: "group", tabindex: 0, "aria-label": `${which} roofline: plus and minus zoom, arrow keys move` });
  const layer = (name) => svg.append("g").attr("class", name);
  const plot = {
    which, report, frame, svg, lines, points, ceilings,
    domain: domainOf(lines, points, report.data.model.config.ldst),
    back: svg.append("rect").attr("class", "back"),
    axes: layer("axes"), bandLayer: layer("bands"), drawBands: null, // drawBands(plot) draws below the roofs
    ceilingLayer: layer("ceilings"), roofLayer: layer("roofs"),
    pointLayer: layer("points-layer").attr({ role: "group", "aria-label": "points" }), labelLayer: layer("labels"),
    levels: svg.append("g").attr({ class: "hierarchy", "aria-hidden": "true" }), // of the point under the pointer
    own: svg.append("path").attr({ class: "own", "aria-hidden": "true" }).style("display", "none"),
    ring: svg.append("circle").attr({ class: "ring", r: 9 }).style("display", "none"),
    border: svg.append("rect").attr("class", "border"),
    byIndex: new Map(points.map((p) => [p.index, p])), canvas: null, tree: null, size: null, scales: null,
  };
  plot.zoom = makeZoom(plot);
  followCanvas(plot);
  return plot;
}

// Sets the svg's size from its room on the page.
function sizePlot(plot) {
  const width = Math.max(260, Math.round(plot.frame.node().clientWidth));
  const height = Math.round(Math.max(300, Math.min(560, width * 0.74)));
  plot.size = { width, height };
  plot.box = {
    left: MARGIN.left, top: MARGIN.top,
    width: width - MARGIN.left - MARGIN.right, height: height - MARGIN.top - MARGIN.bottom,
  };
  const { box, domain } = plot;
  plot.svg.attr("viewBox", `0 0 ${width} ${height}`);
  for (const rect of [plot.back, plot.border]) {
    rect.attr({ x: box.left, y: box.top, width: box.width, height: box.height });
  }
  plot.border.style("pointer-events", "none");
  plot.x = d3.scale.log().base(2).domain([domain.x0, domain.x1]).range([box.left, box.left + box.width]);
  plot.y = d3.scale.log().base(2).domain([domain.y0, domain.y1]).range([box.top + box.height, box.top]);
  plot.tree = null;
}

// Scales and window for the view's zoom.
function zoomedScales(plot) {
  const [k, fx, fy] = plot.report.view.zoom[plot.which] || [1, 0, 0];
  const { box } = plot;
  const tx = box.left + fx * box.width - k * box.left;
  const ty = box.top + fy * box.height - k * box.top;
  plot.zoom.scale(k).translate([tx, ty]);
  const x = (v) => tx + k * plot.x(v);
  const y = (v) => ty + k * plot.y(v);
  const back = (scale, t, px) => scale.invert((px - t) / k);
  const window = {
    x0: back(plot.x, tx, box.left), x1: back(plot.x, tx, box.left + box.width),
    y0: back(plot.y, ty, box.top + box.height), y1: back(plot.y, ty, box.top),
  };
  return { k, tx, ty, x, y, window };
}

function drawPlot(plot) {
  const { view } = plot.report;
  if (plot.frame.node().clientWidth === 0) {
    return; // hidden
  }
  if (!plot.size) {
    sizePlot(plot);
  }
  const scales = zoomedScales(plot);
  const { box, which } = plot;
  const { window, x, y, k } = scales;
  const roofs = plot.lines.filter((line) => lineIsOn(view, line));
  const operation = operationText(roofs);
  const unit = axisUnit(plot.domain.y1, `${operation}/s`);
  plot.scales = scales;
  plot.frame.classed("zoomed", k > 1);
  plot.svg.attr({
    "data-domain": [window.x0, window.x1, window.y0, window.y1].join(" "),
    "data-frame": [box.left, box.top, box.width, box.height].join(" "),
  });
  drawAxes(plot.axes, box, x, y,
    powerTicks(window.x0, window.x1, 1, Math.floor(box.width / 46)),
    powerTicks(window.y0, window.y1, unit.unit, Math.floor(box.height / 34)),
    [`${operation} for each byte ${which === "original" ? "of memory traffic" : "loaded or stored"}`, unit.text]);
  const tops = topsOf(roofs);
  if (plot.drawBands) {
    plot.drawBands(plot);
  }
  const ceilings = isOn(view, "layer:ceilings") ? plot.ceilings.filter((line) => setIsOn(view, line.set)) : [];
  const drawn = [
    ...drawLines(plot, plot.roofLayer, roofs, tops, "roof"),
    ...drawLines(plot, plot.ceilingLayer, ceilings, ceilingTops(roofs, ceilings), "ceiling"),
  ];
  drawLabels(plot, drawn, tops.size > 1);
  drawPoints(plot);
  drawHot(plot);
}

// "flop"; "op" if all shown sets are of integers; else both
function operationText(lines) {
  const found = new Set(lines.map((line) => operationOf(line.set)));
  return found.size > 1 ? "flop or op" : found.has("op") ? "op" : "flop";
}

// Ceilings end at the roofs of their set, or at the highest ceilings if no roof is drawn.
function ceilingTops(roofs, ceilings) {
  const tops = topsOf(ceilings);
  topsOf(roofs).forEach((top, key) => {
    const own = tops.get(key);
    if (own) {
      own.memory = Math.max(own.memory, top.memory);
      own.compute = Math.max(own.compute, top.compute);
    }
  });
  return tops;
}

// Draws the lines of one layer. returns the visible lines, with their parts in pixels
function drawLines(plot, layer, lines, tops, name) {
  const { x, y, window } = plot.scales;
  const { model } = plot.report.data;
  const drawn = [];
  for (const line of lines) {
    const top = tops.get(setText(line.set));
    const part = visiblePart(line, top, window);
    if (part) {
      drawn.push({
        ...line, layer: name, top: name === "roof" && line.value === top[line.kind],
        part: [x(part[0]), y(part[1]), x(part[2]), y(part[3])],
      });
    }
  }
  const set = (d) => Math.min(3, Math.max(0, plot.report.shownSets.findIndex((s) => sameSet(s, d.set))));
  const g = layer.selectAll(`g.${name}`).data(drawn, (d) => d.id);
  const made = g.enter().append("g").attr({ tabindex: 0, role: "img" });
  made.append("path").attr("class", "line");
  made.append("path").attr("class", "hit");
  withTip(made, (d) => d.tip);
  g.exit().remove();
  g.attr("class", (d) => [name, d.style || "", `set${set(d)}`, d.top ? "top" : "", d.aside ? "aside" : ""].filter(Boolean).join(" "))
    .attr("aria-label", (d) => d.tip.filter(Boolean).join("; "))
    .attr("data-kind", (d) => d.kind).attr("data-name", (d) => d.name).attr("data-value", (d) => d.value)
    .attr("data-isa", (d) => d.set.isa).attr("data-precision", (d) => d.set.precision)
    .attr("data-threads", (d) => d.set.threads).attr("data-level", (d) => d.level || null)
    .attr("data-mix", (d) => d.mix || (d.kind === "memory" && name === "roof" && plot.which === "cache-aware" ? model.config.ldst : null));
  for (const path of ["path.line", "path.hit"]) {
    g.select(path).attr("d", (d) => `M${d.part[0]},${d.part[1]}L${d.part[2]},${d.part[3]}`);
  }
  return drawn;
}

// Peaks of one set that differ by less than 1% have one label.
function shareLabels(lines) {
  const labels = [];
  for (const line of lines) {
    const same = line.kind === "compute" && line.layer === "roof" && labels.find((l) => l.kind === "compute" &&
      l.layer === "roof" && sameSet(l.set, line.set) && Math.abs(l.value / line.value - 1) < 0.01);
    if (same) {
      same.names.push(line.name);
    } else {
      labels.push({ ...line, names: [line.name] });
    }
  }
  return labels;
}

function drawLabels(plot, lines, severalSets) {
  const rank = (d) => (d.top ? 0 : d.layer === "roof" ? 1 : d.aside ? 3 : 2);
  const sorted = [...lines].sort((a, b) => rank(a) - rank(b) || b.value - a.value);
  const items = shareLabels(sorted).map((d) => {
    const size = d.layer === "roof" ? 12 : 10.5;
    const value = si(d.value, d.kind === "memory" ? "B/s" : `${operationOf(d.set)}/s`);
    const set = severalSets ? ` (${d.set.isa} ${d.set.precision} ${d.set.threads}T)` : "";
    const name = d.names.join(", ");
    const cut = name.length > 28 ? `${name.slice(0, 27)}\u2026` : name;
    const text = d.layer === "roof" ? `${cut}  ${value}${set}` : cut;
    return {
      ...d, text, length: textLength(text, size) + 4, height: size, short: { text: cut, length: textLength(cut, size) + 4 },
    };
  });
  const shown = shownPoints(plot);
  const dots = shown.length <= LABEL_DOTS_MOST ? shown.map((p) => [plot.scales.x(p.x), plot.scales.y(p.y), pointRadius(plot, p, 5)]) : [];
  const placed = placeLabels(items, dots, plot.box);
  const texts = plot.labelLayer.selectAll("text").data(placed, (p) => p.item.id + p.item.layer);
  texts.enter().append("text");
  texts.exit().remove();
  texts.text((p) => p.item.text)
    .attr("class", (p) => `label ${p.item.layer === "roof" ? p.item.style : "ceiling-label"}`)
    .attr("transform", (p) => `translate(${p.x},${p.y}) rotate(${(p.angle * 180) / Math.PI})`);
  drawPointNames(plot, shown, dots, placed.map((p) => p.corners), lines.map((d) => d.part));
  // few points are drawn above the labels, many points below
  const points = plot.pointLayer.node();
  points.parentNode.insertBefore(plot.labelLayer.node(), shown.length <= POINT_NAMES_MOST ? points : points.nextSibling);
}
