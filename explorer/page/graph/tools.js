// The buttons over a graph.

import { h, mark } from "whence/dom";

/** @typedef {import("whence/graph/pane").GraphPane} GraphPane */

/** @param {GraphPane} view */
export function tools(view) {
  const { camera, app } = view;
  const tool = (/** @type {string} */ sign, /** @type {string} */ title, /** @type {() => void} */ press) =>
    h("button", { type: "button", title, "aria-label": title, "data-test": `graph-${title.replaceAll(" ", "-")}`, onclick: press }, sign);
  const turning = tool("⇄", "left to right", () => app.setPane(view.number, { sideways: !view.sideways }));
  const element = h("div", { class: "graph-tools", role: "toolbar", "aria-label": "Graph" },
    tool("+", "zoom in", () => camera.zoomBy(1.25)),
    tool("−", "zoom out", () => camera.zoomBy(0.8)),
    tool("⤢", "fit", () => view.scene && camera.fit(view.scene.bounds)),
    tool("⊟", "fold all", () => void view.fold(new Set(view.groups()))),
    tool("⊞", "unfold all", () => void view.fold(new Set())),
    turning,
    view.find.field);
  const update = () => mark(turning, "aria-pressed", String(view.sideways));
  update();
  return { element, update };
}
