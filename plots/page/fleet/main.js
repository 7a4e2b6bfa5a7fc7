// SPDX-License-Identifier: GPL-3.0-or-later
// Builds the fleet's page once and draws it again whenever the view changes.

// Applies the view's group, order and node.
function applyFleet(report) {
  const { view, data } = report;
  showTheme(view);
  report.group = data.groups[view.group] || null;
  if (report.group) {
    report.order = orderNodes(report);
    const chosen = view.node === null ? -1 : report.group.names.indexOf(view.node);
    report.node = chosen >= 0 ? chosen : firstNode(report);
  }
}

// The node without a choice: the worst of the group, regardless of the search.
function firstNode(report) {
  const { score } = report.group;
  return score.reduce((best, v, i) => (v > score[best] ? i : best), 0);
}

function drawMap(report) {
  drawHeatForm(report);
  layoutHeat(report);
}

function drawFleet(report) {
  applyFleet(report);
  drawOutliers(report);
  if (report.group) {
    drawGroup(report);
    drawMap(report);
    drawNode(report);
    drawSpread(report);
  }
}

// Shows a node in all parts of the page.
function chooseNode(report, node, group) {
  const { view } = report;
  if (group !== undefined && group !== view.group) {
    Object.assign(view, firstView(), { group, theme: view.theme, unit: view.unit, suspects: view.suspects, sort: view.sort });
  }
  view.node = report.data.groups[view.group].names[node];
  const at = byId("heat-scroll").scrollTop;
  report.changed();
  byId("heat-scroll").scrollTop = at;
  const row = report.order.indexOf(node);
  if (row >= 0) {
    showRowOf(report, row);
  }
}

function withoutGroups() {
  for (const id of ["group-part", "heat", "node", "spread"]) {
    byId(id).hidden = true;
  }
}

// The drawn contents, for tests and other scripts.
function fleetView(report) {
  const { view, heat, group, node, order } = report;
  return {
    ...viewObject(view), shown: group && {
      group: group.index, node: group.names[node], set: report.set && report.set.text, mix: report.mix,
      order: order.slice(0, 1000).map((i) => group.names[i]), columns: heat.columns.map((c) => c.label), limit: heat.limit,
      box: { left: heat.left, top: heat.head, cell: heat.cell, row: heat.row, x: heat.x, y: heat.y },
      flagged: order.slice(0, 1000).flatMap((i) => heat.columns.filter((c) => stateOf(group, i, c.index) & FLAGGED).map((c) => [group.names[i], c.label])),
    },
  };
}

function startFleet() {
  if (typeof d3 === "undefined" || !d3.behavior) {
    throw new Error("this page needs d3 version 3");
  }
  const data = readFleet();
  const report = { data, view: firstView(), plots: [], heat: {}, order: [], hot: null, shownSets: [], outliersShown: OUTLIERS_FIRST };
  const after = (draw) => () => {
    hideTip();
    draw();
    writeHash(report.view);
  };
  report.changed = after(() => drawFleet(report));
  report.mapChanged = after(() => {
    applyFleet(report);
    drawMap(report);
  });
  report.tablesChanged = after(() => drawOutliers(report));
  makeHeader(report);
  makeSummary(report);
  makeChanges(report);
  makeFailed(report);
  if (data.groups.length) {
    makeHeatForm(report);
    makeRoofline(report);
  } else {
    withoutGroups();
  }
  readView(report);
  drawFleet(report);
  if (data.groups.length) {
    followHeat(report);
  }
  listenPage(report, () => drawFleet(report), () => readView(report));
  // a canvas keeps its colours and size, so it is drawn again for printing
  matchMedia("print").addEventListener("change", () => data.groups.length && layoutHeat(report));
  window.carmFleetView = () => fleetView(report);
  document.body.dataset.ready = "1";
}

startFleet();
