// Two lists beside each other: what both have, in order, what only the first has, and what only the second.

/**
 * @template Item
 * @typedef {{sign: " " | "-" | "+", item: Item}} Signed
 */

const MOST_PAIRS = 4_000_000;

/**
 * Align two lists by the longest common part.
 * @template Item
 * @param {readonly Item[]} before
 * @param {readonly Item[]} after
 * @param {(item: Item) => string} key
 * @returns {Signed<Item>[]}
 */
export function aligned(before, after, key) {
  const a = before.map(key);
  const b = after.map(key);
  let begin = 0;
  while (begin < a.length && begin < b.length && a[begin] === b[begin]) begin++;
  let end = 0;
  while (end < a.length - begin && end < b.length - begin && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  /** @type {Signed<Item>[]} */
  const result = after.slice(0, begin).map((item) => ({ sign: " ", item }));
  const old = before.slice(begin, before.length - end);
  const young = after.slice(begin, after.length - end);
  const kept = old.length * young.length > MOST_PAIRS ? [] : common(a.slice(begin, a.length - end), b.slice(begin, b.length - end));
  let i = 0;
  let j = 0;
  for (const [x, y] of [...kept, [old.length, young.length]]) {
    for (; i < (x ?? 0); i++) result.push({ sign: "-", item: /** @type {Item} */ (old[i]) });
    for (; j < (y ?? 0); j++) result.push({ sign: "+", item: /** @type {Item} */ (young[j]) });
    if (i < old.length && j < young.length) result.push({ sign: " ", item: /** @type {Item} */ (young[j]) });
    i++;
    j++;
  }
  for (const item of after.slice(after.length - end)) result.push({ sign: " ", item });
  return result;
}

/**
 * Return the pairs of places of a longest common part.
 * @param {string[]} a
 * @param {string[]} b
 * @returns {[number, number][]}
 */
function common(a, b) {
  const width = b.length + 1;
  const length = new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      const down = length[(i + 1) * width + j] ?? 0;
      const right = length[i * width + j + 1] ?? 0;
      length[i * width + j] = a[i] === b[j] ? (length[(i + 1) * width + j + 1] ?? 0) + 1 : Math.max(down, right);
    }
  }
  /** @type {[number, number][]} */
  const pairs = [];
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    if (a[i] === b[j]) pairs.push([i++, j++]);
    else if ((length[(i + 1) * width + j] ?? 0) >= (length[i * width + j + 1] ?? 0)) i++;
    else j++;
  }
  return pairs;
}
