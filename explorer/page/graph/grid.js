// A grid over boxes: what stands in a rectangle, and what is under a point, without looking at everything.

/** @typedef {readonly [left: number, top: number, right: number, bottom: number]} Box */

const CELL = 512;
const MOST_CELLS_OF_A_BOX = 2000;

export class Grid {
  /** @type {Map<string, number[]>} */
  #cells = new Map();
  /** What covers so many cells that it is always looked at. @type {number[]} */
  #large = [];

  /** @param {number} k @param {Box} box */
  add(k, box) {
    if (cellsOf(box) > MOST_CELLS_OF_A_BOX) {
      this.#large.push(k);
      return;
    }
    for (const cell of covered(box)) {
      const list = this.#cells.get(cell);
      if (list) list.push(k);
      else this.#cells.set(cell, [k]);
    }
  }

  /**
   * Return what may touch a rectangle, each once and in order.
   * @param {Box} area
   * @returns {number[]}
   */
  near(area) {
    const hits = new Set(this.#large);
    if (cellsOf(area) > this.#cells.size) for (const list of this.#cells.values()) for (const k of list) hits.add(k);
    else for (const cell of covered(area)) for (const k of this.#cells.get(cell) ?? []) hits.add(k);
    return [...hits].sort((a, b) => a - b);
  }
}

/** @param {Box} box */
function cellsOf([left, top, right, bottom]) {
  return ((right - left) / CELL + 1) * ((bottom - top) / CELL + 1);
}

/** @param {Box} box */
function* covered([left, top, right, bottom]) {
  for (let row = Math.floor(top / CELL); row <= Math.floor(bottom / CELL); row++)
    for (let column = Math.floor(left / CELL); column <= Math.floor(right / CELL); column++) yield `${row},${column}`;
}
