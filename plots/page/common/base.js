// SPDX-License-Identifier: GPL-3.0-or-later
// The pages of carm report and carm fleet report. The files of plots/page/common and plots/page/report make one script,
// in the order of their names, main.js last; those of common and plots/page/fleet make the other. Text from the data
// goes into a page as text nodes and attributes only.

// ---- elements

function el(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value !== null && value !== undefined) {
      node.setAttribute(name, value);
    }
  }
  node.append(...children.filter((c) => c !== null && c !== undefined).map((c) => (c instanceof Node ? c : String(c))));
  return node;
}

function byId(id) {
  return document.getElementById(id);
}

function known(v) {
  return v !== null && v !== undefined && v !== "";
}

// Shows an error to the reader; the browser's console has it, too.
function showError(text) {
  const box = byId("error");
  box.hidden = false;
  box.append(el("div", {}, text));
}

// ---- numbers

const PREFIXES = ["", "k", "M", "G", "T", "P", "E"];

// Four significant digits and an SI prefix, as carm show prints: "118.3 Gflop/s".
function si(value, unit) {
  let i = 0;
  let v = value;
  while (Math.abs(v) >= 999.95 && i + 1 < PREFIXES.length) {
    v /= 1000;
    i++;
  }
  return `${digits4(v)} ${PREFIXES[i]}${unit}`;
}

function digits4(v) {
  const a = Math.abs(v);
  if (a === 0) {
    return "0";
  }
  if (a < 0.01 || a >= 9999.5) {
    return String(Number(v.toPrecision(3)));
  }
  return v.toFixed(a < 9.9995 ? 3 : a < 99.995 ? 2 : a < 999.95 ? 1 : 0);
}

function bytesText(bytes) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let i = 0;
  let v = bytes;
  while (v >= 1024 && i + 1 < units.length) {
    v /= 1024;
    i++;
  }
  return `${Number(v.toPrecision(v >= 100 ? 4 : 3))} ${units[i]}`;
}

function percent(ratio, decimals) {
  return `${(100 * ratio).toFixed(decimals === undefined ? 1 : decimals)}%`;
}

function short(v) {
  return String(Number(v.toPrecision(4)));
}

// as CARM_NOT_KNOWN of base/number.h: an interval of more than half its middle to each side means not known
function isKnown(ci) {
  return 2 * (ci[1] - ci[0]) <= ci[1] + ci[0];
}

function intervalText(ci, unit) {
  if (ci && ci[1] > 0 && !isKnown(ci)) { return "95% interval not known"; }
  return ci && ci[1] > 0 ? `95% interval ${si(ci[0], unit)} to ${si(ci[1], unit)}` : "";
}

// "597.6 – 598.1 GB/s"
function rangeText(low, high, unit) {
  const [a, b] = [si(low, unit), si(high, unit)];
  const [number, prefixed] = a.split(" ");
  return `${b.endsWith(` ${prefixed}`) ? number : a} \u2013 ${b}`;
}

function plural(n, word, words) {
  return `${n} ${n === 1 ? word : words || `${word}s`}`;
}

// a power of two as text on an axis: "1/8", "4"
function powerText(e) {
  return e >= 0 ? String(2 ** e) : e >= -10 ? `1/${2 ** -e}` : `2^${e}`;
}
