// Links between lines and layers, as columns: which lines of a stage a mark lights up.

/** @typedef {import("whence/types").Columns} Columns */
/** @typedef {import("whence/types").Mark} Mark */
/** @typedef {import("whence/session").SessionModel} SessionModel */
/** @typedef {{offsets: Int32Array, items: Int32Array}} Index */

/**
 * Return an index of a column: value -> its positions, `items[offsets[value]]` up to `items[offsets[value + 1]]`.
 * @param {Int32Array} column values from -1
 * @returns {Index}
 */
export function columnIndex(column) {
  let size = 0;
  for (const value of column) if (value >= size) size = value + 1;
  const offsets = new Int32Array(size + 1);
  for (const value of column) if (value >= 0) offsets[value + 1] = (offsets[value + 1] ?? 0) + 1;
  for (let value = 0; value < size; value++) offsets[value + 1] = (offsets[value + 1] ?? 0) + (offsets[value] ?? 0);
  const items = new Int32Array(offsets[size] ?? 0);
  const next = offsets.slice();
  column.forEach((value, position) => {
    if (value < 0) return;
    const at = next[value] ?? 0;
    items[at] = position;
    next[value] = at + 1;
  });
  return { offsets, items };
}

/**
 * Return an index of lists: item -> the numbers of the lists that have it.
 * @param {readonly (readonly number[])[]} lists of items from 0 to `size`
 * @param {number} size
 * @returns {Index}
 */
export function rowIndex(lists, size) {
  const offsets = new Int32Array(size + 1);
  for (const list of lists) for (const item of list) offsets[item + 1] = (offsets[item + 1] ?? 0) + 1;
  for (let item = 0; item < size; item++) offsets[item + 1] = (offsets[item + 1] ?? 0) + (offsets[item] ?? 0);
  const items = new Int32Array(offsets[size] ?? 0);
  const next = offsets.slice();
  lists.forEach((list, number) => {
    for (const item of list) {
      const at = next[item] ?? 0;
      items[at] = number;
      next[item] = at + 1;
    }
  });
  return { offsets, items };
}

export class StageLinks {
  /** @type {Index | null} */
  #bySet = null;
  /** @type {Index | null} */
  #byTir = null;

  /** @param {Columns} columns */
  constructor(columns) {
    this.columns = columns;
  }

  bySet() {
    this.#bySet ??= columnIndex(this.columns.set);
    return this.#bySet;
  }

  byTir() {
    this.#byTir ??= columnIndex(this.columns.tir);
    return this.#byTir;
  }
}

/** Lines that are lit up: those whose value of a column is marked. Lines count from 0. */
export class Kin {
  /** @type {Int32Array[]} */
  #lists;

  /** @param {Int32Array[]} lists ascending, without common lines @param {(line: number) => boolean} has */
  constructor(lists, has) {
    this.#lists = lists.filter((list) => list.length > 0);
    this.has = has;
    this.size = this.#lists.reduce((sum, list) => sum + list.length, 0);
  }

  /**
   * Return how many of the lines come before a line.
   * @param {number} line
   */
  before(line) {
    return this.#lists.reduce((sum, list) => sum + firstNotBelow(list, line), 0);
  }

  /**
   * Return the nearest of the lines after `line` (step 1) or before it (step -1); -1 for none.
   * @param {number} line
   * @param {1 | -1} step
   */
  next(line, step) {
    let best = -1;
    for (const list of this.#lists) {
      const candidate = step === 1 ? list[firstNotBelow(list, line + 1)] : list[firstNotBelow(list, line) - 1];
      if (candidate !== undefined && (best < 0 || (candidate - best) * step < 0)) best = candidate;
    }
    return best;
  }

  /** @returns {Int32Array} all lines, ascending */
  lines() {
    const all = new Int32Array(this.size);
    let end = 0;
    for (const list of this.#lists) {
      all.set(list, end);
      end += list.length;
    }
    return all.sort();
  }
}

export const NO_KIN = new Kin([], () => false);

/** @param {Int32Array} list ascending @param {number} line */
function firstNotBelow(list, line) {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (/** @type {number} */ (list[middle]) < line) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * Return the lines of a stage that a mark lights up: by line of tir within the kernel where it was set, else by layer.
 * @param {SessionModel} model
 * @param {Mark | null} mark
 * @param {number} stage whose columns are there
 * @param {number} call
 * @returns {Kin}
 */
export function kin(model, mark, stage, call) {
  const links = model.links(stage);
  if (!mark || !links) return NO_KIN;
  const { at, lines } = mark;
  const own = lines?.get(stage);
  if (own) {
    const all = new Set(own);
    return new Kin([own], (line) => all.has(line));
  }
  if (lines && elsewhere(model, lines, stage)) return NO_KIN;
  if (
    at &&
    at.tir > 0 &&
    model.stageRow(at.stage).kernel === model.stageRow(stage).kernel &&
    model.hasTirLines(stage)
  ) {
    return tirKin(links, at.tir, model.isLastTir(stage));
  }
  if (mark.rows.length === 0) {
    if (!at || at.stage !== stage) return NO_KIN;
    return new Kin([Int32Array.of(at.line)], (line) => line === at.line);
  }
  return valueKin(links.bySet(), links.columns.set, model.valuesMeeting(stage, mark.rows, call));
}

/**
 * Return whether lines of other kernels are marked at the level of a stage, and none of its own kernel.
 * @param {SessionModel} model
 * @param {Map<number, Int32Array>} lines
 * @param {number} stage
 */
function elsewhere(model, lines, stage) {
  const { level, kernel } = model.stageRow(stage);
  const rows = [...lines.keys()].map((k) => model.stageRow(k)).filter((row) => row.level === level);
  return rows.length > 0 && rows.every((row) => row.kernel !== kernel);
}

/** @param {StageLinks} links @param {number} tir @param {boolean} itself */
function tirKin(links, tir, itself) {
  if (itself) return new Kin([Int32Array.of(tir - 1)], (line) => line === tir - 1);
  return valueKin(links.byTir(), links.columns.tir, [tir]);
}

/** @param {Index} index @param {Int32Array} column @param {number[]} values */
function valueKin({ offsets, items }, column, values) {
  const size = offsets.length - 1;
  const marked = new Uint8Array(size);
  const lists = [];
  for (const value of values) {
    if (value >= size) continue;
    marked[value] = 1;
    lists.push(items.subarray(offsets[value], offsets[value + 1]));
  }
  return new Kin(lists, (line) => {
    const value = column[line] ?? -1;
    return value >= 0 && marked[value] === 1;
  });
}
