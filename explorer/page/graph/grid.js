// A grid over boxes: what stands in a rectangle, and what is under a point, without looking at everything.

/** @typedef {readonly [left: number, top: number, right: number, bottom: number]} Box */

const CELL = 512;
const MOST_CELLS_OF_A_BOX = 2000;
const ROWS = 2 ** 22;

export class Grid {
  /** @type {Map<number, number[]>} */
  #cells = new Map();
  /** What covers so many cells that it is always looked at. @type {number[]} */
  #large = [];
  #count = 0;
  /** The number of the last question that met each. */
  #met = new Uint32Array(64);
  #question = 0;

  /** @param {number} k @param {number} left @param {number} top @param {number} right @param {number} bottom */
  add(k, left, top, right, bottom) {
    this.#count = Math.max(this.#count, k + 1);
    const [firstRow, lastRow] = [Math.floor(top / CELL), Math.floor(bottom / CELL)];
    const [first, last] = [Math.floor(left / CELL), Math.floor(right / CELL)];
    if ((lastRow - firstRow + 1) * (last - first + 1) > MOST_CELLS_OF_A_BOX) {
      this.#large.push(k);
      return;
    }
    for (let column = first; column <= last; column++)
      for (let row = firstRow; row <= lastRow; row++) {
        const list = this.#cells.get(column * ROWS + row);
        if (!list) this.#cells.set(column * ROWS + row, [k]);
        else if (list[list.length - 1] !== k) list.push(k);
      }
  }

  /**
   * Return what may touch a rectangle, each once and in order.
   * @param {Box} area
   * @returns {Int32Array}
   */
  near([left, top, right, bottom]) {
    if (this.#met.length < this.#count) this.#met = new Uint32Array(this.#count);
    const question = ++this.#question;
    const hits = new Int32Array(this.#count);
    let count = 0;
    const meet = (/** @type {number[]} */ list) => {
      for (const k of list) {
        if (this.#met[k] === question) continue;
        this.#met[k] = question;
        hits[count++] = k;
      }
    };
    meet(this.#large);
    const [firstRow, lastRow] = [Math.floor(top / CELL), Math.floor(bottom / CELL)];
    const [first, last] = [Math.floor(left / CELL), Math.floor(right / CELL)];
    if ((lastRow - firstRow + 1) * (last - first + 1) > this.#cells.size) for (const list of this.#cells.values()) meet(list);
    else
      for (let column = first; column <= last; column++)
        for (let row = firstRow; row <= lastRow; row++) meet(this.#cells.get(column * ROWS + row) ?? []);
    return hits.subarray(0, count).sort();
  }
}
