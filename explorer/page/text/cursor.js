// Pointer and keys in a text pane: hover, pins, and the cursor that keys move.

import { mark } from "whence/dom";
import { ROW } from "whence/text/geometry";
import { lineAt } from "whence/text/facts";

/** @typedef {import("whence/types").Slot} Slot */

export class Cursor {
  line = -1;

  /** @param {import("whence/text/pane").TextPane} owner */
  constructor(owner) {
    this.owner = owner;
    const { grid, app } = owner;
    grid.addEventListener("pointerover", (event) => this.#over(event));
    grid.addEventListener("pointerleave", () => app.hover(null));
    grid.addEventListener("mousedown", (event) => {
      // Shift+click pins: it does not select text.
      if (event.shiftKey) event.preventDefault();
    });
    grid.addEventListener("click", (event) => this.#click(event));
    grid.addEventListener("keydown", (event) => this.#key(event));
  }

  /** What the cursor stands on; null for no line. @returns {import("whence/types").Mark | null} */
  mark() {
    if (this.line < 0) return null;
    const { app, pane } = this.owner;
    const rows = app.model.layersOfLine(pane.stage, this.line, pane.call);
    return { rows, label: app.model.label(rows), at: lineAt(app.model, pane, this.line) };
  }

  /**
   * Put the cursor on a line that is in view.
   * @param {number} line
   */
  put(line) {
    this.line = line;
    this.owner.redress();
    const row = this.owner.window.rowOf(line);
    if (row) row.id = `pane-${this.owner.pane.id}-row-${line}`;
    mark(this.owner.grid, "aria-activedescendant", row ? row.id : null);
  }

  /** @param {Slot} slot */
  pin(slot) {
    const point = this.mark();
    if (!point) return;
    const { app } = this.owner;
    if (point.rows.length > 0 || this.#hasOp(this.line)) app.pin(point.rows, slot, point.at);
    else app.announce("This line serves no layer.");
  }

  /** @param {number} line */
  #hasOp(line) {
    const { app, pane } = this.owner;
    return (app.model.links(pane.stage)?.columns.set[line] ?? -1) >= 0;
  }

  /** @param {Event} event */
  #over(event) {
    const line = lineOf(event);
    const { app, pane } = this.owner;
    if (!this.#hasOp(line)) app.hover(null);
    else app.hover(app.model.layersOfLine(pane.stage, line, pane.call), lineAt(app.model, pane, line));
  }

  /** @param {MouseEvent} event */
  #click(event) {
    const line = lineOf(event);
    if (line < 0) return;
    // Text that a person selects is to be copied, not pinned.
    if (!event.shiftKey && getSelection()?.toString()) return;
    if (this.owner.unfold(line)) return;
    this.put(line);
    this.pin(event.shiftKey ? 1 : 0);
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Enter") {
      if (!this.owner.unfold(this.line)) this.pin(event.shiftKey ? 1 : 0);
    } else {
      const { geometry, height } = this.owner.window;
      const page = Math.max(1, Math.floor(height / ROW) - 2);
      /** @type {{[key: string]: number}} */
      const steps = { ArrowUp: -1, ArrowDown: 1, PageUp: -page, PageDown: page, Home: -Infinity, End: Infinity };
      const step = steps[event.key];
      if (step === undefined) return;
      const from =
        this.line < 0 ? geometry.row(this.owner.window.visible().first) - Math.sign(step) : geometry.row(this.line);
      const line = geometry.line(Math.max(0, Math.min(geometry.rows - 1, from + step)));
      if (line < 0) return;
      this.owner.window.keep(line);
      this.put(line);
      const point = this.mark();
      this.owner.app.hover(point?.rows ?? null, point?.at);
    }
    event.preventDefault();
  }
}

/** @param {Event} event */
function lineOf(event) {
  const row = event.target instanceof Element ? event.target.closest("[data-row]") : null;
  return row instanceof HTMLElement ? Number(row.dataset["row"]) : -1;
}
