// SPDX-License-Identifier: GPL-3.0-or-later
// The map of nodes by roofs: one canvas over a scrolling box, with the rows in sight.

const HEAT_TALL = 480; // pixels of rows in sight at most
const HEAT_STRIP = 22; // the strip with all rows
const HEAT_GUTTER = 14; // between names and cells: the verdicts' marks
const CELL_LEAST = 5; // width
const CELL_MOST = 44;

// The columns that the view chooses.
function chosenColumns(report) {
  const { group, view } = report;
  const levels = group.columns.filter((c) => c.kind === "level");
  const room = innerWidth < 600 ? 40 : 100; // columns that fit on a screen
  const kind = view.columns || (group.columns.length > room && levels.length ? "levels" : "all");
  if (kind === "levels" && levels.length) {
    return levels;
  }
  const mine = group.columns.filter((c) => c.set === kind && c.kind !== "level");
  return mine.length ? mine : group.columns;
}

// Nodes in the view's order, with names that contain the searched text.
function orderNodes(report) {
  const { group, view } = report;
  const wanted = view.search.trim().toLowerCase();
  const order = group.names.map((_, i) => i).filter((i) => !wanted || group.names[i].toLowerCase().includes(wanted));
  const by = group.columns.find((c) => c.label === view.order);
  if (view.order === "worst") {
    order.sort((a, b) => group.score[b] - group.score[a] || a - b);
  } else if (view.order === "time") {
    order.sort((a, b) => (group.times[a] < group.times[b] ? 1 : group.times[a] > group.times[b] ? -1 : a - b));
  } else if (by) {
    const at = (i) => group.share[group.cell(i, by.index)];
    const key = (i) => (Number.isNaN(at(i)) ? Infinity : at(i));
    order.sort((a, b) => key(a) - key(b) || a - b); // Infinity - Infinity is NaN: then by name
  }
  return order;
}

// Sizes of all parts, in pixels.
function sizeHeat(report) {
  const { heat, view, group } = report;
  const width = Math.max(240, byId("heat-frame").clientWidth);
  heat.columns = chosenColumns(report);
  heat.order = report.order;
  const longest = Math.max(...heat.order.slice(0, 400).map((i) => textLength(group.names[i], 12)), 40);
  heat.names = Math.ceil(Math.min(1.08 * longest + 10, width < 600 ? 96 : 190));
  heat.left = heat.names + HEAT_GUTTER;
  const n = Math.max(1, heat.order.length);
  heat.row = view.rows || Math.min(24, HEAT_TALL / n);
  heat.tall = Math.max(40, Math.min(HEAT_TALL, Math.ceil(n * heat.row)));
  heat.strip = n * heat.row > heat.tall + 1 ? HEAT_STRIP : 0;
  const room = width - heat.left - heat.strip - 18; // less a scroll bar
  heat.cell = Math.max(CELL_LEAST, Math.min(CELL_MOST, room / heat.columns.length));
  heat.vertical = heat.cell >= 11;
  const text = Math.max(20, ...heat.columns.map((c) => textLength(c.short, 11)));
  heat.head = 18 + (heat.vertical ? Math.min(110, Math.ceil(text) + 8) : 16);
  heat.wide = heat.left + heat.columns.length * heat.cell;
  heat.width = width;
  const scroll = byId("heat-scroll");
  const bar = heat.wide > width - heat.strip ? 16 : 0; // height of a scroll bar below
  scroll.style.height = `${heat.head + heat.tall + bar}px`;
  scroll.style.width = `${width - heat.strip}px`;
  byId("heat-frame").style.height = `${heat.head + heat.tall + bar}px`;
  byId("heat-space").style.height = `${heat.head + Math.ceil(n * heat.row)}px`;
  byId("heat-space").style.width = `${Math.floor(heat.wide)}px`;
  heat.seen = { width: Math.min(scroll.clientWidth, Math.ceil(heat.wide) + 1), height: scroll.clientHeight };
}

function heatCanvas(canvas, width, height) {
  const dense = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * dense);
  canvas.height = Math.round(height * dense);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const draw = canvas.getContext("2d");
  draw.scale(dense, dense);
  return draw;
}

// The value that a cell's colour shows, NaN = none.
function heatValue(report, node, column) {
  const { group, heat, view } = report;
  const at = group.cell(node, column);
  if (!(group.state[at] & HAS)) {
    return NaN;
  }
  return (view.unit === "percent" ? group.share[at] : group.z[at]) / heat.limit;
}

