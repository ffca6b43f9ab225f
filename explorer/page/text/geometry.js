// Positions of the rows of a text pane: which lines are in view, however tall the text is.

export const ROW = 18;
/** Browsers give up beyond some 30 million pixels; above this height the scroll position is a share. */
const TALLEST = 8_000_000;

export class Geometry {
  /** Row -> line, for a text of which some lines are shown only. @type {Int32Array | null} */
  #order;
  /** Row -> the first of its units, and the end; each unit is as tall as a line that is not wrapped. @type {Int32Array | null} */
  #starts;

  /**
   * @param {number} lines
   * @param {Int32Array | null} order ascending lines, or null for all
   * @param {((line: number) => number) | null} unitsOf how many units a line takes, or null for one
   */
  constructor(lines, order, unitsOf) {
    this.#order = order;
    this.rows = order ? order.length : lines;
    this.#starts = unitsOf && new Int32Array(this.rows + 1);
    if (unitsOf && this.#starts) {
      let end = 0;
      for (let row = 0; row < this.rows; row++) {
        this.#starts[row] = end;
        end += unitsOf(this.line(row));
      }
      this.#starts[this.rows] = end;
    }
    this.units = this.#starts?.[this.rows] ?? this.rows;
    this.height = Math.min(this.units * ROW, TALLEST);
  }

  /** @param {number} row */
  line(row) {
    return this.#order ? (this.#order[row] ?? -1) : row;
  }

  /**
   * The row of a line, or of the next one that is shown.
   * @param {number} line
   */
  row(line) {
    return this.#order ? lowerBound(this.#order, line) : Math.min(line, this.rows - 1);
  }

  /** @param {number} row */
  unit(row) {
    return this.#starts?.[row] ?? row;
  }

  /**
   * The row that a unit belongs to.
   * @param {number} unit
   */
  rowAt(unit) {
    const whole = Math.max(0, Math.min(Math.floor(unit), this.units - 1));
    if (!this.#starts) return whole;
    const row = lowerBound(this.#starts, whole);
    return this.#starts[row] === whole ? row : row - 1;
  }

  /**
   * The unit at the top of the view, with a fraction.
   * @param {number} scrollTop
   * @param {number} view height of the view in pixels
   */
  firstUnit(scrollTop, view) {
    return (scrollTop / ROW) * this.#scale(view);
  }

  /**
   * The scroll position that has a unit at the top.
   * @param {number} unit
   * @param {number} view
   */
  scrollTop(unit, view) {
    return Math.max(0, (unit * ROW) / this.#scale(view));
  }

  /** @param {number} view */
  #scale(view) {
    const whole = this.units * ROW;
    return whole > this.height ? (whole - view) / (this.height - view) : 1;
  }
}

/** @param {Int32Array} list ascending @param {number} value */
function lowerBound(list, value) {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (/** @type {number} */ (list[middle]) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}
