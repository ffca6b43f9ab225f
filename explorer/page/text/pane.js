// The text pane: the lines of a stage, linked to those of all other panes.

import { h, mark } from "whence/dom";
import { note } from "whence/marks";
import { lineOf } from "whence/navigate";
import { Cursor } from "whence/text/cursor";
import { Edges } from "whence/text/edges";
import { lineFacts } from "whence/text/facts";
import { Fold } from "whence/text/fold";
import { Geometry } from "whence/text/geometry";
import { Lit } from "whence/text/lit";
import { columnsOf } from "whence/text/measure";
import { morph } from "whence/text/morph";
import { Ruler } from "whence/text/ruler";
import { showLine, showMarks } from "whence/text/row";
import { Search } from "whence/text/search";
import { TextWindow } from "whence/text/window";
import { count } from "whence/words";

/** @typedef {import("whence/types").App} App */
/** @typedef {import("whence/types").Pane} Pane */
/** @typedef {import("whence/types").StageText} StageText */

const LONGEST = 20_000;

export class TextPane {
  /** @type {StageText | null} */
  #text = null;
  /** The line of `reveal` that waits for the text. */
  #wanted = -1;
  #loading = -1;
  /** The stage that `#text` is of. */
  #loaded = -1;
  #lit = new Lit();
  fold = new Fold();
  #wrapAt = 0;
  /** @type {((line: number) => number) | null} */
  #unitsOf = null;
  /** @type {(() => void)[]} */
  #off;
  #saving = 0;