// Cuts a text but keeps its end, in which names of nodes differ.
function fittedEnd(text, room, size) {
  if (textLength(text, size) <= room) {
    return text;
  }
  let from = Math.max(1, Math.floor(text.length * (1 - room / textLength(text, size))));
  while (from < text.length && textLength(`\u2026${text.slice(from)}`, size) > room) {
    from++;
  }
  return `\u2026${text.slice(from)}`;
}

// Draws the part of the map to which the box is scrolled.
function drawHeat(report) {
  const { heat } = report;
  const scroll = byId("heat-scroll");
  heat.x = scroll.scrollLeft;
  heat.y = scroll.scrollTop;
  const draw = heatCanvas(byId("heat-map"), heat.seen.width, heat.seen.height);
  heat.draw = draw;
  draw.fillStyle = heat.palette.ground;
  draw.fillRect(0, 0, heat.seen.width, heat.seen.height);
  draw.save();
  draw.beginPath();
  draw.rect(0, heat.head, heat.seen.width, heat.seen.height - heat.head);
  draw.clip();
  if (heat.row >= 1) {
    drawRows(report);
  } else {
    drawSqueezed(report);
  }
  draw.restore();
  drawHead(report);
  drawCursor(report);
  noteHeat(report);
}

function rowAt(heat, y) {
  return Math.floor((y - heat.head + heat.y) / heat.row);
}

function columnLeft(heat, k) {
  return heat.left + k * heat.cell - heat.x;
}

function drawRows(report) {
  const { heat, group } = report;
  const { draw, palette } = heat;
  const first = Math.max(0, rowAt(heat, heat.head));
  const last = Math.min(heat.order.length - 1, rowAt(heat, heat.seen.height));
  const gap = heat.row >= 6 ? 1 : 0;
  const gapX = heat.cell >= 8 ? 1 : 0;
  for (let r = first; r <= last; r++) {
    const node = heat.order[r];
    const top = heat.head + r * heat.row - heat.y;
    heat.columns.forEach((c, k) => {
      const x = columnLeft(heat, k);
      if (x + heat.cell < heat.left || x > heat.seen.width) {
        return;
      }
      const v = heatValue(report, node, c.index);
      const state = stateOf(group, node, c.index);
      draw.fillStyle = Number.isNaN(v) ? palette.none : palette.of(v);
      draw.fillRect(x, top, heat.cell - gapX, heat.row - gap);
      if (state & DISTURBED && heat.row >= 8) {
        draw.fillStyle = palette.dim;
        draw.fillRect(x + heat.cell / 2 - 1.5, top + heat.row / 2 - 2, 3, 3);
      }
      if (state & FLAGGED && heat.row >= 8) {
        outline(draw, palette, x, top, heat.cell - gapX, heat.row - gap);
      }
    });
    drawRowHead(report, node, top);
  }
}

// Outlines a cell with a dark and a light line, so that it is visible on every colour.
function outline(draw, palette, x, y, width, height) {
  draw.lineWidth = 1.6;
  draw.strokeStyle = palette.ink;
  draw.strokeRect(x + 0.8, y + 0.8, width - 1.6, height - 1.6);
  if (width >= 9) {
    draw.lineWidth = 1;
    draw.strokeStyle = palette.ground;
    draw.strokeRect(x + 2.1, y + 2.1, width - 4.2, height - 4.2);
  }
}

// Draws name and mark of a row, which do not move when the cells scroll sideways.
function drawRowHead(report, node, top) {
  const { heat, group } = report;
  const { draw, palette } = heat;
  const mine = node === report.node;
  draw.fillStyle = mine ? palette.soft : palette.ground;
  draw.fillRect(0, top, heat.left, heat.row);
  const verdict = group.verdict[node];
  const mark = { s: "\u25bc", f: "\u25b2", u: "\u25cb" }[verdict];
  const middle = top + heat.row / 2;
  if (mark) {
    draw.fillStyle = verdict === "s" ? palette.slow : verdict === "f" ? palette.fast : palette.dim;
    if (heat.row >= 10) {
      draw.font = '10px system-ui, "DejaVu Sans", sans-serif';
      draw.textAlign = "center";
      draw.fillText(mark, heat.names + HEAT_GUTTER / 2 - 1, middle + 3.5);
    } else {
      draw.fillRect(heat.names + 2, top, HEAT_GUTTER - 5, Math.max(1, heat.row - 1));
    }
  }
  if (heat.row >= 12) {
    draw.fillStyle = mine ? palette.hot : palette.ink;
    draw.font = `${mine ? "bold " : ""}12px system-ui, "DejaVu Sans", sans-serif`;
    draw.textAlign = "right";
    draw.fillText(fittedEnd(group.names[node], (heat.names - 6) / (mine ? 1.08 : 1), 12), heat.names - 3, middle + 4);
  } else if (mine) {
    draw.fillStyle = palette.hot;
    draw.fillRect(0, top, heat.names, Math.max(1.5, heat.row - 1));
  }
}

