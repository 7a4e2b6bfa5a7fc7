// SPDX-License-Identifier: GPL-3.0-or-later
// Pointer and keys on the map, and the choices above the map.

// The row with the largest deviation among rows that share a pixel.
function bestRow(report, row) {
  const { heat, group } = report;
  let best = row;
  for (let r = row + 1; row >= 0 && r < Math.min(heat.order.length, row + 1 / heat.row); r++) {
    best = group.score[heat.order[r]] > group.score[heat.order[best]] ? r : best;
  }
  return best;
}

// {row, column} of a point of the window; column -1 = the row's name; null = neither
function heatCell(report, clientX, clientY) {
  const { heat } = report;
  const box = byId("heat-scroll").getBoundingClientRect();
  const [x, y] = [clientX - box.left, clientY - box.top];
  const row = bestRow(report, rowAt(heat, y));
  const column = x < heat.left ? -1 : Math.floor((x - heat.left + heat.x) / heat.cell);
  const within = x < heat.seen.width && y < heat.seen.height && column < heat.columns.length;
  return within && row < heat.order.length && (y >= heat.head || column >= 0)
    ? { row: y < heat.head ? -1 : row, column } : null;
}

function rowTip(report, node) {
  const { group } = report;
  const worst = group.worst[node];
  const flags = group.flags[node];
  return [
    group.names[node], VERDICTS[group.verdict[node]] + (flags ? `: ${plural(flags, "roof")} off` : ""),
    worst < 0 ? "" : `most certain: ${group.columns[worst].label}, ${signed(group.share[group.cell(node, worst)], 2)}`,
    group.times[node] ? `measured ${group.times[node]}` : "", group.hints[node],
  ];
}

function tipOf(report, at) {
  const { group, heat } = report;
  if (at.row < 0) {
    return columnTip(heat.columns[at.column], group);
  }
  const node = heat.order[at.row];
  return at.column < 0 ? rowTip(report, node) : cellTip(group, node, heat.columns[at.column].index);
}

function followHeat(report) {
  const scroll = byId("heat-scroll");
  let waiting = false;
  scroll.addEventListener("scroll", () => {
    if (!waiting) {
      waiting = true;
      requestAnimationFrame(() => {
        waiting = false;
        drawHeat(report);
      });
    }
  }, { passive: true });
  scroll.addEventListener("mousemove", (event) => {
    const at = heatCell(report, event.clientX, event.clientY);
    if (at) {
      showTip(tipOf(report, at), event.clientX, event.clientY);
    } else {
      hideTip();
    }
  });
  scroll.addEventListener("mouseleave", hideTip);
  scroll.addEventListener("click", (event) => {
    const at = heatCell(report, event.clientX, event.clientY);
    if (at && at.row < 0) {
      orderBy(report, report.heat.columns[at.column]);
    } else if (at) {
      report.heat.cursor = { row: at.row, column: Math.max(0, at.column) };
      chooseNode(report, report.heat.order[at.row]);
    }
  });
  scroll.addEventListener("keydown", (event) => heatKey(report, event));
  scroll.addEventListener("focus", () => {
    if (scroll.matches(":focus-visible") && report.heat.order.length) {
      moveCursor(report, report.heat.cursor || { row: 0, column: 0 });
    }
  });
  scroll.addEventListener("blur", () => {
    report.heat.cursor = null;
    hideTip();
    drawHeat(report);
  });
  const strip = byId("heat-overview");
  const jump = (event) => {
    const { heat } = report;
    const y = event.clientY - strip.getBoundingClientRect().top - heat.head;
    scroll.scrollTop = (y / heat.tall) * heat.order.length * heat.row - heat.tall / 2;
  };
  strip.addEventListener("pointerdown", (event) => {
    strip.setPointerCapture(event.pointerId);
    jump(event);
  });
  strip.addEventListener("pointermove", (event) => {
    if (event.buttons) {
      jump(event);
    }
  });
}