  /** @param {App} app @param {HTMLElement} element @param {Pane} pane */
  constructor(app, element, pane) {
    this.app = app;
    this.pane = pane;
    this.window = new TextWindow({
      show: (row, line) => this.#show(row, line),
      dress: (row, line) =>
        showMarks(row, { ...this.#lit.marks(line), cursor: line === this.point.line, hit: this.find.has(line) }),
      moved: () => this.#moved(),
      resized: (before) => this.#resized(before),
    }, { class: "text-pane", "data-test": "text" });
    this.edges = new Edges((line) => this.reveal(line));
    this.ruler = new Ruler((line) => this.window.scrollTo(line, 0.5));
    this.find = new Search({
      lines: () => this.#text?.lines ?? [],
      changed: () => this.redress(),
      step: (direction) => this.search(direction),
      leave: () => this.focus(),
    });
    this.message = h("p", { class: "message", role: "status" });
    this.grid = this.window.element;
    this.element = h(
      "div",
      { class: "text-frame" },
      this.find.element,
      h("div", { class: "text-body" }, this.grid, this.ruler.element, this.message),
      this.edges.element,
    );
    this.point = new Cursor(this);
    element.append(this.element);
    const { state } = app;
    this.#off = [
      state.on("hover", () => this.#hovered()),
      state.on("pins", () => this.#pinned()),
      state.on("filter", () => this.#layOut()),
      state.on("heat", () => this.#heated()),
    ];
    void this.#load(pane.top, pane.top === 0 && !state.restoring);
  }

  /** @param {Pane} pane */
  update(pane) {
    const before = this.pane;
    this.pane = pane;
    if (pane.stage !== before.stage) void this.#load(pane.top, !this.app.state.restoring, pane.top === before.top);
    else if (pane.call !== before.call || pane.wrap !== before.wrap) this.#layOut();
    else if (pane.top !== before.top && this.#text && pane.top !== this.window.visible().first)
      this.window.scrollTo(pane.top);
  }

  /**
   * @param {number} top the line to begin with
   * @param {boolean} follow whether pinned lines are brought into view
   * @param {boolean} hold whether lines that stay keep their place in the view
   */
  async #load(top, follow = false, hold = false) {
    const { stage } = this.pane;
    const from = performance.now();
    let motion = null;
    this.#loading = stage;
    this.message.textContent = stage < 0 ? "The session has no text of this level." : "";
    try {
      const text = stage < 0 ? null : await this.app.model.stage(stage);
      if (this.#loading !== stage) return;
      if (follow && text && this.#text)
        motion = morph(this.window, this.app.model.document, this.#loaded, this.#text, stage, text);
      this.#text = text;
    } catch (error) {
      if (this.#loading !== stage) return;
      this.#text = null;
      this.message.textContent = error instanceof Error ? error.message : String(error);
    }
    this.#loaded = stage;
    this.point.line = -1;
    mark(this.grid, "aria-rowcount", String(this.#text?.lines.length ?? 0));
    mark(this.grid, "aria-label", stage < 0 ? "empty" : this.app.model.stageRow(stage).name);
    this.#layOut(top);
    this.find.again();
    if (hold) motion?.place(this.app.state.get("pins").some(Boolean));
    if (follow) this.#toPinned();
    if (this.#wanted >= 0) this.reveal(this.#wanted);
    this.#wanted = -1;
    motion?.play();
    note("pane", from);
  }

  /** @param {number} [top] the line to begin with, where it is another than now */
  #layOut(top) {
    const lines = this.#text?.lines ?? [];
    const keep = top ?? (this.window.geometry.rows ? this.window.visible().first : 0);
    this.#lit.link(this.app, this.pane, this.#text);
    const { state } = this.app;
    const filtered = state.get("filter") && state.get("pins").some(Boolean);
    if (filtered) this.fold.clear();
    const order = filtered ? this.#lit.pinned() : this.fold.order(this.app.model, this.pane.stage, this.#text);
    const wrapAt = (this.#wrapAt = this.pane.wrap ? columnsOf(this.grid) : 0);
    this.#unitsOf = wrapAt ? (line) => Math.max(1, Math.ceil((lines[line]?.length ?? 0) / wrapAt)) : null;
    const longest = lines.reduce((most, line) => Math.max(most, line.length), 0);
    this.window.reset(new Geometry(lines.length, order, this.#unitsOf), wrapAt || Math.min(longest, LONGEST));
    mark(this.grid, "data-heat", this.#lit.heat ? this.app.state.get("heat") : null);
    this.grid.style.setProperty("--digits", String(Math.max(2, String(lines.length).length)));
    mark(this.grid, "data-wrap", wrapAt ? "" : null);
    this.edges.say(filtered && order ? `${order.length} of ${count(lines.length, "line")}` : "");
    this.window.scrollTo(keep);
    this.redress();
  }

  #hovered() {
    if (!this.#text) return;
    this.#lit.hover(this.app, this.pane);
    this.redress();
  }

  #pinned() {
    if (this.app.state.get("filter")) this.#layOut();
    else this.#lit.link(this.app, this.pane, this.#text);
    this.redress();
    this.#toPinned();
  }

  #heated() {
    this.#lit.link(this.app, this.pane, this.#text);
    mark(this.grid, "data-heat", this.#lit.heat ? this.app.state.get("heat") : null);
    this.window.clear();
    this.window.draw();
  }

  /** Bring the line that the newest pin leads to into view. */
  #toPinned() {
    const line = this.app.state.restoring ? -1 : this.#pinnedLine();
    if (line >= 0) this.unfold(line);
    if (line >= 0) this.window.reveal(line);
  }

  #pinnedLine() {
    const pin = this.app.newest();
    return pin && this.#text ? lineOf(this.app.model, pin, this.pane.stage, this.pane.call) : -1;
  }

  redress() {
    this.window.redress();
    this.edges.update(this.#lit.edges(), this.window.visible());
    this.ruler.update(this.#text?.lines.length ?? 0, this.#lit.pins, this.find.hits);
  }

  #moved() {
    this.redress();
    clearTimeout(this.#saving);
    this.#saving = setTimeout(() => {
      const { first } = this.window.visible();
      if (this.#text && first !== this.pane.top) this.app.setPane(this.pane.id, { top: first });
    }, 120);
  }

  /** What was in view of the pin stays there. @param {{first: number, last: number} | null} before */
  #resized(before) {
    const line = this.#pinnedLine();
    if (before && line >= before.first && line <= before.last) this.window.reveal(line);
    if (this.#text && this.pane.wrap && columnsOf(this.grid) !== this.#wrapAt) this.#layOut();
    this.ruler.resize();
    this.redress();
  }

  /** @param {HTMLElement} row @param {number} line */
  #show(row, line) {
    if (!this.#text) return;
    const facts = lineFacts(this.app.model, this.pane, this.#text, this.#lit.heat, line);
    showLine(row, { ...facts, ...this.fold.facts(line), units: this.#unitsOf?.(line) ?? 1 });
  }

  focus = () => this.grid.focus({ preventScroll: true });

  /** @param {number} line */
  reveal(line) {
    if (!this.#text || this.#loaded !== this.pane.stage) {
      this.#wanted = line;
      return;
    }
    this.unfold(line);
    this.window.reveal(line);
    this.point.put(line);
  }

  cursor = () => this.point.mark();

  /** Open the fold that a line is in; returns whether it was in one. @param {number} line */
  unfold(line) {
    if (!this.fold.has(line)) return false;
    this.fold.open = true;
    this.#layOut();
    return true;
  }

  /** @param {0 | 1 | -1} step */
  search(step) {
    const line = step === 0 ? -1 : this.find.next(this.point.line, step);
    if (step === 0) this.find.open();
    else if (line >= 0) this.reveal(line);
  }

  destroy() {
    for (const off of this.#off) off();
    clearTimeout(this.#saving);
    this.window.destroy();
    this.element.remove();
  }
}
