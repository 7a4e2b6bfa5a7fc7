// SPDX-License-Identifier: GPL-3.0-or-later
// Points of applications: elements for few points, a canvas and a quadtree for many.

const POINTS_SVG_MOST = 1500;
const POINT_NEAR = 10; // pixels
const POINT_NAMES_MOST = 60; // with more points, no names are drawn beside them
const POINT_NAME_PX = 11;
const CANVAS_PARTS = 8;
const PART_RADIUS = 0.028; // share of the plot's width: radius of a part with all of the time
const NAME_LETTERS = 34;
const NAME_END = 22; // letters at a cut name's end: " loop FILE:LINE"

function shownPoints(plot) {
  const { window } = plot.scales;
  if (!isOn(plot.report.view, "layer:points")) {
    return [];
  }
  return plot.points.filter((p) => p.x >= window.x0 && p.x <= window.x1 && p.y >= window.y0 && p.y <= window.y1);
}

function drawPoints(plot) {
  const shown = shownPoints(plot);
  if (plot.points.length > POINTS_SVG_MOST) {
    drawCanvas(plot, shown);
  } else {
    drawElements(plot, shown);
  }
}

// A point whose roofs are not shown is pale: the shown roofs do not bind it.
function isPale(plot, p) {
  return !setIsOn(plot.report.view, p.place.roofs);
}

function drawElements(plot, shown) {
  const { x, y } = plot.scales;
  const circles = plot.pointLayer.selectAll("circle.point").data(shown, (p) => p.index);
  const made = circles.enter().append("circle").attr("role", "img")
    .attr("data-name", (p) => p.name).attr("data-value", (p) => p.y)
    .attr("data-x", (p) => p.x).attr("data-y", (p) => p.y)
    .attr("aria-label", (p) => pointTip(p, plot.which).filter(Boolean).join("; "));
  withTip(made, (p) => pointTip(p, plot.which), (p) => highlight(plot.report, p ? p.index : null));
  made.on("click", (p) => plot.report.showRow(p.index)).on("keydown", function (p) {
    movePoint(plot, this, p);
  });
  circles.exit().remove();
  // the tab key reaches one point; the arrow keys go to the others
  if (shown.some((p) => p.place.part)) {
    circles.sort((a, b) => pointRadius(plot, b, 0) - pointRadius(plot, a, 0) || a.index - b.index);
  }
  const plain = shown.length > 200 || plot.size.width < 480 ? 3.8 : 5;
  plot.pointLayer.classed("many", shown.length > 200);
  circles.attr("tabindex", (p, i) => (i === 0 ? 0 : -1)).attr("cx", (p) => x(p.x)).attr("cy", (p) => y(p.y))
    .attr("r", (p) => pointRadius(plot, p, plain))
    .attr("class", (p) => `point${p.over ? " over" : ""}${isPale(plot, p) ? " pale" : ""}${p.place.part ? " part" : ""}`);
  drawArrows(plot, shown);
}

// The radius of a point. The area of a part of a program is proportional to its share of the time.
function pointRadius(plot, p, plain) {
  const { part } = p.place;
  return part && part.time_share > 0 ? Math.max(3, PART_RADIUS * Math.min(plot.size.width, 800) * Math.sqrt(part.time_share)) : plain;
}

// The index of the file that a point is from.
function fileOf(p) {
  return p.place.file || 0;
}

// Arrows from a point in one file to the point of the same name in the next file: before and after.
function arrowsOf(shown) {
  const last = new Map();
  const arrows = [];
  for (const p of [...shown].sort((a, b) => fileOf(a) - fileOf(b))) {
    const before = last.get(p.name);
    if (before && fileOf(before) < fileOf(p)) {
      arrows.push({ id: `${before.index} ${p.index}`, from: before, to: p });
    }
    last.set(p.name, p);
  }
  return arrows;
}

function drawArrows(plot, shown) {
  const { x, y } = plot.scales;
  const arrows = plot.pointLayer.selectAll("path.arrow").data(arrowsOf(shown), (a) => a.id);
  arrows.enter().append("path").attr({ class: "arrow", "aria-hidden": "true" }).attr("data-name", (a) => a.to.name);
  arrows.exit().remove();
  arrows.attr("d", (a) => {
    const [x1, y1, x2, y2] = [x(a.from.x), y(a.from.y), x(a.to.x), y(a.to.y)];
    const angle = Math.atan2(y2 - y1, x2 - x1);
    if (Math.hypot(x2 - x1, y2 - y1) < 6) {
      return ""; // the point has not moved
    }
    const head = [2.6, -2.6].map((turn) => `M${x2},${y2}L${x2 + 8 * Math.cos(angle + turn)},${y2 + 8 * Math.sin(angle + turn)}`);
    return `M${x1},${y1}L${x2},${y2}${head.join("")}`;
  });
}