// Rows below one pixel: each line shows the furthest outlier of its rows, or their mean.
function drawSqueezed(report) {
  const { heat, group } = report;
  const { draw, palette } = heat;
  for (let y = 0; y < heat.tall; y++) {
    const first = Math.floor(y / heat.row);
    const end = Math.min(heat.order.length, Math.max(first + 1, Math.floor((y + 1) / heat.row)));
    heat.columns.forEach((c, k) => {
      const v = squeezedValue(report, heat.order, first, end, c.index);
      draw.fillStyle = Number.isNaN(v) ? palette.none : palette.of(v);
      draw.fillRect(columnLeft(heat, k), heat.head + y, heat.cell - (heat.cell >= 8 ? 1 : 0), 1);
    });
    const nodes = heat.order.slice(first, end);
    const verdict = ["s", "f"].find((v) => nodes.some((i) => group.verdict[i] === v));
    draw.fillStyle = verdict === "s" ? palette.slow : palette.fast;
    if (verdict) {
      draw.fillRect(heat.names + 2, heat.head + y, HEAT_GUTTER - 5, 1);
    }
    if (nodes.includes(report.node)) {
      draw.fillStyle = palette.hot;
      draw.fillRect(0, heat.head + y - 1, heat.names, 3);
    }
  }
}

function squeezedValue(report, order, first, end, column) {
  let [sum, n, most] = [0, 0, NaN];
  for (let r = first; r < end; r++) {
    const v = heatValue(report, order[r], column);
    if (stateOf(report.group, order[r], column) & FLAGGED) {
      most = Number.isNaN(most) || Math.abs(v) > Math.abs(most) ? v : most;
    }
    sum += Number.isNaN(v) ? 0 : v;
    n += Number.isNaN(v) ? 0 : 1;
  }
  return Number.isNaN(most) ? (n ? sum / n : NaN) : most;
}

// ---- the names of the columns

// Runs of columns that share a text: [first, end, text]
function runsOf(columns, text) {
  const runs = [];
  columns.forEach((c, k) => {
    const last = runs[runs.length - 1];
    if (last && last[2] === text(c)) {
      last[1] = k + 1;
    } else {
      runs.push([k, k + 1, text(c)]);
    }
  });
  return runs;
}

function drawHead(report) {
  const { heat, view } = report;
  const { draw, palette } = heat;
  draw.save();
  draw.fillStyle = palette.ground;
  draw.fillRect(0, 0, heat.seen.width, heat.head);
  draw.beginPath();
  draw.rect(heat.left - 1, 0, heat.seen.width - heat.left + 1, heat.seen.height);
  draw.clip();
  draw.font = '11px system-ui, "DejaVu Sans", sans-serif';
  draw.textAlign = "left";
  const wide = (c) => (c.kind === "level" ? "levels" : c.set);
  const narrow = { levels: "levels" };
  heat.columns.filter((c) => c.set).forEach((c) => (narrow[c.set] = `${c.isa} ${c.precision} ${c.threads}T`));
  for (const [first, end, text] of runsOf(heat.columns, wide)) {
    const [from, room] = [columnLeft(heat, first), (end - first) * heat.cell - 6];
    const shown = [text, narrow[text]].find((t) => textLength(t, 11) <= room);
    draw.fillStyle = palette.ink;
    draw.fillText(shown || fittedEnd(narrow[text], room, 11), from + 3, 12);
    draw.fillStyle = palette.dim;
    draw.fillRect(from - 1, 0, 1, first ? heat.seen.height : heat.head);
  }
  draw.fillStyle = palette.dim;
  if (heat.vertical) {
    heat.columns.forEach((c, k) => {
      draw.save();
      draw.translate(columnLeft(heat, k) + heat.cell / 2 + 3.5, heat.head - 5);
      draw.rotate(-Math.PI / 2);
      draw.fillStyle = view.order === c.label ? palette.hot : palette.dim;
      draw.fillText(fittedEnd(c.short, heat.head - 22, 11), 0, 0);
      draw.restore();
    });
  } else {
    for (const [first, end, text] of runsOf(heat.columns, (c) => c.family || c.kind)) {
      const room = (end - first) * heat.cell - 3;
      draw.fillRect(columnLeft(heat, first), heat.head - 14, 1, 12);
      if (textLength(text, 11) <= room) {
        draw.fillText(text, columnLeft(heat, first) + 3, heat.head - 4);
      }
    }
  }
  draw.restore();
}

