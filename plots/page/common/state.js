// SPDX-License-Identifier: GPL-3.0-or-later
// The state of a page: its part behind # in the address, colours, events of every page. The page's own scripts define
// the view: viewObject(view) gives the settings that differ from the initial ones.

const THEMES = ["auto", "light", "dark"];

// Writes the view to the address, without an entry in the browser's history for each step of a
// zoom.
function writeHash(view) {
  const object = viewObject(view);
  const hash = Object.keys(object).length ? `#${encodeURIComponent(JSON.stringify(object))}` : "";
  if (hash !== location.hash) {
    history.replaceState(null, "", hash || location.pathname + location.search);
  }
}

function isZoom(z) {
  return Array.isArray(z) && z.length === 3 && z.every(Number.isFinite) && z[0] >= 1 && z[0] <= ZOOM_MOST &&
    z.slice(1).every((t) => t <= 0 && t >= 1 - z[0]);
}

// The settings in the address, {} if they cannot be read.
function hashObject() {
  try {
    const read = location.hash.length > 1 ? JSON.parse(decodeURIComponent(location.hash.slice(1))) : {};
    return read !== null && typeof read === "object" ? read : {};
  } catch (error) {
    console.info("the address holds no view:", String(error));
    return {};
  }
}

function showTheme(view) {
  const root = document.documentElement;
  if (view.theme === "auto") {
    delete root.dataset.theme;
  } else {
    root.dataset.theme = view.theme;
  }
  byId("theme").textContent = `Colours: ${view.theme}`;
  byId("theme").setAttribute("aria-label", `colours: ${view.theme === "auto" ? "as the system has them" : view.theme}`);
}

// ---- what the toggles show

function isOn(view, name) {
  return view.toggles[name] !== false;
}

function setIsOn(view, s) {
  return isOn(view, `isa:${s.isa}`) && isOn(view, `precision:${s.precision}`) && isOn(view, `threads:${s.threads}`);
}

function lineIsOn(view, line) {
  return setIsOn(view, line.set) &&
    (line.kind === "compute"
      ? line.op === undefined || isOn(view, `op:${line.op}`)
      : (line.level === undefined || isOn(view, `level:${line.level}`)) &&
        (line.mix === undefined || isOn(view, `mix:${line.mix}`)));
}

// Adds the events of every page.
// redraw() draws the whole page; reread() takes the view from the address first
function listenPage(report, redraw, reread) {
  byId("theme").addEventListener("click", () => {
    report.view.theme = THEMES[(THEMES.indexOf(report.view.theme) + 1) % THEMES.length];
    report.changed();
  });
  addEventListener("hashchange", () => {
    reread();
    redraw();
  });
  let width = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth !== width) {
      width = innerWidth;
      report.plots.forEach((plot) => (plot.size = null));
      redraw();
    }
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      hideTip();
    }
  });
  addEventListener("scroll", followScroll, { passive: true });
  // unfolds folded parts for printing
  let folded = [];
  addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("main details:not([open])")];
    folded.forEach((details) => (details.open = true));
  });
  addEventListener("afterprint", () => folded.forEach((details) => (details.open = false)));
}

// Shows failures on the page; the browser's console has them, too.
addEventListener("error", (event) => showError(`This page failed: ${event.message}`));
addEventListener("unhandledrejection", (event) => showError(`This page failed: ${event.reason}`));
