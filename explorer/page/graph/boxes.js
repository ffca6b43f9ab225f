// What stands in the boxes of a graph: a coloured header with the operator, and lines below it.

/** @typedef {import("whence/types").Session["graphs"][number]} Graph */
/** @typedef {import("whence/graph/scopes").Scopes} Scopes */

/**
 * @typedef {object} Box
 * @property {string} title
 * @property {string[]} lines
 * @property {string} category which colour its header has
 * @property {number} width
 * @property {number} height
 */

export const HEADER = 22;
export const LINE = 15;
export const LETTER = 6.3;
const LONGEST = 40;
const PADDING = 20;
const LEAST = 70;
const MARK = 18;

/** Categories of operators, the first that fits; the colours are in graph.css. @type {[string, RegExp][]} */
const CATEGORIES = [
  ["layer", /conv|gemm|matmul|dense|fully|lstm|gru|rnn|einsum|attention/i],
  ["activation", /relu|sigmoid|tanh|softmax|gelu|silu|swish|clip|elu|erf|mish|logistic/i],
  ["pool", /pool|reduce|mean|sum|argmax|topk/i],
  ["normalization", /norm|lrn/i],
  ["quantization", /quant|qnn|qlinear/i],
  ["shape", /reshape|transpose|flatten|squeeze|expand|concat|split|slice|gather|pad|shape|cast|tile|pack|layout/i],
];
export const KINDS = ["node", "input", "output", "constant", "group", ...CATEGORIES.map(([name]) => name)];

/** @param {string} text */
export function cut(text) {
  return text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text;
}

/**
 * Return the box of a node, or of a group.
 * @param {Graph} graph @param {Scopes} scopes @param {number} id
 * @returns {Box}
 */
export function boxOf({ nodes }, scopes, id) {
  if (id >= scopes.count) {
    const title = cut(scopes.name[id - scopes.count]);
    const lines = [`${scopes.members[id - scopes.count].toLocaleString("en")} nodes`];
    return sized(title, lines, "group", MARK);
  }
  const kind = nodes.kind[id];
  const title = cut(nodes.label[id]);
  const lines = nodes.about[id].split("\n").filter(Boolean).map(cut);
  const category = kind === "node" ? (CATEGORIES.find(([, pattern]) => pattern.test(title))?.[0] ?? "node") : kind;
  return sized(title, lines, category, 0);
}

/** @param {string} title @param {string[]} lines @param {string} category @param {number} mark @returns {Box} */
function sized(title, lines, category, mark) {
  const letters = Math.max(title.length + 1, ...lines.map((line) => line.length));
  const height = HEADER + (lines.length ? lines.length * LINE + 6 : 0);
  return { title, lines, category, width: Math.max(LEAST, letters * LETTER + PADDING + mark), height };
}
