// SPDX-License-Identifier: GPL-3.0-or-later
// The state of the page as one object: ticked boxes, zoom, model, colours, order of the table. The
// part behind # in the address is this object as JSON, without the initial settings.

const SHOWN = ["both", ...MODELS];

// Initially both models are shown if there are no points, or if some have a place on the original
// model.
function firstModelOf(places) {
  return !places.length || places.some((p) => p.original) ? "both" : "cache-aware";
}

// firstModel: the model shown initially
function newView(toggles, firstModel) {
  return {
    defaults: toggles, // name -> ticked initially
    toggles: { ...toggles },
    firstModel,
    model: firstModel,
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
  if (view.model !== view.firstModel) {
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

// Takes valid settings from the address; others get their initial values.
function readHash(view) {
  Object.assign(view, newView(view.defaults, view.firstModel));
  const object = hashObject();
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
  view.model = SHOWN.includes(object.model) ? object.model : view.firstModel;
  view.theme = THEMES.includes(object.theme) ? object.theme : "auto";
  const sort = object.sort;
  if (Array.isArray(sort) && COLUMNS.some((c) => c.key === sort[0]) && typeof sort[1] === "boolean") {
    view.sort = [sort[0], sort[1]];
  }
}
