// A splitter between two panes: moved by the pointer or by arrow keys.

import { h, mark } from "whence/dom";

/** @typedef {import("whence/types").App} App */

const LEAST = 0.08;
const STEP = 0.05;

/**
 * @param {App} app
 * @param {number} left id of the pane on the left
 * @param {number} right
 */
export function splitter(app, left, right) {
  const element = h("div", {
    class: "splitter",
    role: "separator",
    tabindex: 0,
    "aria-orientation": "vertical",
    "aria-label": "Width of the panes beside",
    "aria-valuemin": 0,
    "aria-valuemax": 100,
    onpointerdown: (/** @type {PointerEvent} */ event) => {
      element.setPointerCapture(event.pointerId);
      event.preventDefault();
      element.focus();
    },
    onpointermove: (/** @type {PointerEvent} */ event) => {
      if (element.hasPointerCapture(event.pointerId)) drag(event.clientX);
    },
    onkeydown: (/** @type {KeyboardEvent} */ event) => {
      const step = event.key === "ArrowLeft" ? -STEP : event.key === "ArrowRight" ? STEP : 0;
      if (step === 0) return;
      share((current) => current + step);
      event.preventDefault();
    },
  });

  /** @param {number} x */
  function drag(x) {
    const first = element.previousElementSibling?.getBoundingClientRect();
    const second = element.nextElementSibling?.getBoundingClientRect();
    if (first && second) share(() => (x - first.left) / (second.right - first.left));
  }

  /** @param {(current: number) => number} change of the share of the left pane */
  function share(change) {
    const panes = app.state.get("panes");
    const [a, b] = [left, right].map((id) => panes.find((pane) => pane.id === id));
    if (!a || !b) return;
    const sum = a.grow + b.grow;
    const part = Math.min(1 - LEAST, Math.max(LEAST, change(a.grow / sum)));
    mark(element, "aria-valuenow", String(Math.round(100 * part)));
    app.state.set({
      panes: panes.map((pane) => (pane.id === left ? { ...pane, grow: sum * part } : pane.id === right ? { ...pane, grow: sum * (1 - part) } : pane)),
    });
  }
  mark(element, "aria-valuenow", "50");
  return element;
}
