// Differences between any two stages of a level, by the identity of ops: those of the passes between, one after another.

/** @typedef {import("whence/types").Stage} Stage */
/** @typedef {{lines: string[], op: ArrayLike<number>}} Text */
/** @typedef {"same" | "new" | "gone" | "changed" | "moved"} Kind */

/**
 * @typedef {object} Differences
 * @property {Set<number>} new ops that the second stage has alone
 * @property {Set<number>} gone ops that the first has alone
 * @property {Set<number>} changed
 * @property {Set<number>} moved
 */

/**
 * Return the stages from the first one of a text on to this, each of which came of the one before it.
 * @param {Stage[]} stages @param {number} stage
 */
export function history(stages, stage) {
  /** @type {number[]} */
  const chain = [];
  for (let at = stage; at >= 0 && !chain.includes(at); at = stages[at].before) chain.push(at);
  return chain.reverse();
}

/**
 * Return what differs between two stages, or null where neither came of the other.
 * @param {Stage[]} stages @param {number} first @param {number} second
 * @returns {Differences | null}
 */
export function compose(stages, first, second) {
  const chain = history(stages, second);
  const begin = chain.indexOf(first);
  if (begin < 0) {
    const back = history(stages, first).includes(second) ? compose(stages, second, first) : null;
    return back && { ...back, new: back.gone, gone: back.new };
  }
  /** @type {Differences} */
  const all = { new: new Set(), gone: new Set(), changed: new Set(), moved: new Set() };
  for (const stage of chain.slice(begin + 1)) {
    const step = stages[stage].diff;
    if (!step) continue;
    for (const op of step.new) if (!all.gone.delete(op)) all.new.add(op);
    for (const op of step.gone) if (!all.new.delete(op)) all.gone.add(op);
    for (const op of step.changed) all.changed.add(op);
    for (const op of step.moved) all.moved.add(op);
  }
  for (const set of [all.changed, all.moved]) for (const op of set) if (all.new.has(op) || all.gone.has(op)) set.delete(op);
  return all;
}

/**
 * Return the lines of both texts side by side: pairs of lines, -1 where a side has none.
 *
 * Ops are the same where their identity is; of those that changed their order, the longest run that kept it stands
 * side by side. Lines of no op belong together where their text is the same.
 * @param {Text} a @param {Text} b
 * @returns {{left: number, right: number}[]}
 */
export function align(a, b) {
  const both = counterparts(a, b);
  const rows = [];
  let [left, right] = [0, 0];
  for (const [nextLeft, nextRight] of [...increasing(both), /** @type {[number, number]} */ ([a.lines.length, b.lines.length])]) {
    for (; left < nextLeft; left++) rows.push({ left, right: -1 });
    for (; right < nextRight; right++) rows.push({ left: -1, right });
    if (nextLeft < a.lines.length) rows.push({ left: left++, right: right++ });
  }
  return rows;
}

/**
 * Return the pairs of lines that are the same, in the order of the first: by their op, or by their text where they have
 * none; those of one op or text in turn.
 * @param {Text} a @param {Text} b
 * @returns {[number, number][]}
 */
export function counterparts(a, b) {
  /** Op or text -> its next line. @type {Map<number | string, number>} */
  const first = new Map();
  const next = new Int32Array(b.lines.length).fill(-1);
  for (let line = b.lines.length - 1; line >= 0; line--) {
    const key = keyOf(b, line);
    next[line] = first.get(key) ?? -1;
    first.set(key, line);
  }
  /** @type {[number, number][]} */
  const pairs = [];
  for (let line = 0; line < a.lines.length; line++) {
    const key = keyOf(a, line);
    const right = first.get(key) ?? -1;
    if (right < 0) continue;
    first.set(key, next[right]);
    pairs.push([line, right]);
  }
  return pairs;
}

/** @param {Text} text @param {number} line */
const keyOf = ({ lines, op }, line) => (op[line] >= 0 ? op[line] : lines[line]);

/** @param {Text} text @returns {Map<number, number>} op -> its first line */
export function firstLines({ op }) {
  const lines = new Map();
  for (let line = op.length - 1; line >= 0; line--) if (op[line] >= 0) lines.set(op[line], line);
  return lines;
}

/**
 * Return the longest part of pairs, in order of the first numbers, in which the second increase, too.
 * @param {[number, number][]} pairs
 */
function increasing(pairs) {
  /** @type {number[]} */
  const ends = [];
  const previous = new Int32Array(pairs.length).fill(-1);
  for (let k = 0; k < pairs.length; k++) {
    let [low, high] = [0, ends.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (pairs[ends[middle]][1] < pairs[k][1]) low = middle + 1;
      else high = middle;
    }
    if (low > 0) previous[k] = ends[low - 1];
    ends[low] = k;
  }
  const kept = [];
  for (let k = ends.length ? ends[ends.length - 1] : -1; k >= 0; k = previous[k]) kept.push(pairs[k]);
  return kept.reverse();
}
