// The window of a text pane: some sixty rows that move along with the scroll position over any number of lines.

import { h } from "whence/dom";
import { reveal } from "whence/navigate";
import { Geometry, ROW } from "whence/text/geometry";
import { newRow } from "whence/text/row";

const OVERSCAN = 6;

export class TextWindow {
  /** Line -> the element that shows it. @type {Map<number, HTMLElement>} */
  #shown = new Map();
  /** @type {HTMLElement[]} */
  #free = [];
  #observer;
  #height = 0;
  #frame = 0;
  /** The scroll position; asking the element for it would lay everything out. */
  #top = 0;
  #left = 0;

  /**
   * @param {{create?: () => HTMLElement, show: (row: HTMLElement, line: number) => void, dress: (row: HTMLElement, line: number) => void, moved: () => void, resized: (before: {first: number, last: number} | null) => void}} owner
   *   `create` makes an empty row where it is none of a text, `show` fills a row, `dress` puts its marks on, `moved` hears of scrolling, `resized` of another size, and which lines were in view.
   * @param {import("whence/dom").Attributes} attributes of the grid, which scrolls itself: keys reach it, and rows are all that it owns
   */
  constructor(owner, attributes) {
    this.owner = owner;
    this.geometry = new Geometry(0, null, null);
    this.rows = h("div", { class: "rows", role: "presentation" });
    this.whole = h("div", { class: "whole", role: "presentation" }, this.rows);
    this.element = h(
      "div",
      { ...attributes, class: `scroller ${attributes["class"]}`, role: "grid", tabindex: 0, onscroll: () => this.#later() },
      this.whole,
    );
    this.#observer = new ResizeObserver(() => {
      const before = this.#height ? this.visible() : null;
      this.#height = this.element.clientHeight;
      this.rows.style.width = `${this.element.clientWidth}px`;
      this.owner.resized(before);
      this.draw();
    });
    this.#observer.observe(this.element);
  }

  /**
   * Take other lines, and keep none of the rows.
   * @param {Geometry} geometry
   * @param {number} characters of the longest line
   */
  reset(geometry, characters) {
    this.geometry = geometry;
    this.whole.style.height = `${geometry.height}px`;
    this.whole.style.setProperty("--characters", String(characters));
    this.clear();
  }

  /** Forget what rows show; the next `draw` fills them again. */
  clear() {
    for (const row of this.#shown.values()) row.remove();
    this.#free.push(...this.#shown.values());
    this.#shown.clear();
  }

  /** Pixels of height. */
  get height() {
    if (!this.#height) this.#height = this.element.clientHeight;
    return this.#height;
  }

  #later() {
    if (this.#frame) return;
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      this.#top = this.element.scrollTop;
      this.#left = this.element.scrollLeft;
      this.draw();
      this.owner.moved();
    });
  }

  /** Fill and place the rows that are in view. */
  draw() {
    const { geometry } = this;
    const scrollTop = this.#top;
    const unit = geometry.firstUnit(scrollTop, this.height);
    const first = Math.max(0, geometry.rowAt(unit) - OVERSCAN);
    const last = Math.min(geometry.rows - 1, geometry.rowAt(unit + this.height / ROW) + OVERSCAN);
    const wanted = new Set();
    for (let row = first; row <= last; row++) wanted.add(geometry.line(row));
    for (const [line, element] of this.#shown) {
      if (wanted.has(line)) continue;
      this.#shown.delete(line);
      this.#free.push(element);
    }
    for (let row = first; row <= last; row++) {
      const line = geometry.line(row);
      let element = this.#shown.get(line);
      if (!element) {
        element = this.#free.pop() ?? (this.owner.create ?? newRow)();
        this.owner.show(element, line);
        this.owner.dress(element, line);
        this.#shown.set(line, element);
      }
      element.style.top = `${scrollTop + (geometry.unit(row) - unit) * ROW}px`;
      if (!element.isConnected) this.rows.append(element);
    }
    for (const element of this.#free) element.remove();
    this.rows.style.setProperty("--left", `${this.#left}px`);
  }

  /** Put the marks of all rows on again. */
  redress() {
    for (const [line, element] of this.#shown) this.owner.dress(element, line);
  }

  /** Lines that have a row, and those. @returns {[number, HTMLElement][]} */
  shown() {
    return [...this.#shown];
  }

  /**
   * The pixels from the top of the view down to a line; negative above it.
   * @param {number} line
   */
  down(line) {
    const { geometry } = this;
    return (geometry.unit(geometry.row(line)) - geometry.firstUnit(this.#top, this.height)) * ROW;
  }

  /**
   * Put a row that is none of the text so many pixels below the top of the view.
   * @param {HTMLElement} row
   * @param {number} down
   */
  add(row, down) {
    row.style.top = `${this.#top + down}px`;
    this.rows.append(row);
  }

  /**
   * The element of a line that is in view.
   * @param {number} line
   */
  rowOf(line) {
    return this.#shown.get(line);
  }

  /** The first and the last line that are fully in view. */
  visible() {
    const { geometry } = this;
    const unit = geometry.firstUnit(this.#top, this.height);
    const first = geometry.rowAt(unit + 0.5);
    const last = Math.max(first, geometry.rowAt(unit + this.height / ROW - 0.5));
    return { first: geometry.line(first), last: geometry.line(Math.min(last, geometry.rows - 1)) };
  }

  /**
   * Scroll so that a line is at the top, or, where `share` says so, lower in the view.
   * @param {number} line
   * @param {number} share 0 for the top, 0.5 for the middle
   */
  scrollTo(line, share = 0) {
    const { geometry } = this;
    this.#scrollTo(Math.max(0, geometry.unit(geometry.row(line)) - Math.floor((share * this.height) / ROW)));
  }

  /**
   * Bring a line into view where it is not wholly there, with some others around it.
   * @param {number} line
   */
  reveal(line) {
    const { geometry } = this;
    const row = geometry.row(line);
    const unit = geometry.unit(row);
    const begin = geometry.firstUnit(this.#top, this.height);
    const start = reveal([unit, unit + Math.max(1, geometry.unit(row + 1) - unit)], [begin, this.height / ROW]);
    if (start !== begin) this.#scrollTo(Math.max(0, Math.round(start)));
  }

  /** @param {number} unit */
  #scrollTo(unit) {
    const { geometry } = this;
    this.#top = Math.min(geometry.scrollTop(unit, this.height), Math.max(0, geometry.height - this.height));
    this.element.scrollTop = this.#top;
    this.draw();
  }

  /**
   * Scroll only as far as needed to have a line in view.
   * @param {number} line
   */
  keep(line) {
    const { first, last } = this.visible();
    if (line < first) this.scrollTo(line);
    else if (line > last) this.scrollTo(line, 1 - ROW / Math.max(this.height, ROW) - 0.001);
  }

  destroy() {
    this.#observer.disconnect();
    cancelAnimationFrame(this.#frame);
  }
}