// Draws names beside points, if they cover no label and no point; the other names are in the tips.
// dots   [[x, y, r]] of the shown points, in pixels; taken: corners of the labels
// lines  [[x1, y1, x2, y2]] of the roofs, in pixels
function drawPointNames(plot, shown, dots, taken, lines) {
  const names = shown.length <= POINT_NAMES_MOST ? placeNames(plot, shown, dots, taken, lines) : [];
  const texts = plot.pointLayer.selectAll("text.point-name").data(names, (n) => n.point.index);
  texts.enter().append("text").attr({ class: "point-name label", "aria-hidden": "true" });
  texts.exit().remove();
  texts.text((n) => n.text).attr("x", (n) => n.x).attr("y", (n) => n.y);
}

// The places where a name of this length may begin: beside the point, above or below, at the
// corners.
function namePlaces([px, py, r], length) {
  const [right, left, middle] = [px + r + 3, px - r - 3 - length, px - length / 2];
  return [[right, py + 4], [left, py + 4], [middle, py - r - 4], [middle, py + r + 13],
    [right, py - 4], [right, py + 14], [left, py - 4], [left, py + 14]];
}

function placeNames(plot, shown, dots, taken, lines) {
  const { box } = plot;
  const all = [...taken];
  const strokes = lines.map(([x1, y1, x2, y2]) => cornersOf(x1, y1, Math.hypot(x2 - x1, y2 - y1), 0, Math.atan2(y2 - y1, x2 - x1)));
  return shown.map((point, i) => {
    const { name } = point;
    const text = name.length > NAME_LETTERS ? `${name.slice(0, NAME_LETTERS - NAME_END - 1)}\u2026${name.slice(-NAME_END)}` : name;
    const length = textLength(text, POINT_NAME_PX) + 4;
    const item = { length, height: POINT_NAME_PX };
    const free = namePlaces(dots[i], length).map(([x, y]) => ({ x, y, corners: cornersOf(x, y, length, POINT_NAME_PX, 0) }))
      .filter(({ corners }) => inside(corners, box) && !all.some((t) => overlap(t, corners)) &&
        !dots.some((dot, k) => k !== i && covers(corners, dot, item, 0)));
    // prefers a place without a line behind the text, even at a corner
    const at = free.find(({ corners }) => !strokes.some((t) => overlap(t, corners))) || free[0];
    if (!at) {
      return null;
    }
    all.push(at.corners);
    return { point, text, x: at.x, y: at.y };
  }).filter(Boolean);
}

// Arrow keys go from point to point in the order of intensity; Enter goes to its row.
function movePoint(plot, circle, point) {
  const step = { ArrowRight: 1, ArrowDown: -1, ArrowLeft: -1, ArrowUp: 1 }[d3.event.key];
  if (d3.event.key === "Enter") {
    plot.report.showRow(point.index);
  }
  if (!step) {
    return;
  }
  d3.event.preventDefault();
  const all = plot.pointLayer.selectAll("circle.point")[0].slice();
  all.sort((a, b) => a.__data__.x - b.__data__.x || a.__data__.index - b.__data__.index);
  const next = all[all.indexOf(circle) + step];
  if (next) {
    next.focus();
  }
}

function drawCanvas(plot, shown) {
  const { x, y } = plot.scales;
  const { width, height } = plot.size;
  if (!plot.canvas) {
    plot.canvas = plot.frame.insert("canvas", "svg").attr("class", "points").node();
  }
  const dense = window.devicePixelRatio || 1;
  const { canvas } = plot;
  canvas.width = width * dense;
  canvas.height = height * dense;
  canvas.dataset.count = shown.length;
  const style = getComputedStyle(document.documentElement);
  const draw = canvas.getContext("2d");
  draw.scale(dense, dense);
  // several paths of each kind overlap, so that dense points are darker; from 50 000 points on, each point is a third
  // as dark as with 5000
  const thin = Math.min(1, Math.max(0.3, Math.sqrt(5000 / shown.length)));
  for (const [over, pale, alpha] of [[false, true, 0.12], [false, false, 0.4], [true, true, 0.25], [true, false, 0.8]]) {
    const points = shown.filter((p) => Boolean(p.over) === over && isPale(plot, p) === pale);
    draw.fillStyle = style.getPropertyValue(over ? "--bad" : "--point").trim();
    draw.globalAlpha = over ? alpha : alpha * thin;
    for (let part = 0; part < CANVAS_PARTS; part++) {
      draw.beginPath();
      for (let i = part; i < points.length; i += CANVAS_PARTS) {
        const px = x(points[i].x);
        const py = y(points[i].y);
        draw.moveTo(px + 2.5, py);
        draw.arc(px, py, 2.5, 0, 2 * Math.PI);
      }
      draw.fill();
    }
  }
}

