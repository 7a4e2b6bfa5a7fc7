// SPDX-License-Identifier: GPL-3.0-or-later
// Builds the page once and draws it again whenever the view changes.

function applyView(report) {
  const { view } = report;
  const root = document.documentElement;
  if (view.theme === "auto") {
    delete root.dataset.theme;
  } else {
    root.dataset.theme = view.theme;
  }
  byId("theme").textContent = `Colours: ${view.theme}`;
  byId("theme").setAttribute("aria-label", `colours: ${view.theme === "auto" ? "as the system has them" : view.theme}`);
  document.body.classList.remove(...SHOWN.map((s) => `model-${s}`));
  document.body.classList.add(`model-${view.model}`);
  for (const which of MODELS) {
    byId(`plot-${which}`).hidden = view.model !== "both" && view.model !== which;
  }
  report.shownSets = report.data.model.roofs.filter((s) => setIsOn(view, s));
  report.shownSets.sort((a, b) => peakOf(b) - peakOf(a));
  showToggles(view);
}

function drawAll(report) {
  applyView(report);
  report.plots.forEach(drawPlot);
  drawKey(report);
  drawResiduals(report);
  drawCurves(report);
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
  byId("theme").addEventListener("click", () => {
    report.view.theme = THEMES[(THEMES.indexOf(report.view.theme) + 1) % THEMES.length];
    report.changed();
  });
  byId("reset-view").addEventListener("click", () => {
    report.view.zoom = {};
    report.changed();
  });
  addEventListener("hashchange", () => {
    readHash(report.view);
    sortPlaces(report);
    drawAll(report);
  });
  let width = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth !== width) {
      width = innerWidth;
      report.plots.forEach((plot) => (plot.size = null));
      drawAll(report);
    }
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawAll(report));
  addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      hideTip();
    }
  });
  addEventListener("scroll", followScroll, { passive: true });
  // paper cannot be unfolded
  let folded = [];
  addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("main details:not([open])")];
    folded.forEach((details) => (details.open = true));
  });
  addEventListener("afterprint", () => folded.forEach((details) => (details.open = false)));
}

function start() {
  if (typeof d3 === "undefined" || !d3.behavior) {
    throw new Error("this page needs d3 version 3");
  }
  const data = readData();
  const values = toggleValues(data);
  const report = { data, values, view: newView(defaultToggles(data, values)), plots: [], hot: null, shownSets: [] };
  report.changed = () => {
    hideTip();
    sortPlaces(report);
    drawAll(report);
    writeHash(report.view);
  };
  makeHeader(report);
  makeWarnings(report);
  makeFacts(report);
  makeToggles(report);
  makePlaces(report);
  makeValidation(report);
  makeCurves(report);
  makeRoofs(report);
  readHash(report.view);
  report.plots = MODELS.map((which) => makePlot(report, which));
  sortPlaces(report);
  drawAll(report);
  listen(report);
  window.carmView = () => viewObject(report.view);
  document.body.dataset.ready = "1";
}

// What fails is shown on the page; the browser's console has it as well.
addEventListener("error", (event) => showError(`This page failed: ${event.message}`));
addEventListener("unhandledrejection", (event) => showError(`This page failed: ${event.reason}`));
start();
