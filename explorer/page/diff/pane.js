// The pane that compares two stages of a level, side by side: what is new, gone, changed or moved, by op.

import { classOf } from "whence/colours";
import { fill, h, mark } from "whence/dom";
import { compared, folded, nextDifference, unified } from "whence/diff/rows";
import { lineOf } from "whence/navigate";
import { Geometry, ROW } from "whence/text/geometry";
import { tokens } from "whence/text/tokens";
import { TextWindow } from "whence/text/window";

/** @typedef {import("whence/types").App} App */
/** @typedef {import("whence/types").Pane} Pane */
/** @typedef {import("whence/types").StageText} StageText */
/** @typedef {import("whence/diff/rows").Row} Row */

const LETTER = 7.25;
/** Pixels from which on two texts fit side by side. */
export const BESIDE = 700;
const KINDS = /** @type {const} */ (["gone", "new", "changed", "moved"]);
const SIGNS = { same: "", new: "+", gone: "−", changed: "~", moved: "↕", fold: "" };

export class DiffPane {
  /** @type {StageText[]} */
  #texts = [];
  /** @type {Row[]} */
  #all = [];
  /** @type {Row[]} */
  #rows = [];
  /** @type {Set<number>} */
  #open = new Set();
  #loading = "";
  #cursor = -1;
  /** True where rows have one side each. */
  #narrow = false;

