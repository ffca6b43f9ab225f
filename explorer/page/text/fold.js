// Constants of relay as one row: `142 constants`, which a click opens.

import { opName } from "whence/words";

/** @typedef {import("whence/types").StageText} StageText */

/** The fewest constants that are folded. */
const FEWEST = 3;

export class Fold {
  open = false;
  /** The line that stands for all constants; -1 where none are folded. */
  #first = -1;
  /** @type {Set<number>} */
  #folded = new Set();

  /**
   * Return the lines to show, ascending; null for all.
   * @param {import("whence/session").SessionModel} model
   * @param {number} stage
   * @param {StageText | null} text
   */
  order(model, stage, text) {
    const { name } = model.document.ops;
    const relay = text !== null && stage >= 0 && model.stageRow(stage).level === "relay" && !this.open;
    // One that a pass lost is to be seen.
    const known = (/** @type {number} */ line) => text?.set[line] !== 0 && model.losers(model.layersOfLine(stage, line)).length === 0;
    const isConstant = (/** @type {number} */ line) => opName(name[text?.op[line] ?? -1] ?? "") === "constant" && known(line);
    const constants = relay ? [...text.op.keys()].filter(isConstant) : [];
    this.#folded = new Set(constants.length < FEWEST ? [] : constants);
    this.#first = this.#folded.size > 0 ? (constants[0] ?? -1) : -1;
    if (!text || this.#folded.size === 0) return null;
    return Int32Array.from([...text.op.keys()].filter((line) => line === this.#first || !this.#folded.has(line)));
  }

  /** Show no row for all constants: what is shown is chosen otherwise. */
  clear() {
    this.#first = -1;
    this.#folded.clear();
  }

  /** Whether a line is in the fold. @param {number} line */
  has(line) {
    return this.#folded.has(line);
  }

  /** What the row of all constants shows; nothing for another line. @param {number} line */
  facts(line) {
    return line === this.#first && line >= 0 ? { text: `▸ ${this.#folded.size} constants`, layers: [], output: "", lost: "", heat: null } : {};
  }
}
