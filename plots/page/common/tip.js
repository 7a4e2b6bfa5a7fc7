// SPDX-License-Identifier: GPL-3.0-or-later
// The one tip of the page, for pointer and keyboard.

function showTip(lines, x, y) {
  const tip = byId("tip");
  tip.replaceChildren(...lines.filter((line) => line).map((line) => el("div", {}, line)));
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  const left = x + 16 + box.width > innerWidth ? x - 16 - box.width : x + 16;
  const top = y + 14 + box.height > innerHeight ? y - 14 - box.height : y + 14;
  tip.style.left = `${Math.max(4, Math.min(left, innerWidth - box.width - 4))}px`;
  tip.style.top = `${Math.max(4, top)}px`;
}

function hideTip() {
  byId("tip").hidden = true;
}

// Shows a tip at the middle of an element, or at the nearest edge of the window.
function showTipAt(element, lines) {
  const box = element.getBoundingClientRect();
  const within = (v, most) => Math.max(0, Math.min(v, most));
  showTip(lines, within(box.left + box.width / 2, innerWidth), within(box.top + box.height / 2, innerHeight));
}

// Moves the tip with the focused element, which the browser scrolls into sight.
function followScroll() {
  const element = document.activeElement;
  if (!byId("tip").hidden && element && element.tipLines) {
    showTipAt(element, element.tipLines());
  } else {
    hideTip();
  }
}

// Gives the elements of a selection a tip on hover and on focus.
// lines(d): the tip's texts; over(d or null): called when the tip appears and disappears
function withTip(selection, lines, over) {
  const tell = over || (() => {});
  const show = (d, x, y) => {
    showTip(lines(d), x, y);
    tell(d);
  };
  const hide = () => {
    hideTip();
    tell(null);
  };
  selection
    .on("mouseover", (d) => show(d, d3.event.clientX, d3.event.clientY))
    .on("mousemove", (d) => show(d, d3.event.clientX, d3.event.clientY))
    .on("mouseout", hide)
    .on("blur", hide)
    .on("focus", function (d) {
      this.tipLines = () => lines(this.__data__);
      showTipAt(this, lines(d));
      tell(d);
    });
}