function drawCursor(report) {
  const { heat } = report;
  const { cursor, draw, palette } = heat;
  if (!cursor || heat.row < 4) {
    return;
  }
  const top = heat.head + cursor.row * heat.row - heat.y;
  if (top >= heat.head - heat.row && top < heat.seen.height) {
    draw.strokeStyle = palette.hot;
    draw.lineWidth = 2;
    draw.strokeRect(columnLeft(heat, cursor.column), Math.max(heat.head, top), heat.cell - 1, heat.row - 1);
  }
}

// Draws the strip: all rows, by verdict and largest deviation, and the range of rows in sight.
function drawStrip(report) {
  const { heat, group } = report;
  const strip = byId("heat-overview");
  strip.hidden = !heat.strip;
  if (!heat.strip) {
    return;
  }
  const { palette } = heat;
  const draw = heatCanvas(strip, heat.strip, heat.head + heat.tall);
  const scale = heat.tall / heat.order.length;
  for (let y = 0; y < heat.tall; y++) {
    let most = 0;
    let slow = 0;
    for (let r = Math.floor(y / scale); r < Math.min(heat.order.length, Math.max(Math.floor(y / scale) + 1, (y + 1) / scale)); r++) {
      const node = heat.order[r];
      const worst = group.worst[node];
      const v = worst < 0 ? 0 : heatValue(report, node, worst);
      most = Math.abs(v) > Math.abs(most) ? v : most;
      slow = slow || "sf".includes(group.verdict[node]);
    }
    draw.fillStyle = palette.of(most);
    draw.fillRect(8, heat.head + y, heat.strip - 8, 1);
    if (slow) {
      draw.fillStyle = palette.ink;
      draw.fillRect(2, heat.head + y, 4, 1);
    }
  }
  const seen = (heat.seen.height - heat.head) / heat.row;
  draw.strokeStyle = palette.hot;
  draw.lineWidth = 2;
  draw.strokeRect(1, heat.head + (heat.y / heat.row) * scale, heat.strip - 2, Math.max(3, seen * scale));
}

// Describes the map in words, for readers who cannot see it.
function noteHeat(report) {
  const { heat, group } = report;
  const first = Math.max(0, rowAt(heat, heat.head));
  Object.assign(byId("heat-map").dataset, {
    rows: heat.order.length, columns: heat.columns.length, first, limit: heat.limit,
    top: heat.order.length ? group.names[heat.order[Math.min(first, heat.order.length - 1)]] : "",
  });
  drawStrip(report);
}

// Lays out the whole map again, for another group, order, size or colours.
function layoutHeat(report) {
  const { heat, group, view } = report;
  if (byId("heat-frame").clientWidth === 0) {
    return;
  }
  heat.palette = makePalette();
  const judged = group.columns.filter((c) => c.kind !== "clock").map((c) => c.index);
  const source = view.unit === "percent" ? group.share : group.z;
  const [values, flagged] = [[], []];
  const step = Math.max(1, Math.floor(group.names.length / 2000)); // enough nodes for a scale
  group.names.forEach((_, i) => judged.forEach((j) => {
    const at = group.cell(i, j);
    if (group.state[at] & FLAGGED) {
      flagged.push(source[at]);
    } else if (i % step === 0) {
      values.push(source[at]);
    }
  }));
  heat.limit = limitOf(values, flagged, view.unit);
  sizeHeat(report);
  drawLegend(report);
  byId("heat-scroll").setAttribute("aria-label", `map of ${plural(heat.order.length, "node")} by ${plural(heat.columns.length, "roof")}: ` +
    "arrow keys move, Enter chooses the node, plus and minus change the height of rows");
  drawHeat(report);
}
