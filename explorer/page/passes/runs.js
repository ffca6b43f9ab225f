// Runs of passes over a program or a kernel, and the steps from one to another.

/** @typedef {import("whence/types").Session} Session */
/** @typedef {{program: number, kernel: number}} Unit a program as a whole, kernel -1, or one of its kernels */
/** @typedef {{runs: number[], changed: boolean}} Stretch runs that changed nothing, together, or one that did */

/**
 * Return the runs over a unit, in order.
 * @param {Session} session @param {Unit} unit
 * @returns {number[]}
 */
export function runsOf({ passes }, { program, kernel }) {
  return passes.flatMap((run, row) => (run.program === program && run.kernel === kernel ? [row] : []));
}

/**
 * Return the units that passes ran over, programs before their kernels.
 * @param {Session} session
 * @returns {Unit[]}
 */
export function unitsOf({ passes }) {
  const units = new Map();
  for (const { program, kernel } of passes) units.set(`${program} ${kernel}`, { program, kernel });
  return [...units.values()].sort((a, b) => a.program - b.program || a.kernel - b.kernel);
}

/**
 * Return runs with those that changed nothing together.
 * @param {Session} session @param {number[]} runs
 * @returns {Stretch[]}
 */
export function stretches({ passes }, runs) {
  /** @type {Stretch[]} */
  const all = [];
  for (const run of runs) {
    const { changed } = passes[run];
    const last = all.at(-1);
    if (!changed && last && !last.changed) last.runs.push(run);
    else all.push({ runs: [run], changed });
  }
  return all;
}

/**
 * Return the run that a step leads to; -1 for none.
 *
 * @param {Session} session @param {number[]} runs
 * @param {number} current the run one stands at; -1: `stage` says where
 * @param {number} stage the stage that is shown
 * @param {1 | -1} way @param {boolean} all those that changed nothing, too
 */
export function stepped({ passes }, runs, current, stage, way, all) {
  let at = runs.indexOf(current);
  if (at < 0 || passes[current].stage !== stage) at = runs.findIndex((run) => passes[run].changed && passes[run].stage === stage);
  for (at = at < 0 && way < 0 ? -1 : at + way; at >= 0 && at < runs.length; at += way)
    if (all || passes[runs[at]].changed) return runs[at];
  return -1;
}

/**
 * Return how many ops a run made, dropped, changed and moved; null where it changed nothing.
 * @param {Session} session @param {number} run
 */
export function countsOf({ passes, stages }, run) {
  const { changed, stage } = passes[run];
  const diff = changed ? stages[stage].diff : null;
  return diff && { new: diff.new.length, gone: diff.gone.length, changed: diff.changed.length, moved: diff.moved.length };
}

/** @param {number} seconds */
export function timeText(seconds) {
  if (seconds < 0) return "";
  return seconds < 0.0995 ? `${(1000 * seconds).toFixed(1)} ms` : `${seconds.toFixed(2)} s`;
}
