// What lines of one stage become in another: the same by the identity of ops, else by what the ledger says of them.

import { compose, counterparts, firstLines, history } from "whence/diff/compose";

/** @typedef {import("whence/types").Session} Session */
/** @typedef {import("whence/diff/compose").Text} Text */

/**
 * @typedef {object} Descent
 * @property {Int32Array} before line of the second text -> the same line of the first; -1 where it is new
 * @property {Int32Array} after line of the first text -> the same line of the second; -1 where it is gone
 * @property {(line: number) => number} origin a new line -> the line of the first that it was made of; -1 for none
 * @property {(line: number) => number} fate a gone line -> the line of the second that was made of it; -1 for none
 * @property {number[]} changes lines of the second where something is new, changed or gone, ascending
 */

const MOST = 1000;

/**
 * Return what becomes of lines between two stages, or null where neither came of the other.
 * @param {Session} session @param {number} first @param {number} second @param {Text} a @param {Text} b
 * @returns {Descent | null}
 */
export function descent(session, first, second, a, b) {
  const differences = compose(session.stages, first, second);
  if (!differences) return null;
  const before = new Int32Array(b.lines.length).fill(-1);
  const after = new Int32Array(a.lines.length).fill(-1);
  for (const [left, right] of counterparts(a, b)) [before[right], after[left]] = [left, right];
  const { made, used } = traces(session, first, second);
  const [linesOfA, linesOfB] = [a, b].map(firstLines);
  /** @type {number[]} */
  const changes = [];
  let next = 0;
  for (let line = 0; line < before.length; line++) {
    const gone = before[line] > next && after.subarray(next, before[line]).includes(-1);
    if (before[line] >= next) next = before[line] + 1;
    if (gone || before[line] < 0 || differences.changed.has(b.op[line])) changes.push(line);
  }
  return {
    before,
    after,
    origin: (line) => reached(b.op[line], made, linesOfA),
    fate: (line) => reached(a.op[line], used, linesOfB),
    changes,
  };
}

/**
 * Return for each op what it was made of, and what was made of it, by the passes between two stages.
 * @param {Session} session @param {number} first @param {number} second
 * @returns {{made: Map<number, number[]>, used: Map<number, number[]>}}
 */
function traces({ events, passes, stages }, first, second) {
  const chain = history(stages, second);
  const forwards = chain.includes(first);
  const [from, way] = forwards ? [first, chain] : [second, history(stages, first)];
  const between = new Set(way.slice(way.indexOf(from) + 1));
  const [made, used] = [new Map(), new Map()];
  for (let k = 0; k < events.run.length; k++) {
    const run = passes[events.run[k]];
    if (!run?.changed || !between.has(run.stage)) continue;
    for (const op of events.targets[k]) made.set(op, events.sources[k]);
    for (const op of events.sources[k]) used.set(op, events.targets[k]);
  }
  return forwards ? { made, used } : { made: used, used: made };
}

/**
 * Return the line of the nearest op, over ops that only the passes between saw; -1 for none.
 * @param {number} op @param {Map<number, number[]>} steps @param {Map<number, number>} lines
 */
function reached(op, steps, lines) {
  const waiting = [op];
  const seen = new Set(waiting);
  for (const at of waiting) {
    const line = at === op ? -1 : (lines.get(at) ?? -1);
    if (line >= 0) return line;
    for (const next of steps.get(at) ?? []) {
      if (seen.has(next) || seen.size > MOST) continue;
      seen.add(next);
      waiting.push(next);
    }
  }
  return -1;
}
