// SPDX-License-Identifier: GPL-3.0-or-later
// What the page shows, as one object: which boxes are ticked, zoom, model, colours, order of the
// table. The part behind # in the address is this object as JSON, without what is as at first.

const THEMES = ["auto", "light", "dark"];
const SHOWN = ["both", ...MODELS];

function newView(toggles) {
  return {
    defaults: toggles, // name -> ticked at first
    toggles: { ...toggles },
    model: "both",
    theme: "auto",
    sort: null, // [column, descending]
    zoom: {}, // model -> [scale, x, y], x and y as shares of the plot's width and height
  };
}

function viewObject(view) {
  const out = {};
  const changed = Object.keys(view.toggles).filter((t) => view.toggles[t] !== view.defaults[t]);
  if (changed.length) {
    out.toggles = Object.fromEntries(changed.map((t) => [t, view.toggles[t]]));
  }
  for (const which of MODELS) {
    if (view.zoom[which]) {
      out.zoom = { ...out.zoom, [which]: view.zoom[which] };
    }
  }
  if (view.model !== "both") {
    out.model = view.model;
  }
  if (view.theme !== "auto") {
    out.theme = view.theme;
  }
  if (view.sort) {
    out.sort = view.sort;
  }
  return out;
}

// Without an entry in the history for each step of a zoom.
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

// Takes from the address what makes sense; what does not is as at first.
function readHash(view) {
  Object.assign(view, newView(view.defaults));
  let read = {};
  try {
    read = location.hash.length > 1 ? JSON.parse(decodeURIComponent(location.hash.slice(1))) : {};
  } catch (error) {
    console.info("the address holds no view:", String(error));
    return;
  }
  const object = read !== null && typeof read === "object" ? read : {};
  for (const [name, on] of Object.entries(object.toggles || {})) {
    if (Object.hasOwn(view.defaults, name) && typeof on === "boolean") {
      view.toggles[name] = on;
    }
  }
  for (const which of MODELS) {
    if (object.zoom && isZoom(object.zoom[which])) {
      view.zoom[which] = object.zoom[which];
    }
  }
  view.model = SHOWN.includes(object.model) ? object.model : "both";
  view.theme = THEMES.includes(object.theme) ? object.theme : "auto";
  const sort = object.sort;
  if (Array.isArray(sort) && COLUMNS.some((c) => c.key === sort[0]) && typeof sort[1] === "boolean") {
    view.sort = [sort[0], sort[1]];
  }
}

// ---- what the toggles let through

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
