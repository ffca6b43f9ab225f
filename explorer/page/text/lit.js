// What is lit up in a text pane: the lines of the pins and of the hover, and the heat.

import { heatOfLines } from "whence/heat";
import { NO_KIN, kin } from "whence/links";

/** @typedef {import("whence/links").Kin} Kin */
/** @typedef {import("whence/types").App} App */
/** @typedef {import("whence/types").Pane} Pane */
/** @typedef {import("whence/types").StageText} StageText */

const LETTERS = /** @type {const} */ (["A", "B"]);

export class Lit {
  /** @type {Kin[]} */
  pins = [NO_KIN, NO_KIN];
  hovered = NO_KIN;
  /** @type {import("whence/heat").LineHeat | null} */
  heat = null;

  /**
   * Look up what state and stage light up.
   * @param {App} app
   * @param {Pane} pane
   * @param {StageText | null} text
   */
  link(app, pane, text) {
    const { state, model } = app;
    this.pins = state.get("pins").map((pin) => (text ? kin(model, pin, pane.stage, pane.call) : NO_KIN));
    this.hovered = NO_KIN;
    if (text) this.hover(app, pane);
    this.heat = text ? heatOfLines(model, state.get("heat"), pane.stage, pane.call) : null;
  }

  /**
   * Look up what the hover lights up.
   * @param {App} app
   * @param {Pane} pane
   */
  hover({ model, state }, pane) {
    this.hovered = kin(model, state.get("hover"), pane.stage, pane.call);
  }

  /** All pinned lines, ascending. */
  pinned() {
    return Int32Array.from(new Set(this.pins.flatMap((pin) => [...pin.lines()]))).sort();
  }

  /** @param {number} line */
  marks(line) {
    const letters = LETTERS.filter((_, slot) => this.pins[slot]?.has(line)).join("");
    return { kin: this.hovered.has(line), pin: /** @type {"" | "A" | "B" | "AB"} */ (letters) };
  }

  /** @returns {import("whence/text/edges").Lit[]} what the edges count: the pins, else the hover */
  edges() {
    if (this.pins.every((pin) => pin.size === 0)) return [{ letter: "", kin: this.hovered }];
    return this.pins.map((pin, slot) => ({ letter: LETTERS[slot] ?? "", kin: pin }));
  }
}
