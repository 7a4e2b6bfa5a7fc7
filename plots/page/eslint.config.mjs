// SPDX-License-Identifier: GPL-3.0-or-later
// Rules for the scripts of the pages, as make joins them: build/plots/report-script.js and fleet-script.js.
// Run by make lint where eslint is installed (npm install -g eslint, 9 or newer).
const names = `d3 window document location history navigator innerWidth innerHeight devicePixelRatio matchMedia
getComputedStyle requestAnimationFrame setTimeout clearTimeout console Node Event Blob URL URLSearchParams
XMLSerializer ResizeObserver MutationObserver addEventListener removeEventListener performance queueMicrotask
scrollTo scrollBy CSS TextDecoder atob Image localStorage SVGElement HTMLElement Element`;

export default [{
  files: ["**/*.js"],
  languageOptions: {
    ecmaVersion: 2020,
    sourceType: "script",
    globals: Object.fromEntries(names.split(/\s+/).map((name) => [name, "readonly"])),
  },
  rules: {
    "curly": "error",
    "eqeqeq": "error",
    "no-cond-assign": "error",
    "no-constant-condition": "error",
    "no-dupe-keys": "error",
    "no-else-return": "error",
    "no-empty": "error",
    "no-fallthrough": "error",
    "no-redeclare": "error",
    "no-self-assign": "error",
    "no-shadow": "error",
    "no-undef": "error",
    "no-unreachable": "error",
    "no-var": "error",
    "object-shorthand": "error",
    "prefer-const": "error",
    "use-isnan": "error",
    "valid-typeof": "error",
  },
}];
