// SPDX-License-Identifier: GPL-3.0-or-later
// The state of the page as one object; the part behind # in the address has the settings that
// differ from the initial ones.

const ORDERS = { worst: "worst deviation", name: "name", time: "time, newest first" };
const UNITS = { percent: "per cent off the median", sigmas: "sigmas off the median" };
const ROWS = [0, 4, 8, 16, 24]; // heights in pixels; 0 = all rows at once
const ROWS_FIRST = 16;

function firstView() {
  return {
    group: 0,
    node: null, // a name; null = the first node in the order
    order: "worst", // or a column's label
    unit: "percent",
    columns: null, // a set's text, "levels", "all"; null = chosen by the number of columns
    rows: ROWS_FIRST,
    search: "",
    set: null, // a set's text; null = the set with the highest peak
    mix: null,
    suspects: false,
    sort: null, // order of the outliers: [column, descending]
    zoom: {}, // fleet -> [scale, x, y]
    toggles: {}, // none; the roofline's code expects the member
    theme: "auto",
  };
}

function viewObject(view) {
  const first = firstView();
  const out = {};
  for (const [name, value] of Object.entries(view)) {
    const same = name === "zoom" ? !value.fleet : name === "toggles" || value === first[name];
    if (!same) {
      out[name] = name === "zoom" ? { fleet: value.fleet } : value;
    }
  }
  return out;
}

// Takes valid settings from the address; others get their initial values.
function readView(report) {
  const { view, data } = report;
  Object.assign(view, firstView());
  const read = hashObject();
  const take = (name, fits) => {
    if (Object.hasOwn(read, name) && fits(read[name])) {
      view[name] = read[name];
    }
  };
  take("group", (g) => Number.isInteger(g) && g >= 0 && g < data.groups.length);
  const group = data.groups[view.group];
  const set = (text) => group && group.sets.some((s) => s.text === text);
  take("node", (name) => group && group.names.includes(name));
  take("order", (o) => Object.hasOwn(ORDERS, o) || Boolean(group && group.columns.some((c) => c.label === o)));
  take("unit", (u) => Object.hasOwn(UNITS, u));
  take("columns", (c) => c === "levels" || c === "all" || set(c));
  take("rows", (r) => ROWS.includes(r));
  take("search", (s) => typeof s === "string" && s.length < 256);
  take("set", set);
  take("mix", (m) => typeof m === "string" && m.length < 256);
  take("suspects", (s) => typeof s === "boolean");
  take("theme", (t) => THEMES.includes(t));
  take("sort", (s) => Array.isArray(s) && s.length === 2 && OUTLIER_COLUMNS.some((c) => c.key === s[0]) && typeof s[1] === "boolean");
  take("zoom", (z) => z !== null && typeof z === "object" && isZoom(z.fleet));
  if (view.zoom.fleet) {
    view.zoom = { fleet: view.zoom.fleet };
  }
}

// A choice for the reader. options: [value, text] each; changed: called with another choice
function choice(label, options, value, changed) {
  const select = el("select", {}, ...options.map(([v, text]) => el("option", { value: v }, text)));
  select.value = value;
  select.addEventListener("change", () => changed(select.value));
  return el("label", {}, `${label} `, select);
}

// Replaces choices; the focus stays on the same choice.
function renew(host, ...children) {
  const at = [...host.querySelectorAll("select, input")].indexOf(document.activeElement);
  host.replaceChildren(...children.filter(Boolean));
  const next = at < 0 ? null : host.querySelectorAll("select, input")[at];
  if (next) {
    next.focus({ preventScroll: true });
  }
}
