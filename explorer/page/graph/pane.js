// The graph pane: a canvas with the graph of the model or of the calls of kernels, and what is done in it.

import { fill, h, mark } from "whence/dom";
import { scheduleOf } from "whence/navigate";
import { finder } from "whence/graph/finder";
import { Folding } from "whence/graph/folding";
import { Hand } from "whence/graph/hand";
import { litOf, NOTHING, pinnedItem, seesPin } from "whence/graph/lit";
import { coloursOf, paint } from "whence/graph/paint";
import { search } from "whence/graph/query";
import { nameOf, sidebar } from "whence/graph/sidebar";
import { tools } from "whence/graph/tools";

/** @typedef {import("whence/types").App} App */
/** @typedef {import("whence/types").Pane} Pane */
/** @typedef {import("whence/types").Slot} Slot */

const WATCHED = /** @type {const} */ (["hover", "pins", "heat", "theme", "program"]);

/**
 * Show a graph in a pane.
 * @param {App} app @param {HTMLElement} element @param {Pane} pane @param {"model" | "calls"} level
 * @returns {import("whence/types").PaneView}
 */
export function graphPane(app, element, pane, level) {
  const view = new GraphPane(app, element, pane, level);
  return {
    update: (pane) => void view.turn(pane.sideways ?? false),
    focus: () => view.focus(),
    destroy: () => view.destroy(),
    cursor: () => view.mark(),
    sees: () => view.scene !== null && seesPin(app, view.scene, view.camera),
    search: (step) => view.find.search(step),
  };
}

export class GraphPane extends Folding {
  #frame = 0;
  lit = NOTHING;
  /** The operator that is lit up, "" for none. */
  same = "";
  /** The edge of the graph whose tensor is lit up, -1 for none. */
  tensor = -1;

