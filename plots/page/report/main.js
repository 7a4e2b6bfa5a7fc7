// SPDX-License-Identifier: GPL-3.0-or-later
// Builds the page once and draws it again whenever the view changes.

function applyView(report) {
  const { view } = report;
  showTheme(view);
  document.body.classList.remove(...SHOWN.map((s) => `model-${s}`));
  document.body.classList.add(`model-${view.model}`);
  for (const which of MODELS) {
    byId(`plot-${which}`).hidden = view.model !== "both" && view.model !== which;
  }
  report.shownSets = report.data.model.roofs.filter((s) => setIsOn(view, s));
  report.shownSets.sort((a, b) => peakOf(b) - peakOf(a));
  showToggles(report);
}

function drawAll(report) {
  applyView(report);
  report.plots.forEach(drawPlot);
  drawKey(report);
  drawResiduals(report);
  drawCurves(report);
  drawLatencies(report);
  drawRoofs(report);
}

function makeHeader(report) {
  const { model, title, generated, version } = report.data;
  const { hostname, cpu } = model.machine;
  const text = title || (hostname && cpu ? `${hostname}: ${cpu}` : hostname || cpu || "carm report");
  byId("title").textContent = text;
  byId("title").classList.add("name");
  document.title = text;
  byId("subtitle").textContent = `Rooflines measured ${model.created}` +
    (model.validated ? `, validated ${model.validated}` : "") +
    (report.data.places.length ? `; ${plural(report.data.places.length, "point")}` : "");
  byId("made").textContent = `Made ${generated} by carm ${version}. This page holds its data and loads nothing.`;
}

function listen(report) {
  listenPage(report, () => drawAll(report), () => {
    readHash(report.view);
    sortPlaces(report);
  });
  byId("reset-view").addEventListener("click", () => {
    report.view.zoom = {};
    report.changed();
  });
}

function start() {
  if (typeof d3 === "undefined" || !d3.behavior) {
    throw new Error("this page needs d3 version 3");
  }
  const data = readData();
  const values = toggleValues(data);
  const report = { data, values, view: newView(defaultToggles(data, values), firstModelOf(data.places)), plots: [], hot: null, shownSets: [] };
  report.changed = () => {
    hideTip();
    sortPlaces(report);
    drawAll(report);
    writeHash(report.view);
  };
  report.showRow = (index) => showRow(report, index);
  makeHeader(report);
  makeVerdicts(report);
  makeWarnings(report);
  makeFacts(report);
  makeToggles(report);
  makePlaces(report);
  makeValidation(report);
  makeCurves(report);
  makeLatencies(report);
  makeRoofs(report);
  readHash(report.view);
  report.plots = MODELS.map((which) => makePlot(report, which));
  sortPlaces(report);
  drawAll(report);
  listen(report);
  window.carmView = () => viewObject(report.view);
  document.body.dataset.ready = "1";
}

start();
