// The ruler beside a text: where its pinned lines and hits are, over the whole length.

import { h } from "whence/dom";

/** @typedef {import("whence/links").Kin} Kin */

const WIDTH = 10;
const NAMES = ["--pin-a", "--pin-b", "--hit"];

export class Ruler {
  #told = "";
  #size = 0;
  #frame = 0;

  /** @param {(line: number) => void} go */
  constructor(go) {
    this.element = h("canvas", {
      class: "ruler",
      width: WIDTH,
      "aria-hidden": true,
      onclick: (/** @type {MouseEvent} */ event) =>
        go(Math.floor((event.offsetY / this.element.clientHeight) * this.#size)),
    });
  }

  /** Draw again at the next update. */
  resize() {
    this.#told = "";
  }

  /** @param {number} size the number of lines @param {Kin[]} pins @param {Int32Array} hits */
  update(size, pins, hits) {
    const told = JSON.stringify([
      size,
      pins.map((pin) => [pin.size, pin.next(-1, 1), pin.next(size, -1)]),
      hits.length,
      hits[0] ?? -1,
    ]);
    if (told === this.#told) return;
    this.#told = told;
    this.#size = size;
    // Sizes are asked for when all has been laid out anyway.
    cancelAnimationFrame(this.#frame);
    this.#frame = requestAnimationFrame(() => this.#draw(size, pins, hits));
  }

  /** @param {number} size @param {Kin[]} pins @param {Int32Array} hits */
  #draw(size, pins, hits) {
    const { element } = this;
    if (element.height !== element.clientHeight) element.height = element.clientHeight;
    const context = element.getContext("2d");
    if (!context || size === 0) return;
    context.clearRect(0, 0, WIDTH, element.height);
    const style = getComputedStyle(element);
    [...pins.map((pin) => pin.lines()), hits].forEach((lines, kind) => {
      context.fillStyle = style.getPropertyValue(NAMES[kind] ?? "");
      const left = kind < 2 ? kind * (WIDTH / 2) : 0;
      let last = -2;
      for (const line of lines) {
        const top = Math.floor((line / size) * element.height);
        if (top === last) continue;
        last = top;
        context.fillRect(left, top, kind < 2 ? WIDTH / 2 : WIDTH, 2);
      }
    });
  }
}
