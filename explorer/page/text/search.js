// Search in a text pane: the lines that have a text, and a field to type it in.

import { h } from "whence/dom";

export class Search {
  /** @type {Int32Array} */
  hits = new Int32Array(0);
  /** @type {Set<number>} */
  #set = new Set();
  text = "";

  /** @param {{lines: () => readonly string[], changed: () => void, step: (direction: 1 | -1) => void, leave: () => void}} owner */
  constructor(owner) {
    this.owner = owner;
    this.count = h("span", { class: "count", role: "status" });
    this.input = h("input", {
      type: "search",
      "aria-label": "Search in this pane",
      placeholder: "search",
      "data-test": "search",
      oninput: () => this.#type(),
      onkeydown: (/** @type {KeyboardEvent} */ event) => this.#key(event),
    });
    this.element = h(
      "div",
      { class: "find", hidden: true },
      this.input,
      this.count,
      this.#button("previous hit", "↑", -1),
      this.#button("next hit", "↓", 1),
    );
  }

  open() {
    this.element.hidden = false;
    this.input.focus();
    this.input.select();
  }

  close() {
    this.element.hidden = true;
    this.input.value = "";
    this.search("");
    this.owner.leave();
  }

  /** @param {number} line */
  has(line) {
    return this.#set.has(line);
  }

  /** Search the lines again, which are others now. */
  again() {
    this.search(this.text);
  }

  /**
   * Find the lines that have a text; capitals count only where the text has one.
   * @param {string} text
   */
  search(text) {
    this.text = text;
    const exact = text !== text.toLowerCase();
    const hits = [];
    if (text) {
      const lines = this.owner.lines();
      for (let line = 0; line < lines.length; line++) {
        const whole = lines[line] ?? "";
        if ((exact ? whole : whole.toLowerCase()).includes(text)) hits.push(line);
      }
    }
    this.hits = Int32Array.from(hits);
    this.#set = new Set(hits);
    this.count.textContent = text ? `${hits.length} ${hits.length === 1 ? "line" : "lines"}` : "";
    this.owner.changed();
  }

  /**
   * The hit after a line (1) or before it (-1), around the end; -1 without any.
   * @param {number} line
   * @param {1 | -1} direction
   */
  next(line, direction) {
    const { hits } = this;
    if (hits.length === 0) return -1;
    if (direction === 1) return hits.find((hit) => hit > line) ?? hits[0] ?? -1;
    return hits.findLast((hit) => hit < line) ?? hits.at(-1) ?? -1;
  }

  /** @param {string} title @param {string} sign @param {1 | -1} direction */
  #button(title, sign, direction) {
    return h("button", { type: "button", title, "aria-label": title, onclick: () => this.owner.step(direction) }, sign);
  }

  #type() {
    this.search(this.input.value);
    this.owner.step(1);
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.key === "Enter") this.owner.step(event.shiftKey ? -1 : 1);
    else if (event.key === "Escape") this.close();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}
