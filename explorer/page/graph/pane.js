// The graph pane: a canvas with the graph of the model or of the calls of kernels, and what is done in it.

import { fill, h, mark } from "whence/dom";
import { note } from "whence/marks";
import { scheduleOf } from "whence/navigate";
import { Camera } from "whence/graph/camera";
import { finder } from "whence/graph/finder";
import { Hand } from "whence/graph/hand";
import { litOf, NOTHING, pinnedItem, seesPin } from "whence/graph/lit";
import { coloursOf, paint } from "whence/graph/paint";
import { sceneOf } from "whence/graph/scene";
import { foldedAtFirst, openedTo, scopesOf } from "whence/graph/scopes";
import { nameOf, sidebar } from "whence/graph/sidebar";

/** @typedef {import("whence/types").App} App */
/** @typedef {import("whence/types").Pane} Pane */
/** @typedef {import("whence/types").Slot} Slot */
/** @typedef {import("whence/graph/scene").Scene} Scene */

const WATCHED = /** @type {const} */ (["hover", "pins", "heat", "theme", "program"]);

/**
 * Show a graph in a pane.
 * @param {App} app @param {HTMLElement} element @param {Pane} pane @param {"model" | "calls"} level
 * @returns {import("whence/types").PaneView}
 */
export function graphPane(app, element, pane, level) {
  const view = new GraphPane(app, element, pane, level);
  return {
    update: () => undefined,
    focus: () => view.focus(),
    destroy: () => view.destroy(),
    cursor: () => view.mark(),
    sees: () => view.scene !== null && seesPin(app, view.scene, view.camera),
    search: (step) => view.find.search(step),
  };
}

export class GraphPane {
  /** @type {Scene | null} */
  scene = null;
  /** The item that keys act on. */
  cursor = -1;
  /** @type {Set<number>} */
  folded = new Set();
  #graph = -1;
  #turn = 0;
  #frame = 0;
  lit = NOTHING;

  /** @param {App} app @param {HTMLElement} element @param {Pane} pane @param {"model" | "calls"} level */
  constructor(app, element, pane, level) {
    this.app = app;
    this.level = level;
    this.number = pane.id;
    this.canvas = h("canvas", { class: "graph-canvas", "aria-hidden": "true" });
    this.camera = new Camera(() => this.redraw());
    this.side = sidebar(app, {
      go: (node) => void this.goTo(node),
      toggle: (item) => void this.toggle(item),
      close: () => this.select(-1),
    });
    this.find = finder({ texts: () => this.#names(), go: (node) => void this.goTo(node), leave: () => this.focus() });
    this.hand = new Hand(this);
    const tool = (/** @type {string} */ sign, /** @type {string} */ title, /** @type {() => void} */ press) =>
      h("button", { type: "button", title, "aria-label": title, "data-test": `graph-${title.replaceAll(" ", "-")}`, onclick: press }, sign);
    this.tools = h("div", { class: "graph-tools", role: "toolbar", "aria-label": "Graph" },
      tool("+", "zoom in", () => this.camera.zoomBy(1.25)),
      tool("−", "zoom out", () => this.camera.zoomBy(0.8)),
      tool("⤢", "fit", () => this.scene && this.camera.fit(this.scene.bounds)),
      tool("⊟", "fold all", () => void this.fold(new Set(this.#groups()))),
      tool("⊞", "unfold all", () => void this.fold(new Set())),
      this.find.field);
    this.message = h("p", { class: "message", role: "status" });
    this.frame = h("div", { class: "graph-frame", "data-test": "graph" }, this.tools, h("div", { class: "graph-stage" }, this.canvas, this.hand.element, this.message));
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
    this.off = [state.on([...WATCHED], () => this.#changed()), state.on("pins", () => this.#toPinned())];
    void this.#load();
  }

  /** Show the graph of the program that the page shows. */
  async #load() {
    const { graphs } = this.app.model.document;
    const program = this.app.state.get("program");
    const own = graphs.findIndex((graph) => graph.level === this.level && graph.program === program);
    const row = own < 0 ? graphs.findIndex((graph) => graph.level === this.level) : own;
    if (row === this.#graph && row >= 0) return;
    this.#graph = row;
    this.message.textContent = row < 0 ? "The session has no such graph." : "";
    if (row < 0) return;
    this.graph = graphs[row];
    this.scopes = scopesOf(this.graph);
    this.cursor = -1;
    await this.fold(foldedAtFirst(this.scopes));
    if (this.scene?.ids.length) this.camera.begin(this.scene.bounds, this.scene.at.x[0]);
    this.#toPinned();
  }

  /** Fold these groups and no others. @param {Set<number>} folded @param {number} [keep] the id that stays where it is seen */
  async fold(folded, keep = -1) {
    const { graph, scopes } = this;
    if (!graph || !scopes) return;
    const from = performance.now();
    const turn = ++this.#turn;
    const slow = setTimeout(() => (this.message.textContent = `Laying out ${graph.nodes.label.length.toLocaleString("en")} nodes…`), 100);
    const before = this.scene;
    let scene;
    try {
      scene = await sceneOf(graph, scopes, folded);
    } catch (error) {
      this.message.textContent = String(error);
      return;
    } finally {
      clearTimeout(slow);
    }
    if (turn !== this.#turn) return;
    const id = before && this.cursor >= 0 ? before.ids[this.cursor] : -1;
    const still = [before?.ids.indexOf(keep) ?? -1, scene.ids.indexOf(keep)];
    [this.scene, this.folded] = [scene, folded];
    this.message.textContent = "";
    mark(this.frame, "data-items", String(scene.ids.length));
    mark(this.frame, "data-edges", String(scene.edge.length));
    if (before && still[0] >= 0 && still[1] >= 0) {
      const dx = scene.at.x[still[1]] - before.at.x[still[0]];
      const dy = scene.at.y[still[1]] - before.at.y[still[0]];
      this.camera.set(this.camera.x + dx, this.camera.y + dy, this.camera.zoom);
    }
    this.#changed();
    this.select(scene.ids.indexOf(id));
    note("graph", from);
  }

  /** Fold or unfold a group. @param {number} item */
  toggle(item) {
    if (!this.scene?.isGroup(item)) return;
    const id = this.scene.ids[item];
    const folded = new Set(this.folded);
    if (!folded.delete(id)) folded.add(id);
    return this.fold(folded, id);
  }

  /** Show a node, its groups unfolded, and put the cursor on it. @param {number} node */
  async goTo(node) {
    if (!this.scene || !this.scopes) return;
    const open = openedTo(this.scopes, this.folded, Math.max(0, this.scopes.holder[node]));
    if (open.size !== this.folded.size) await this.fold(open);
    const item = this.scene.shows[node];
    if (item < 0) return;
    this.select(item);
    this.camera.center(this.scene.area(item), Math.max(this.camera.zoom, 0.8));
  }

  /** @param {number} item -1 for none */
  select(item) {
    this.cursor = item;
    if (this.scene) {
      this.side.show(this.scene, item);
      this.hand.show(item);
    }
    this.redraw();
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
  #changed() {
    void this.#load();
    if (!this.scene) return;
    this.lit = litOf(this.app, this.scene);
    mark(this.frame, "data-kin", String(this.lit.kin.size));
    mark(this.frame, "data-pinned", this.lit.pins.map((pin) => pin.size).join());
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

  #groups() {
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
    this.#turn++;
    for (const off of this.off) off();
    this.observer.disconnect();
    this.scheme.removeEventListener("change", this.recolour);
    cancelAnimationFrame(this.#frame);
    fill(this.element);
    this.element.remove();
  }
}