function heatKey(report, event) {
  const { heat, view } = report;
  if (event.ctrlKey || event.altKey || event.metaKey || !heat.order.length) {
    return;
  }
  const page = Math.max(1, Math.floor(heat.tall / heat.row) - 1);
  const moves = {
    ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1],
    PageDown: [page, 0], PageUp: [-page, 0], Home: [-Infinity, 0], End: [Infinity, 0],
  };
  const move = moves[event.key];
  const cursor = heat.cursor || { row: 0, column: 0 };
  if (move) {
    moveCursor(report, { row: cursor.row + move[0], column: cursor.column + move[1] });
  } else if (event.key === "Enter" || event.key === " ") {
    chooseNode(report, heat.order[cursor.row]);
    moveCursor(report, cursor);
  } else if ("+=-".includes(event.key)) {
    const next = ROWS.indexOf(view.rows) + (event.key === "-" ? -1 : 1);
    view.rows = ROWS[Math.max(0, Math.min(ROWS.length - 1, next))];
    report.mapChanged();
  } else {
    return;
  }
  event.preventDefault();
}

// Moves the cursor to a cell, scrolls the cell into sight, and shows its tip.
function moveCursor(report, to) {
  const { heat } = report;
  const scroll = byId("heat-scroll");
  const within = (v, most) => Math.max(0, Math.min(most, v));
  heat.cursor = { row: within(to.row, heat.order.length - 1), column: within(to.column, heat.columns.length - 1) };
  showRowOf(report, heat.cursor.row);
  const left = heat.cursor.column * heat.cell;
  if (left < scroll.scrollLeft || left + heat.cell > scroll.scrollLeft + heat.seen.width - heat.left) {
    scroll.scrollLeft = left - (heat.seen.width - heat.left) / 2;
  }
  drawHeat(report);
  const box = scroll.getBoundingClientRect();
  showTip(tipOf(report, heat.cursor), box.left + columnLeft(heat, heat.cursor.column) + heat.cell / 2,
    box.top + heat.head + (heat.cursor.row + 0.5) * heat.row - heat.y);
}

function showRowOf(report, row) {
  const { heat } = report;
  const scroll = byId("heat-scroll");
  const top = row * heat.row;
  if (top < scroll.scrollTop || top + heat.row > scroll.scrollTop + heat.tall) {
    scroll.scrollTop = top - heat.tall / 2;
  }
}

function orderBy(report, column) {
  report.view.order = report.view.order === column.label ? "worst" : column.label;
  report.changed();
}

// ---- the choices above the map

function drawHeatForm(report) {
  const { group, view } = report;
  const set = (name) => (value) => {
    view[name] = value;
    report.changed();
  };
  const orders = Object.entries(ORDERS);
  const by = group.columns.find((c) => c.label === view.order);
  const levels = group.columns.some((c) => c.kind === "level");
  const shown = chosenColumns(report);
  const columns = shown.length === group.columns.length ? "all" : shown[0].set || "levels";
  const heights = ROWS.map((r) => [String(r), r ? `${r} pixels` : "all in sight"]);
  renew(byId("heat-choices"),
    choice("Order", [...orders, ...(by ? [[by.label, by.label]] : [])], view.order, set("order")),
    choice("Colour", Object.entries(UNITS), view.unit, set("unit")),
    choice("Roofs", [["all", "all"], ...(levels ? [["levels", "levels together"]] : []), ...group.sets.map((s) => [s.text, s.text])],
      columns, set("columns")),
    choice("Rows", heights, String(view.rows), (value) => set("rows")(Number(value))));
  const input = byId("search");
  if (input.value !== view.search) {
    input.value = view.search;
  }
  byId("found").textContent = view.search.trim() ? `${plural(report.order.length, "node")} found` : "";
}

function makeHeatForm(report) {
  const form = byId("heat-form");
  const input = el("input", { type: "search", id: "search", size: 18, placeholder: "part of a name", autocomplete: "off", spellcheck: "false" });
  form.append(el("span", { id: "heat-choices", class: "choose" }), el("label", {}, "Find node ", input), el("span", { id: "found", role: "status" }));
  input.addEventListener("input", () => {
    report.view.search = input.value;
    report.mapChanged();
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (report.order.length) {
      chooseNode(report, report.order[0]);
    }
  });
}
