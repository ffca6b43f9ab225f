// Performance marks: how long what a person waits for took, in `window.whence.marks`.

/** @typedef {{name: string, at: number, took: number}} Timing */

/** @type {Timing[]} */
export const marks = [];
const MOST = 2000;

/**
 * Note that something is done: `at` milliseconds since navigation, and since `from` where there is one.
 * @param {string} name
 * @param {number} [from] a time of `performance.now()`
 */
export function note(name, from = 0) {
  const at = performance.now();
  marks.push({ name, at, took: at - from });
  if (marks.length > MOST) marks.splice(0, MOST / 2);
  performance.mark(`whence ${name}`);
}
