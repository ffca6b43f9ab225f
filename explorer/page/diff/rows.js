// The rows of a comparison: lines side by side, each with what became of its op, long stretches of the same folded.

import { align, compose } from "whence/diff/compose";

/** @typedef {import("whence/types").Stage} Stage */
/** @typedef {import("whence/diff/compose").Differences} Differences */
/** @typedef {import("whence/diff/compose").Text} Text */

/**
 * @typedef {object} Row
 * @property {import("whence/diff/compose").Kind | "fold"} kind
 * @property {number} left line, -1 for none
 * @property {number} right
 * @property {number} count of a fold: how many rows it hides
 */

const CONTEXT = 3;

/**
 * Return what differs, and all lines side by side.
 * @param {Stage[]} stages @param {number} from @param {number} to @param {Text} a @param {Text} b
 * @returns {{differences: Differences, related: boolean, rows: Row[]}}
 */
export function compared(stages, from, to, a, b) {
  const known = compose(stages, from, to);
  const differences = known ?? apart(a, b);
  const rows = align(a, b).map(({ left, right }) => ({ left, right, count: 0, kind: kindOf(differences, a, b, left, right) }));
  return { differences, related: known !== null, rows };
}

/** Of stages that do not come of each other: by the ops alone that both have. @param {Text} a @param {Text} b @returns {Differences} */
function apart(a, b) {
  const [first, second] = [a, b].map((text) => new Set(Array.from(text.op).filter((op) => op >= 0)));
  return { new: second.difference(first), gone: first.difference(second), changed: new Set(), moved: new Set() };
}

/** @param {Differences} differences @param {Text} a @param {Text} b @param {number} left @param {number} right @returns {import("whence/diff/compose").Kind} */
function kindOf(differences, a, b, left, right) {
  const op = left >= 0 ? a.op[left] : b.op[right];
  if (op < 0) return left < 0 ? "new" : right < 0 ? "gone" : "same";
  if (left >= 0 && right >= 0) return differences.changed.has(op) ? "changed" : differences.moved.has(op) ? "moved" : "same";
  if (differences.new.has(op)) return "new";
  if (differences.gone.has(op)) return "gone";
  return "moved";
}

/**
 * Fold long stretches of lines that are the same.
 * @param {Row[]} rows @param {Set<number>} open folds that are open, by the left line that they begin with
 * @returns {Row[]}
 */
export function folded(rows, open) {
  /** @type {Row[]} */
  const shown = [];
  for (let begin = 0, end; begin < rows.length; begin = end) {
    for (end = begin + 1; end < rows.length && (rows[end].kind === "same") === (rows[begin].kind === "same"); end++);
    const first = begin === 0 ? 0 : begin + CONTEXT;
    const last = end === rows.length ? end : end - CONTEXT;
    if (rows[begin].kind !== "same" || last - first < 2 || open.has(rows[first].left)) {
      shown.push(...rows.slice(begin, end));
      continue;
    }
    shown.push(...rows.slice(begin, first), { ...rows[first], kind: "fold", count: last - first }, ...rows.slice(last, end));
  }
  return shown;
}

/**
 * Return rows of one side each, one below the other: of lines that changed first all as they were, then as they are.
 * @param {Row[]} rows
 * @returns {Row[]}
 */
export function unified(rows) {
  /** @type {Row[]} */
  const shown = [];
  for (let begin = 0, end; begin < rows.length; begin = end) {
    const { kind } = rows[begin];
    for (end = begin + 1; kind === "changed" && rows[end]?.kind === kind; end++);
    const alike = rows.slice(begin, end);
    if (kind !== "changed") shown.push(...alike);
    else shown.push(...alike.map((row) => ({ ...row, right: -1 })), ...alike.map((row) => ({ ...row, left: -1 })));
  }
  return shown;
}

/**
 * Return the first row of the next difference; -1 for none.
 * @param {Row[]} rows @param {number} at @param {1 | -1} way
 */
export function nextDifference(rows, at, way) {
  const differs = (/** @type {number} */ k) => rows[k] !== undefined && rows[k].kind !== "same" && rows[k].kind !== "fold";
  for (let k = at + way; k >= 0 && k < rows.length; k += way) if (differs(k) && !differs(k - 1)) return k;
  return -1;
}
