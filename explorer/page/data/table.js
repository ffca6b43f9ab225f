// A table whose rows stand for layers: sorted by its headers, pinned by click or Enter, lit up with their kin.

import { fill, h, mark } from "whence/dom";

/** @typedef {import("whence/types").App} App */
/** @typedef {import("whence/dom").Child} Child */

const MOST = 400;

/**
 * @template Row
 * @typedef {object} Column
 * @property {string} title
 * @property {(row: Row) => Child | Child[]} cell
 * @property {(row: Row) => number | string} [key] what rows are sorted by: numbers largest first
 * @property {boolean} [number] whether cells are numbers, which stand at the right
 * @property {string} [about] a longer title
 */

/**
 * @template Row
 * @typedef {object} About
 * @property {string} name what tests call it
 * @property {string} caption
 * @property {Column<Row>[]} columns
 * @property {readonly Row[]} rows in the order to begin with
 * @property {(row: Row) => readonly number[]} layers the layers that a row stands for
 * @property {(row: Row) => number} [call] the call that a row stands for
 * @property {(row: Row, slot: 0 | 1) => void} [pin] what a click does instead of pinning the layers
 * @property {(row: Row) => string} [kind] a class of a row, such as `departs`
 */

/** @template Row */
export class RowTable {
  /** The column that rows are sorted by, -1 for the order to begin with; and whether the other way round. */
  #sorted = -1;
  #turned = false;
  #all = false;
  /** @type {{row: Row, element: HTMLElement}[]} */
  #shown = [];
  #off;

  /**
   * @param {App} app
   * @param {About<Row>} about
   */
  constructor(app, about) {
    this.app = app;
    this.about = about;
    this.heads = about.columns.map((column, number) => this.#head(column, number));
    this.body = h("tbody", {
      onclick: (/** @type {MouseEvent} */ event) => this.#pin(event, event.shiftKey),
      onkeydown: (/** @type {KeyboardEvent} */ event) => this.#key(event),
      onpointerover: (/** @type {PointerEvent} */ event) => this.#hover(event),
      onpointerleave: () => app.hover(null),
      onfocusin: (/** @type {FocusEvent} */ event) => this.#hover(event),
    });
    this.more = h("button", { type: "button", class: "link", onclick: () => this.#showAll() });
    const table = h("table", { class: "data", role: "grid", "data-test": about.name }, h("caption", {}, about.caption), h("thead", {}, h("tr", {}, ...this.heads)), this.body);
    this.element = h("div", { class: "data-table" }, table, this.more);
    this.#off = app.state.on(["pins", "hover"], () => this.#light());
    this.#fill();
  }

  destroy() {
    this.#off();
  }

  /**
   * @param {Column<Row>} column
   * @param {number} number
   */
  #head({ title, key, number: isNumber, about }, number) {
    const content = key ? h("button", { type: "button", class: "link", title: about ?? `sort by ${title}`, onclick: () => this.#sort(number) }, title) : title;
    return h("th", { scope: "col", class: isNumber ? "number" : null, title: key ? null : about }, content);
  }

  /** @param {number} column */
  #sort(column) {
    this.#turned = this.#sorted === column && !this.#turned;
    this.#sorted = column;
    this.#fill();
  }

  #showAll() {
    this.#all = true;
    this.#fill();
  }

  /** @returns {readonly Row[]} */
  #rows() {
    const key = this.about.columns[this.#sorted]?.key;
    if (!key) return this.about.rows;
    const rows = [...this.about.rows].sort((a, b) => {
      const [first, second] = [key(a), key(b)];
      return typeof first === "number" && typeof second === "number" ? second - first : String(first).localeCompare(String(second));
    });
    return this.#turned ? rows.reverse() : rows;
  }

  #fill() {
    const rows = this.#rows();
    const visible = this.#all ? rows : rows.slice(0, MOST);
    const { columns, kind } = this.about;
    this.#shown = visible.map((row, number) => ({
      row,
      element: h(
        "tr",
        { role: "row", tabindex: number === 0 ? 0 : -1, class: kind?.(row) || null },
        ...columns.map(({ cell, number: isNumber }) => h("td", { class: isNumber ? "number" : null }, ...[cell(row)].flat())),
      ),
    }));
    fill(this.body, ...this.#shown.map(({ element }) => element));
    this.more.hidden = visible.length === rows.length;
    fill(this.more, `show all ${rows.length} rows`);
    this.heads.forEach((head, number) => {
      const isNumber = columns[number]?.number ?? false;
      mark(head, "aria-sort", number === this.#sorted ? (isNumber !== this.#turned ? "descending" : "ascending") : null);
    });
    this.#light();
  }

  /** @param {Event} event */
  #at(event) {
    const element = event.target instanceof Element ? event.target.closest("tr") : null;
    return this.#shown.findIndex((shown) => shown.element === element);
  }

  /**
   * @param {Event} event
   * @param {boolean} second
   */
  #pin(event, second) {
    const shown = this.#shown[this.#at(event)];
    if (shown && this.about.pin) return this.about.pin(shown.row, second ? 1 : 0);
    const layers = shown ? this.about.layers(shown.row) : [];
    if (!shown || layers.length === 0) return;
    if (this.about.call) this.app.pinCall(this.about.call(shown.row), second ? 1 : 0);
    else this.app.pin(layers, second ? 1 : 0);
  }

  /** @param {Event} event */
  #hover(event) {
    const shown = this.#shown[this.#at(event)];
    this.app.hover(shown ? this.about.layers(shown.row) : null);
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const at = this.#at(event);
    const last = this.#shown.length - 1;
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: last }[event.key];
    if (event.key === "Enter" || event.key === " ") this.#pin(event, event.shiftKey);
    else if (to === undefined) return;
    else this.#focus(Math.max(0, Math.min(last, to)));
    event.preventDefault();
    event.stopPropagation();
  }

  /** @param {number} number */
  #focus(number) {
    this.#shown.forEach(({ element }, other) => mark(element, "tabindex", other === number ? "0" : "-1"));
    this.#shown[number]?.element.focus();
  }

  /** Mark the rows of pinned layers, and of those under the pointer. */
  #light() {
    const { state } = this.app;
    const [a, b] = state.get("pins").map((pin) => new Set(pin?.rows));
    const kin = new Set(state.get("hover")?.rows);
    for (const { row, element } of this.#shown) {
      const layers = this.about.layers(row);
      const letters = (layers.some((layer) => a?.has(layer)) ? "A" : "") + (layers.some((layer) => b?.has(layer)) ? "B" : "");
      mark(element, "data-pin", letters || null);
      mark(element, "aria-selected", letters ? "true" : null);
      mark(element, "data-kin", layers.some((layer) => kin.has(layer)) ? "" : null);
    }
  }
}

const LONGEST_BAR = 12;

/**
 * Return a bar of a share, with its text behind it.
 * @param {number} share of the longest
 * @param {string} text
 * @param {{hue?: string, estimated?: boolean}} [look]
 */
export function bar(share, text, { hue = "", estimated = false } = {}) {
  const width = `${Math.max(0, Math.min(1, share)) * LONGEST_BAR}em`;
  return h("span", { class: "share-bar" }, h("span", { class: `fill ${hue}`, "data-estimated": estimated ? "" : null, style: { width } }), h("span", { class: "text" }, text));
}