  /** @param {App} app @param {HTMLElement} element @param {Pane} pane @param {"model" | "calls"} level */
  constructor(app, element, pane, level) {
    super(app, pane, level);
    this.canvas = h("canvas", { class: "graph-canvas", "aria-hidden": "true" });
    this.side = sidebar(app, {
      go: (node) => void this.goTo(node),
      toggle: (item) => void this.toggle(item),
      close: () => this.#close(),
      same: (label) => this.light(label === this.same ? "" : label),
      tensor: (edge) => void this.showTensor(edge),
    });
    this.find = finder({
      search: (query) => (this.graph && this.scopes ? search(this.graph, this.scopes, this.#names(), query) : []),
      go: (id) => void this.goTo(id),
      leave: () => this.focus(),
    });
    this.hand = new Hand(this);
    this.tools = tools(this);
    this.frame.append(this.tools.element, h("div", { class: "graph-stage" }, this.canvas, this.hand.element, this.message));
    this.element = h("div", { class: "graph-pane" }, h("div", { class: "graph-columns" }, this.frame, this.find.list, this.side.element));
    element.append(this.element);
    this.#resized();
    this.observer = new ResizeObserver(() => this.#resized());
    this.observer.observe(this.canvas);
    this.scheme = matchMedia("(prefers-color-scheme: dark)");
    this.recolour = () => {
      this.colours = coloursOf(this.element);
      this.redraw();
    };
    this.scheme.addEventListener("change", this.recolour);
    this.colours = coloursOf(this.element);
    const { state } = app;
    this.off = [state.on([...WATCHED], () => this.changed()), state.on("pins", () => this.#toPinned())];
    void this.load();
  }

  /** @param {number} item -1 for none */
  select(item) {
    this.cursor = item;
    if (item >= 0 && this.tensor >= 0) this.#lightUp(this.same, -1);
    if (this.scene && this.tensor < 0) {
      this.side.show(this.scene, item);
      this.hand.show(item);
    }
    this.redraw();
  }

  #close() {
    this.#lightUp("", -1);
    this.select(-1);
  }

  /** Light up all nodes of an operator. @param {string} label "" for none */
  light(label) {
    this.#lightUp(label, this.tensor);
    if (this.scene) this.side.show(this.scene, this.cursor);
  }

  /** Show what is known of the tensor of an edge, and light up all its edges; return whether there is one. @param {number} edge */
  showTensor(edge) {
    if (!this.scene || edge < 0) return false;
    this.cursor = -1;
    this.hand.show(-1);
    this.#lightUp(this.same, edge);
    this.side.showTensor(this.scene, edge);
    return true;
  }

  /** @param {string} label @param {number} edge */
  #lightUp(label, edge) {
    [this.same, this.tensor] = [label, edge];
    this.changed();
  }

  /** @param {number} item @param {Slot} slot */
  pin(item, slot) {
    const { scene, app } = this;
    if (!scene || item < 0) return;
    const call = scene.graph.nodes.call[scene.ids[item]] ?? -1;
    if (call >= 0) app.pinCall(call, slot);
    else if (scene.layers(app.model.document.sets, item).length) app.pin(scene.layers(app.model.document.sets, item), slot);
    if (call >= 0 && scheduleOf(app.model, call) >= 0) app.openDock("schedule");
  }

  /** Show what the state lights up. */
  changed() {
    void this.load();
    if (!this.scene) return;
    this.lit = litOf(this.app, this.scene, this.same, this.tensor);
    mark(this.frame, "data-kin", String(this.lit.kin.size));
    mark(this.frame, "data-pinned", this.lit.pins.map((pin) => pin.size).join());
    mark(this.frame, "data-same", String(this.lit.same.size));
    mark(this.frame, "data-tensor", this.lit.tensor || null);
    mark(this.frame, "data-heat", this.lit.heat ? this.app.state.get("heat") : null);
    this.recolour();
  }

  /** Bring the item that the newest pin leads to into view. */
  #toPinned() {
    if (this.scene && pinnedItem(this.app, this.scene) >= 0) this.camera.reveal(this.scene.area(pinnedItem(this.app, this.scene)));
  }

  #names() {
    const { scene } = this;
    return scene ? scene.graph.nodes.label.map((label, node) => `${label} ${nameOf(this.app, scene, node)}`) : [];
  }

  forget() {
    [this.cursor, this.same, this.tensor] = [-1, "", -1];
  }

  begun() {
    this.#toPinned();
  }

  turned() {
    this.tools.update();
  }

  groups() {
    return this.scopes ? this.scopes.name.map((_, k) => (this.scopes?.count ?? 0) + k) : [];
  }

  #resized() {
    const seen = this.scene && seesPin(this.app, this.scene, this.camera);
    const { clientWidth: width, clientHeight: height } = this.canvas;
    [this.canvas.width, this.canvas.height] = [width, height].map((size) => Math.round(size * (devicePixelRatio || 1)));
    this.camera.resize(width, height);
    if (seen) this.#toPinned();
    this.#paint();
  }

  redraw() {
    this.#frame ||= requestAnimationFrame(() => this.#paint());
  }

  #paint() {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    const context = this.canvas.getContext("2d");
    if (!context || !this.scene || !this.colours) return;
    paint(context, this.scene, this.camera, this.colours, this.lit, this.cursor);
  }

  focus() {
    this.hand.element.focus({ preventScroll: true });
  }

  /** What keys of the page act on. @returns {import("whence/types").Mark | null} */
  mark() {
    const rows = this.scene && this.cursor >= 0 ? this.scene.layers(this.app.model.document.sets, this.cursor) : [];
    return rows.length ? { rows, label: this.app.model.label(rows), at: null } : null;
  }

  destroy() {
    this.end();
    for (const off of this.off) off();
    this.observer.disconnect();
    this.scheme.removeEventListener("change", this.recolour);
    cancelAnimationFrame(this.#frame);
    fill(this.element);
    this.element.remove();
  }
}
