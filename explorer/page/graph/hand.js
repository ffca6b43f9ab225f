// Mouse and keys of a graph, and the list that stands for it where it is not seen: the node of the cursor and those
// around it.

import { fill, h, mark } from "whence/dom";
import { nameOf } from "whence/graph/sidebar";

/** @typedef {import("whence/graph/pane").GraphPane} GraphPane */

const NEAR = 4;
const STILL = 4;
const STEP = 60;
const FAR = 4000;
const REACH = 5;

export class Hand {
  /** @type {{x: number, y: number} | null} */
  #held = null;
  #moved = false;
  /** The item at each position of the list. @type {number[]} */
  #listed = [];

  /** @param {GraphPane} pane */
  constructor(pane) {
    this.pane = pane;
    this.element = h("ul", {
      class: "graph-proxy", role: "listbox", tabindex: 0, "aria-label": "Nodes of the graph", "data-test": "graph-nodes",
      onpointerdown: (/** @type {PointerEvent} */ event) => this.#down(event),
      onpointermove: (/** @type {PointerEvent} */ event) => this.#move(event),
      onpointerup: () => (this.#held = null),
      onclick: (/** @type {MouseEvent} */ event) => this.#click(event),
      onpointerleave: () => pane.app.hover(null),
      ondblclick: (/** @type {MouseEvent} */ event) => this.#double(event),
      onkeydown: (/** @type {KeyboardEvent} */ event) => this.#key(event),
      onfocus: () => pane.cursor < 0 && pane.scene?.ids.length && pane.select(0),
    });
    this.element.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
  }

  /** Show the node of the cursor and its neighbours in the list. @param {number} item */
  show(item) {
    const { scene, app } = this.pane;
    if (!scene) return;
    this.#listed = item < 0 ? [] : [...scene.along(item, -1).slice(0, NEAR), item, ...scene.along(item, 1).slice(0, NEAR)];
    const at = this.#listed.indexOf(item);
    fill(this.element, ...this.#listed.map((k, i) => {
      const id = scene.ids[k];
      const name = scene.isGroup(k) ? `group ${scene.scopes.path[id - scene.scopes.count]}` : `${scene.graph.nodes.label[id]} ${nameOf(app, scene, id)}`;
      const where = i < at ? "reads " : i > at ? "read by " : "";
      return h("li", { role: "option", id: `${this.#prefix()}-${i}`, "aria-selected": String(k === item) }, `${where}${name}`);
    }));
    mark(this.element, "aria-activedescendant", at < 0 ? null : `${this.#prefix()}-${at}`);
    mark(this.element, "data-cursor", at < 0 ? null : (this.element.children[at].textContent ?? ""));
  }

  #prefix() {
    return `graph-${this.pane.level}-${this.pane.number}`;
  }

  /** @param {MouseEvent} event */
  #item(event) {
    const { left, top } = this.pane.canvas.getBoundingClientRect();
    const [x, y] = this.pane.camera.point(event.clientX - left, event.clientY - top);
    return this.pane.scene?.under(x, y) ?? -1;
  }

  /** The edge of the graph near the pointer, -1 for none. @param {MouseEvent} event */
  #edge(event) {
    const { scene, camera, canvas } = this.pane;
    const { left, top } = canvas.getBoundingClientRect();
    const [x, y] = camera.point(event.clientX - left, event.clientY - top);
    const edge = scene?.edgeUnder(x, y, REACH / camera.zoom) ?? -1;
    return scene && edge >= 0 ? scene.edge[edge] : -1;
  }

  /** @param {PointerEvent} event */
  #down(event) {
    if (event.button !== 0) return;
    this.#held = { x: event.clientX, y: event.clientY };
    this.#moved = false;
    this.element.setPointerCapture(event.pointerId);
    this.pane.find.hide();
  }

  /** @param {PointerEvent} event */
  #move(event) {
    const { pane } = this;
    if (this.#held) {
      const [dx, dy] = [event.clientX - this.#held.x, event.clientY - this.#held.y];
      if (!this.#moved && Math.hypot(dx, dy) < STILL) return;
      this.#held = { x: event.clientX, y: event.clientY };
      this.#moved = true;
      pane.camera.pan(-dx, -dy);
      return;
    }
    const item = this.#item(event);
    this.element.style.cursor = item >= 0 ? "pointer" : "grab";
    const over = item >= 0 && !pane.scene?.isOpen(item);
    pane.app.hover(over && pane.scene ? pane.scene.layers(pane.app.model.document.sets, item) : null);
  }

  /** Only the first click of two folds and pins. @param {MouseEvent} event */
  #click(event) {
    const moved = this.#moved;
    this.#moved = false;
    if (moved || event.detail > 1) return;
    const item = this.#item(event);
    if (item < 0 && this.pane.showTensor(this.#edge(event))) return;
    this.pane.select(item);
    if (item < 0) return;
    if (this.pane.scene?.isGroup(item)) void this.pane.toggle(item);
    else this.pane.pin(item, event.shiftKey ? 1 : 0);
  }

  /** @param {MouseEvent} event */
  #double(event) {
    const item = this.#item(event);
    const { scene, camera } = this.pane;
    if (scene && item >= 0 && !scene.isGroup(item)) camera.center(scene.area(item), 1.5);
  }

  /** @param {WheelEvent} event */
  #wheel(event) {
    event.preventDefault();
    const { left, top } = this.pane.canvas.getBoundingClientRect();
    if (event.shiftKey) this.pane.camera.pan(event.deltaX || event.deltaY, 0);
    else this.pane.camera.zoomBy(Math.exp(-event.deltaY / 500), event.clientX - left, event.clientY - top);
  }

  /** Arrows walk along edges, and with Alt or Ctrl move the view. @param {KeyboardEvent} event */
  #key(event) {
    const { pane } = this;
    const { scene, camera, cursor } = pane;
    if (!scene || event.altKey || event.ctrlKey || event.metaKey) return;
    const pans = { ArrowUp: [0, -STEP], ArrowDown: [0, STEP], ArrowLeft: [-STEP, 0], ArrowRight: [STEP, 0] }[event.key];
    if (pans && (event.shiftKey || cursor < 0)) camera.pan(pans[0], pans[1]);
    else if (event.key === (scene.at.sideways ? "ArrowRight" : "ArrowDown")) this.#walk(scene.along(cursor, 1)[0]);
    else if (event.key === (scene.at.sideways ? "ArrowLeft" : "ArrowUp")) this.#walk(scene.along(cursor, -1)[0]);
    else if (event.key === "ArrowLeft" || event.key === "ArrowUp") this.#walk(this.#beside(-1));
    else if (event.key === "ArrowRight" || event.key === "ArrowDown") this.#walk(this.#beside(1));
    else if (event.key === "Home") this.#walk(0);
    else if (event.key === "End") this.#walk(scene.ids.length - 1);
    else if (event.key === "Enter") pane.pin(cursor, event.shiftKey ? 1 : 0);
    else if (event.key === " ") void pane.toggle(cursor);
    else if (event.key === "+" || event.key === "=") camera.zoomBy(1.25);
    else if (event.key === "-") camera.zoomBy(0.8);
    else if (event.key === "0") camera.fit(scene.bounds);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** The nearest item beside that of the cursor, in the same rank. @param {1 | -1} way */
  #beside(way) {
    const { scene, cursor } = this.pane;
    if (!scene || cursor < 0) return undefined;
    const { sideways } = scene.at;
    const [left, top, right, bottom] = scene.area(cursor);
    const middle = (/** @type {number} */ k) => (sideways ? scene.at.y[k] + scene.at.height[k] / 2 : scene.at.x[k]);
    const [from, to] = way > 0 ? [middle(cursor), middle(cursor) + FAR] : [middle(cursor) - FAR, middle(cursor)];
    const beside = scene.boxesIn(sideways ? [left, from, right, to] : [from, top, to, bottom])
      .filter((k) => k !== cursor && !scene.isOpen(k) && (middle(k) - middle(cursor)) * way > 0);
    return Array.from(beside).sort((a, b) => (middle(a) - middle(b)) * way)[0];
  }

  /** @param {number | undefined} item */
  #walk(item) {
    const { pane } = this;
    if (item === undefined || !pane.scene) return;
    pane.select(item);
    pane.camera.reveal(pane.scene.area(item));
    if (!pane.scene.isOpen(item)) pane.app.hover(pane.scene.layers(pane.app.model.document.sets, item));
  }
}
