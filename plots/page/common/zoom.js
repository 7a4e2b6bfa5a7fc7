// SPDX-License-Identifier: GPL-3.0-or-later
// Zoom and pan of a plot by wheel, pointer, touch and keys. The view holds the state.

const round5 = (v) => Math.round(v * 1e5) / 1e5;

// Keeps the window inside the whole plot; scale 1 is not stored.
function setZoom(plot, k, fx, fy) {
  const { view } = plot.report;
  const scale = round5(Math.max(1, Math.min(ZOOM_MOST, k)));
  const clamp = (f) => round5(Math.max(1 - scale, Math.min(0, f))) || 0;
  if (scale <= 1) {
    delete view.zoom[plot.which];
  } else {
    view.zoom[plot.which] = [scale, clamp(fx), clamp(fy)];
  }
  drawPlot(plot);
  writeHash(view);
}

function zoomBy(plot, factor, dx, dy) {
  const [k, fx, fy] = plot.report.view.zoom[plot.which] || [1, 0, 0];
  const scale = Math.max(1, Math.min(ZOOM_MOST, k * factor));
  const about = (f) => 0.5 - ((0.5 - f) * scale) / k; // the middle stays
  setZoom(plot, scale, about(fx) + dx, about(fy) + dy);
}

function makeZoom(plot) {
  const { svg } = plot;
  const zoom = d3.behavior.zoom().scaleExtent([1, ZOOM_MOST]).on("zoom", () => {
    const [tx, ty] = d3.event.translate;
    const k = d3.event.scale;
    const { box } = plot;
    hideTip();
    setZoom(plot, k, (tx - box.left + k * box.left) / box.width, (ty - box.top + k * box.top) / box.height);
  });
  svg.call(zoom);
  const scaled = () => plot.report.view.zoom[plot.which] !== undefined;
  // At scale 1 the page scrolls: by zooming out with the wheel, and by one finger.
  const wheel = svg.on("wheel.zoom");
  svg.on("wheel.zoom", function (...rest) {
    if (scaled() || d3.event.deltaY < 0) {
      wheel.apply(this, rest);
    }
  });
  const touch = svg.on("touchstart.zoom");
  svg.on("touchstart.zoom", function (...rest) {
    if (scaled() || d3.event.touches.length > 1) {
      touch.apply(this, rest);
    }
  });
  const keys = {
    "+": [1.5, 0, 0], "=": [1.5, 0, 0], "-": [1 / 1.5, 0, 0],
    ArrowLeft: [1, 0.1, 0], ArrowRight: [1, -0.1, 0], ArrowUp: [1, 0, 0.1], ArrowDown: [1, 0, -0.1],
  };
  svg.on("keydown", () => {
    const key = keys[d3.event.key];
    const own = d3.event.target === svg.node();
    if (!key || d3.event.ctrlKey || d3.event.altKey || d3.event.metaKey ||
        (d3.event.key.startsWith("Arrow") && (!own || !scaled()))) {
      return;
    }
    d3.event.preventDefault();
    zoomBy(plot, ...key);
  });
  return zoom;
}
