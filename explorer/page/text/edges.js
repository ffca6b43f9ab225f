// "3 above, 12 below": how many lines of a mark are out of view, as buttons that go to them.

import { fill, h } from "whence/dom";

/** @typedef {import("whence/links").Kin} Kin */
/** @typedef {{letter: "" | "A" | "B", kin: Kin}} Lit */

export class Edges {
  /** @param {(line: number) => void} go */
  constructor(go) {
    this.go = go;
    this.above = h("span", { class: "edge" });
    this.shown = h("span", { class: "dim", "data-test": "filtered" });
    this.below = h("span", { class: "edge" });
    this.element = h("footer", { class: "edges" }, this.above, this.shown, this.below);
    this.told = "";
  }

  /** @param {Lit[]} lit @param {{first: number, last: number}} view */
  update(lit, { first, last }) {
    const counts = lit.map(({ letter, kin }) => {
      const above = kin.before(first);
      return { letter, kin, above, below: kin.size - kin.before(last + 1) };
    });
    const told = JSON.stringify([first, last, counts.map(({ letter, above, below }) => [letter, above, below])]);
    if (told === this.told) return;
    this.told = told;
    fill(
      this.above,
      ...counts.map(({ letter, kin, above }) => above > 0 && this.#button("above", letter, above, kin.next(first, -1))),
    );
    fill(
      this.below,
      ...counts.map(({ letter, kin, below }) => below > 0 && this.#button("below", letter, below, kin.next(last, 1))),
    );
  }

  /** @param {string} text that says how many lines are shown of all */
  say(text) {
    this.shown.textContent = text;
  }

  /** @param {"above" | "below"} side @param {string} letter @param {number} count @param {number} line */
  #button(side, letter, count, line) {
    const arrow = side === "above" ? "▲" : "▼";
    const name = letter ? `${letter}: ${count} ${side}` : `${count} ${side}`;
    return h(
      "button",
      {
        type: "button",
        "data-test": side,
        "data-letter": letter || null,
        title: `Go to the nearest line ${side}`,
        onclick: () => this.go(line),
      },
      `${arrow} ${name}`,
    );
  }
}
