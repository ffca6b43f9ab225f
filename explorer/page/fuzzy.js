// Fuzzy matching: letters of the query in order; beginnings of words and runs of letters count most.

const WORD = 8;
const RUN = 5;
const CAPITAL = /[A-Z]/;
const LETTER = /[A-Za-z0-9]/;

/**
 * A bit for each letter and digit of a text: a query can only match what has all bits of it.
 * @param {string} text
 */
export function letters(text) {
  let bits = 0;
  for (let i = 0; i < text.length; i++) bits |= 1 << text.charCodeAt(i) % 32;
  return bits;
}

/**
 * Return how well a text matches a query of small letters, and where; null where it does not. Spaces of a query need
 * not be there.
 * @param {string} query
 * @param {string} text
 * @param {string} [small] the text in small letters
 * @returns {{score: number, at: number[]} | null}
 */
export function match(query, text, small = text.toLowerCase()) {
  const whole = small.indexOf(query);
  if (whole >= 0) {
    const at = Array.from(query, (_, i) => whole + i);
    const begins = begin(text, whole) ? 2 * WORD : 0;
    return { score: query.length * (1 + RUN) + begins + (small.length === query.length ? WORD : 0) - text.length / 64, at };
  }
  const wanted = query.replaceAll(" ", "");
  if (!rest(wanted, 0, small, 0)) return null;
  const at = [];
  let score = -text.length / 64;
  let from = 0;
  for (const letter of wanted) {
    // The next beginning of a word that has the letter, unless the letter continues a run.
    let next = small.indexOf(letter, from);
    if (next !== from || at.length === 0) next = beginning(text, small, wanted, at.length, next);
    score += 1 + (begin(text, next) ? WORD : 0) + (at.length && next === at[at.length - 1] + 1 ? RUN : 0);
    at.push(next);
    from = next + 1;
  }
  return { score, at };
}

/**
 * Return the first beginning of a word from `i` on that has letter `k` of the query, if the rest can follow; else `i`.
 * @param {string} text @param {string} small @param {string} query @param {number} k @param {number} i
 */
function beginning(text, small, query, k, i) {
  for (let next = i; next >= 0; next = small.indexOf(query[k], next + 1))
    if (begin(text, next) && rest(query, k, small, next)) return next;
  return i;
}

/** Whether a word begins here. @param {string} text @param {number} i */
function begin(text, i) {
  return i === 0 || (!LETTER.test(text[i - 1]) && LETTER.test(text[i])) || (CAPITAL.test(text[i]) && !CAPITAL.test(text[i - 1]));
}

/** Whether the letters of the query from `k` on are still there from `i` on. @param {string} query @param {number} k */
function rest(query, k, /** @type {string} */ small, /** @type {number} */ i) {
  for (; k < query.length; k++) {
    i = small.indexOf(query[k], i) + 1;
    if (i === 0) return false;
  }
  return true;
}
