// Dividers that share room: between panes and above the dock, moved by the pointer or by arrow keys.

import { h, mark } from "whence/dom";

/** @typedef {import("whence/types").App} App */

const LEAST = 0.08;
const STEP = 0.05;

/**
 * Return a divider; `drag` hears of the pointer, `step` of arrow keys: -1 for left or up, 1 for right or down.
 * @param {"vertical" | "horizontal"} orientation
 * @param {string} label
 * @param {{drag: (event: PointerEvent) => void, step: (direction: 1 | -1) => void}} owner
 */
function divider(orientation, label, { drag, step }) {
  const [less, more] = orientation === "vertical" ? ["ArrowLeft", "ArrowRight"] : ["ArrowUp", "ArrowDown"];
  const element = h("div", {
    class: `splitter ${orientation}`,
    role: "separator",
    tabindex: 0,
    "aria-orientation": orientation,
    "aria-label": label,
    "aria-valuemin": 0,
    "aria-valuemax": 100,
    "aria-valuenow": 50,
    onpointerdown: (/** @type {PointerEvent} */ event) => {
      element.setPointerCapture(event.pointerId);
      event.preventDefault();
      element.focus();
    },
    onpointermove: (/** @type {PointerEvent} */ event) => {
      if (element.hasPointerCapture(event.pointerId)) drag(event);
    },
    onkeydown: (/** @type {KeyboardEvent} */ event) => {
      if (event.key !== less && event.key !== more) return;
      step(event.key === less ? -1 : 1);
      event.preventDefault();
      event.stopPropagation();
    },
  });
  return element;
}

/**
 * Return the splitter between two panes.
 * @param {App} app
 * @param {number} left id of the pane on the left
 * @param {number} right
 */
export function paneSplitter(app, left, right) {
  const element = divider("vertical", "Width of the panes beside", {
    drag: (event) => {
      const first = element.previousElementSibling?.getBoundingClientRect();
      const second = element.nextElementSibling?.getBoundingClientRect();
      if (first && second) share(() => (event.clientX - first.left) / (second.right - first.left));
    },
    step: (direction) => share((current) => current + direction * STEP),
  });

  /** @param {(current: number) => number} change of the share of the left pane */
  function share(change) {
    const panes = app.state.get("panes");
    const [a, b] = [left, right].map((id) => panes.find((pane) => pane.id === id));
    if (!a || !b) return;
    const sum = a.grow + b.grow;
    const part = clamp(change(a.grow / sum));
    mark(element, "aria-valuenow", String(Math.round(100 * part)));
    /** @type {Map<number, number>} */
    const grow = new Map([
      [left, sum * part],
      [right, sum * (1 - part)],
    ]);
    app.state.set({ panes: panes.map((pane) => ({ ...pane, grow: grow.get(pane.id) ?? pane.grow })) });
  }
  return element;
}

/**
 * Return the splitter above the dock.
 * @param {App} app
 */
export function dockSplitter({ state }) {
  const element = divider("horizontal", "Height of the dock", {
    drag: (event) => share(1 - event.clientY / innerHeight),
    step: (direction) => share(state.get("dockShare") - direction * STEP),
  });

  /** @param {number} part of the height of the page */
  function share(part) {
    state.set({ dockShare: clamp(part) });
    mark(element, "aria-valuenow", String(Math.round(100 * state.get("dockShare"))));
  }
  return element;
}

/** @param {number} part */
function clamp(part) {
  return Math.min(1 - LEAST, Math.max(LEAST, part));
}