// The canvas' point under the pointer, or null. The tree has pixels at scale 1.
function nearestPoint(plot, [px, py]) {
  const { k, tx, ty } = plot.scales;
  if (!plot.tree) {
    plot.tree = d3.geom.quadtree().x((p) => plot.x(p.x)).y((p) => plot.y(p.y))(plot.points);
  }
  const at = [(px - tx) / k, (py - ty) / k];
  const p = plot.tree.find(at);
  return p && Math.hypot(plot.x(p.x) - at[0], plot.y(p.y) - at[1]) * k <= POINT_NEAR ? p : null;
}

function followCanvas(plot) {
  if (plot.points.length <= POINTS_SVG_MOST) {
    return;
  }
  let near = null;
  const leave = () => {
    if (near) {
      hideTip();
      highlight(plot.report, null);
      near = null;
    }
  };
  plot.svg.on("mousemove.points", () => {
    const on = plot.scales && isOn(plot.report.view, "layer:points");
    const p = on ? nearestPoint(plot, d3.mouse(plot.svg.node())) : null;
    if (!p) {
      leave();
      return;
    }
    near = p;
    showTip(pointTip(p, plot.which), d3.event.clientX, d3.event.clientY);
    highlight(plot.report, p.index);
  }).on("mouseleave.points", leave).on("click.points", () => {
    if (near && !d3.event.defaultPrevented) {
      plot.report.showRow(near.index);
    }
  });
}

// ---- the point under the pointer, in the plots and in the table

// Draws the roof of a point's own mix, if its counts determine one: two lines that meet, clipped to the window.
function drawOwn(plot, p) {
  const { window, x, y } = plot.scales;
  const own = p && p.at.own;
  const parts = !own ? [] : [["memory", own.bandwidth], ["compute", own.peak]].map(([kind, value]) =>
    visiblePart({ kind, value }, { memory: own.bandwidth, compute: own.peak }, window)).filter(Boolean);
  plot.own.style("display", parts.length ? null : "none");
  if (parts.length) {
    plot.own.attr({ "data-name": p.name, "data-bandwidth": own.bandwidth, "data-peak": own.peak })
      .attr("d", parts.map(([x1, y1, x2, y2]) => `M${x(x1)},${y(y1)}L${x(x2)},${y(y2)}`).join(""));
  }
}

// Draws the point once for each level, at its distance below the level's own roof, joined by a
// line.
function drawLevels(plot, p) {
  const { window, x, y } = plot.scales;
  const { model } = plot.report.data;
  const all = p && plot.which === "cache-aware" && p.place.levels ? p.place.levels : [];
  const seen = all.filter((l) => l.intensity >= window.x0 && l.intensity <= window.x1);
  const within = (v) => Math.min(Math.max(v, window.x0), window.x1);
  const ends = all.map((l) => within(l.intensity));
  const join = plot.levels.selectAll("path.join").data(all.length ? [ends] : []);
  join.enter().append("path").attr("class", "join");
  join.exit().remove();
  join.attr("d", () => `M${x(Math.min(...ends))},${y(p.y)}L${x(Math.max(...ends))},${y(p.y)}`);
  const level = plot.levels.selectAll("g").data(seen, (l) => l.level);
  const made = level.enter().append("g");
  made.append("path");
  made.append("circle");
  made.append("text");
  level.exit().remove();
  level.attr("class", (l) => `lv${levelIndex(model, l.level)}${l.level === p.place.binds ? " binds" : ""}`)
    .attr({ "data-level": (l) => l.level, "data-x": (l) => l.intensity, "data-roof": (l) => l.roof });
  level.select("circle").attr({ cx: (l) => x(l.intensity), cy: () => y(p.y), r: (l) => (l.level === p.place.binds ? 6 : 4) });
  level.select("path").attr("d", (l) => {
    const [px, top] = [x(l.intensity), y(Math.min(l.roof, window.y1))];
    return `M${px},${y(p.y)}V${top}M${px - 5},${top}h10`;
  });
  level.select("text").attr({ x: (l) => x(l.intensity), y: (l) => y(Math.min(Math.max(l.roof, p.y), window.y1)) - 5, class: "label" })
    .text((l) => l.level);
}

function drawHot(plot) {
  const p = plot.report.hot === null ? null : plot.byIndex.get(plot.report.hot);
  const { window, x, y } = plot.scales;
  const seen = p && isOn(plot.report.view, "layer:points") &&
    p.x >= window.x0 && p.x <= window.x1 && p.y >= window.y0 && p.y <= window.y1;
  plot.ring.style("display", seen ? null : "none");
  if (seen) {
    plot.ring.attr({ cx: x(p.x), cy: y(p.y) });
  }
  drawOwn(plot, seen ? p : null);
  drawLevels(plot, seen ? p : null);
}

function highlight(report, index) {
  if (report.hot === index) {
    return;
  }
  for (const [i, on] of [[report.hot, false], [index, true]]) {
    const row = i === null ? null : report.rows.get(i);
    if (row) {
      row.classList.toggle("hot", on);
    }
  }
  report.hot = index;
  report.plots.filter((plot) => plot.scales).forEach(drawHot);
}
