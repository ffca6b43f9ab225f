// What a graph pane shows of its graph: which groups are folded, and from where to where it goes.

import { h, mark } from "whence/dom";
import { note } from "whence/marks";
import { Camera } from "whence/graph/camera";
import { sceneOf } from "whence/graph/scene";
import { foldedAtFirst, openedTo, scopesOf } from "whence/graph/scopes";

/** @typedef {import("whence/types").App} App */
/** @typedef {import("whence/types").Pane} Pane */
/** @typedef {import("whence/graph/scene").Scene} Scene */

/** The graph of a pane, laid out; panes say what they do when it changes. */
export class Folding {
  /** @type {Scene | null} */
  scene = null;
  /** The item that keys act on. */
  cursor = -1;
  /** @type {Set<number>} */
  folded = new Set();
  #row = -1;
  #turn = 0;

  /** @param {App} app @param {Pane} pane @param {"model" | "calls"} level */
  constructor(app, pane, level) {
    this.app = app;
    this.level = level;
    this.number = pane.id;
    this.sideways = pane.sideways ?? false;
    this.camera = new Camera(() => this.redraw());
    this.message = h("p", { class: "message", role: "status" });
    this.frame = h("div", { class: "graph-frame", "data-test": "graph" });
  }

  redraw() {}

  /** Show what the state lights up. */
  changed() {}

  /** Forget what was chosen in the graph before. */
  forget() {}

  /** Do what is due when another graph is shown. */
  begun() {}

  /** Show the direction of the graph. */
  turned() {}

  /** @param {number} _item -1 for none */
  select(_item) {}

  /** Let no layout that is under way be shown. */
  end() {
    this.#turn++;
  }

  /** Show the graph of the program that the page shows. */
  async load() {
    const { graphs } = this.app.model.document;
    const program = this.app.state.get("program");
    const own = graphs.findIndex((graph) => graph.level === this.level && graph.program === program);
    const row = own < 0 ? graphs.findIndex((graph) => graph.level === this.level) : own;
    if (row === this.#row && row >= 0) return;
    this.#row = row;
    this.message.textContent = row < 0 ? "The session has no such graph." : "";
    if (row < 0) return;
    this.graph = graphs[row];
    this.scopes = scopesOf(this.graph);
    this.forget();
    await this.fold(foldedAtFirst(this.scopes));
    this.begin();
    this.begun();
  }

  /** Show where the graph begins. */
  begin() {
    const { scene } = this;
    if (scene?.ids.length) this.camera.begin(scene.bounds, scene.area(0), this.sideways);
  }

  /** Lay the graph out from left to right, or from top to bottom. @param {boolean} sideways */
  async turn(sideways) {
    if (sideways === this.sideways) return;
    this.sideways = sideways;
    this.turned();
    await this.fold(this.folded);
    if (this.scene && this.cursor >= 0) this.camera.center(this.scene.area(this.cursor));
    else this.begin();
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
      scene = await sceneOf(graph, scopes, folded, this.sideways);
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
    this.changed();
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

  /** Show a node or group, the groups around it unfolded, and put the cursor on it. @param {number} id */
  async goTo(id) {
    if (!this.scene || !this.scopes) return;
    const { count, holder } = this.scopes;
    const open = openedTo(this.scopes, this.folded, id < count ? Math.max(0, holder[id]) : id);
    if (open.size !== this.folded.size) await this.fold(open);
    const item = id < count ? this.scene.shows[id] : this.scene.ids.indexOf(id);
    if (item < 0) return;
    this.select(item);
    this.camera.center(this.scene.area(item), Math.max(this.camera.zoom, 0.8));
  }
}