  /** @param {App} app @param {HTMLElement} element @param {Pane} pane */
  constructor(app, element, pane) {
    this.app = app;
    this.pane = pane;
    const choice = (/** @type {string} */ label, /** @type {"from" | "stage"} */ key) =>
      h("select", { "aria-label": label, "data-test": `diff-${key}`, onchange: (/** @type {Event} */ event) =>
        app.setPane(pane.id, { [key]: Number(/** @type {HTMLSelectElement} */ (event.target).value) }) });
    this.from = choice("Stage before", "from");
    this.to = choice("Stage after", "stage");
    this.counts = h("span", { class: "diff-counts", role: "status", "data-test": "diff-counts" });
    const button = (/** @type {string} */ sign, /** @type {string} */ title, /** @type {1 | -1} */ way) =>
      h("button", { type: "button", title, "aria-label": title, onclick: () => this.search(way) }, sign);
    const head = h("div", { class: "diff-head" }, this.from, "→", this.to, button("↑", "previous difference", -1), button("↓", "next difference", 1), this.counts);
    this.window = new TextWindow({
      create: () => h("div", { class: "diff-row", role: "row" }),
      show: (row, line) => this.#show(row, line),
      dress: (row, line) => this.#dress(row, line),
      moved: () => undefined,
      resized: () => this.#resized(),
    }, { class: "diff-grid", "data-test": "diff", "aria-label": "Differences",
      onkeydown: (/** @type {KeyboardEvent} */ event) => this.#key(event),
      onclick: (/** @type {MouseEvent} */ event) => this.#click(event),
      onmouseover: (/** @type {MouseEvent} */ event) => app.hover(this.#layers(this.#rowAt(event))),
      onmouseleave: () => app.hover(null) });
    this.grid = this.window.element;
    this.slide = h("div", { class: "diff-slide", role: "group", tabindex: 0, "aria-label": "Move texts sideways", onscroll: () => this.grid.style.setProperty("--slide", `${-this.slide.scrollLeft}px`) }, h("i", {}));
    this.message = h("p", { class: "message", role: "status" });
    this.element = h("div", { class: "diff-frame" }, head, this.grid, this.slide, this.message);
    element.append(this.element);
    const off = [app.state.on(["hover", "pins"], () => this.window.redress()), app.state.on("pins", () => this.#toPinned())];
    this.off = () => off.forEach((end) => end());
    void this.#load();
  }

  /** @param {Pane} pane */
  update(pane) {
    this.pane = pane;
    void this.#load();
  }

  async #load() {
    const { model } = this.app;
    const { from = -1, stage } = this.pane;
    if (this.#loading === `${from} ${stage}`) return;
    this.#loading = `${from} ${stage}`;
    const { stages } = model.document;
    this.message.textContent = stages[from] && stages[stage] ? "" : "Choose a pass in the list of passes, or press d in a pane.";
    if (!stages[from] || !stages[stage]) return;
    const { level, kernel, program } = stages[stage];
    const options = model.stagesOf(level, kernel, program);
    for (const [select, value] of /** @type {[HTMLSelectElement, number][]} */ ([[this.from, from], [this.to, stage]])) {
      fill(select, ...options.map((number) => h("option", { value: number }, stages[number].name)));
      select.value = String(value);
    }
    try {
      const texts = await Promise.all([model.stage(from), model.stage(stage)]);
      if (this.#loading !== `${from} ${stage}`) return;
      this.#texts = texts;
    } catch (error) {
      this.message.textContent = error instanceof Error ? error.message : String(error);
      return;
    }
    const [a, b] = this.#texts;
    const { differences, rows, related } = compared(stages, from, stage, a, b);
    this.#all = rows;
    this.#open.clear();
    this.#cursor = -1;
    const parts = KINDS.map((kind) => h("span", { "data-kind": kind, "data-count": differences[kind].size }, `${SIGNS[kind]} ${differences[kind].size} ${kind}`));
    fill(this.counts, ...parts, !related && h("span", { class: "muted" }, "neither came of the other"));
    this.#layOut();
    this.search(1);
  }

  #layOut() {
    const rows = folded(this.#all, this.#open);
    this.#narrow = this.element.clientWidth < BESIDE;
    mark(this.grid, "data-narrow", this.#narrow ? "" : null);
    this.#rows = this.#narrow ? unified(rows) : rows;
    const [a, b] = this.#texts;
    const longest = Math.max(...[a, b].flatMap(({ lines }) => lines.map((line) => line.length)), 0);
    /** @type {HTMLElement} */ (this.slide.firstChild).style.width = `${(this.#narrow ? 1 : 2) * longest * LETTER + 160}px`;
    this.window.reset(new Geometry(this.#rows.length, null, null), 0);
    mark(this.grid, "aria-rowcount", String(this.#rows.length));
    this.window.draw();
  }

  /** Lay the rows out anew where they no longer fit, or fit again. */
  #resized() {
    if (!this.#rows.length || this.#narrow === this.element.clientWidth < BESIDE) return;
    const { left, right } = this.#rows[this.#cursor] ?? { left: -1, right: -1 };
    this.#layOut();
    this.#go(this.#rows.findIndex((row) => (right >= 0 ? row.right === right : left >= 0 && row.left === left)));
  }

  /** @param {HTMLElement} element @param {number} k */
  #show(element, k) {
    const row = this.#rows[k];
    element.dataset.kind = row.kind;
    element.dataset.at = String(k);
    element.style.height = `${ROW}px`;
    if (row.kind === "fold") fill(element, h("button", { type: "button", class: "link", "data-test": "diff-fold" }, `⋯ ${row.count} lines that are the same`));
    else fill(element, this.#half(row, 0), h("span", { class: "diff-sign" }, SIGNS[row.kind]), this.#half(row, 1));
  }

  /** @param {Row} row @param {0 | 1} side */
  #half(row, side) {
    const line = side ? row.right : row.left;
    if (line < 0) return h("span", { class: "half none" });
    const stage = side ? this.pane.stage : (this.pane.from ?? -1);
    const { model } = this.app;
    const layers = model.layersOfLine(stage, line);
    const names = row.kind === "same" || !layers.length ? "" : `si=[${layers.map((layer) => model.layerName(layer)).join(", ")}]`;
    return h("span", { class: `half ${layers.length ? classOf(layers[0]) : ""}`, role: "gridcell", "data-side": side, "data-line": line },
      h("span", { class: "diff-number" }, line + 1),
      h("span", { class: "bars", "aria-hidden": true }, ...layers.slice(0, 3).map((layer) => h("i", { class: `bar ${classOf(layer)}` }))),
      h("span", { class: "code" }, ...tokens(this.#texts[side].lines[line])),
      names && h("span", { class: "diff-layers", title: names, "data-test": "diff-layers" }, names));
  }

  /** @param {HTMLElement} element @param {number} k */
  #dress(element, k) {
    const layers = new Set(this.#layers(k));
    const [a, b, hover] = [...this.app.state.get("pins"), this.app.state.get("hover")].map((pin) => pin?.rows.some((row) => layers.has(row)) ?? false);
    mark(element, "data-pin", `${a ? "A" : ""}${b ? "B" : ""}` || null);
    mark(element, "data-kin", hover ? "" : null);
    mark(element, "data-cursor", k === this.#cursor ? "" : null);
  }

  /** @param {number} k @returns {number[]} */
  #layers(k) {
    const row = this.#rows[k];
    if (!row || row.kind === "fold") return [];
    const { from = -1, stage } = this.pane;
    return row.right >= 0 ? this.app.model.layersOfLine(stage, row.right) : this.app.model.layersOfLine(from, row.left);
  }

  /** @param {MouseEvent} event */
  #rowAt(event) {
    const row = event.target instanceof Element ? event.target.closest(".diff-row") : null;
    return row instanceof HTMLElement ? Number(row.dataset.at) : -1;
  }

  /** @param {MouseEvent} event */
  #click(event) {
    this.#go(this.#rowAt(event));
    this.#enter(event.shiftKey);
  }

  /** Open a fold, or pin the layers of the row. @param {boolean} second */
  #enter(second) {
    const row = this.#rows[this.#cursor];
    if (row?.kind === "fold") {
      this.#open.add(row.left);
      this.#layOut();
    } else if (row && this.#layers(this.#cursor).length) this.app.pin(this.#layers(this.#cursor), second ? 1 : 0);
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 20, PageUp: -20, Home: -1e9, End: 1e9 }[event.key];
    if (step) this.#go(Math.max(0, Math.min(this.#rows.length - 1, this.#cursor + step)));
    else if (event.key === "Enter") this.#enter(event.shiftKey);
    else return;
    event.preventDefault();
  }

  /** @param {number} k */
  #go(k) {
    if (!this.#rows[k]) return;
    this.#cursor = k;
    this.window.keep(k);
    this.window.redress();
  }

  /** Bring the row that the newest pin leads to into view. */
  #toPinned() {
    const { model, state } = this.app;
    const pin = this.app.newest();
    const { stage, from = -1 } = this.pane;
    if (!pin || !this.#rows.length || state.restoring) return;
    const [left, right] = [from, stage].map((number) => lineOf(model, pin, number, -1));
    const k = this.#rows.findIndex((row) => row.kind !== "fold" && ((right >= 0 && row.right === right) || (left >= 0 && row.left === left)));
    if (k >= 0) this.window.reveal(k);
  }

  focus() {
    this.grid.focus({ preventScroll: true });
  }

  /** Go to the next or the previous difference. @param {0 | 1 | -1} step */
  search(step) {
    const k = nextDifference(this.#rows, this.#cursor, step || 1);
    if (k < 0) return;
    this.#go(k);
    this.window.scrollTo(k, 0.3);
  }

  cursor() {
    const rows = this.#layers(this.#cursor);
    const { stage } = this.pane;
    const line = this.#rows[this.#cursor]?.right ?? -1;
    if (!rows.length) return null;
    return { rows, label: this.app.model.label(rows), at: line < 0 ? null : { stage, line, call: -1, tir: this.app.model.tirLine(stage, line) } };
  }

  destroy() {
    this.off();
    this.window.destroy();
    this.element.remove();
  }
}
