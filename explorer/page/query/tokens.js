// The words of a query, and the error that points at one of them.

/** @typedef {{kind: "text" | "mark" | "word" | "end", text: string, low: string, at: number, length: number}} Token */

const LONGEST = 1000;
const TOKEN = /("[^"]*"|'[^']*')|(<=|>=|!=|[=<>~(),])|([^ \t\r\n()=!<>~,"']+)/y;

/** A query is wrong: `at` and `length` are its place in the text, `about` says what there is. */
export class QueryError extends Error {
  /** @param {string} text @param {number} at @param {number} length @param {string} expected @param {string} [about] */
  constructor(text, at, length, expected, about = "") {
    super(`expected ${expected}, got ${length ? `'${text.slice(at, at + length)}'` : "the end"}`);
    this.text = text.replace(/[\t\r\n]/g, " ");
    this.at = at;
    this.length = length;
    this.about = about;
  }

  /** The query with carets below the place. */
  get picture() {
    return [this.message, `  ${this.text}`, `  ${" ".repeat(this.at)}${"^".repeat(Math.max(1, this.length))}`, this.about].filter(Boolean).join("\n");
  }
}

/**
 * Return the words, marks and texts of a query, and its end; throws QueryError.
 * @param {string} text
 * @returns {Iterable<Token>}
 */
export function* tokensOf(text) {
  if (text.length > LONGEST) throw new QueryError(text.slice(0, 20), 0, 20, `at most ${LONGEST} letters`);
  let at = 0;
  for (;;) {
    while (at < text.length && " \t\r\n".includes(text.charAt(at))) at++;
    if (at === text.length) break;
    TOKEN.lastIndex = at;
    const found = TOKEN.exec(text);
    if (!found) throw new QueryError(text, at, 1, "a word, an operator or a text in quotes that end");
    const [all, quoted, sign] = found;
    const word = quoted ? all.slice(1, -1) : all;
    yield { kind: quoted ? "text" : sign ? "mark" : "word", text: word, low: word.toLowerCase(), at, length: all.length };
    at += all.length;
  }
  yield { kind: "end", text: "", low: "", at, length: 0 };
}

/**
 * Return `did you mean a or b?` with the names that a word is like: they share most of its pairs of letters.
 * @param {string} word
 * @param {readonly string[]} names
 */
export function near(word, names) {
  const own = pairs(word);
  const like = names.map((name) => {
    const others = pairs(name);
    return { name, score: (2 * [...own].filter((pair) => others.has(pair)).length) / (own.size + others.size || 1) };
  });
  const best = like.filter(({ score }) => score >= 0.4).sort((a, b) => b.score - a.score).slice(0, 3);
  return best.length ? `did you mean ${best.map(({ name }) => name).join(" or ")}?` : "";
}

/** @param {string} text */
function pairs(text) {
  const letters = ` ${text.toLowerCase()} `;
  return new Set(Array.from({ length: letters.length - 1 }, (_, k) => letters.slice(k, k + 2)));
}
