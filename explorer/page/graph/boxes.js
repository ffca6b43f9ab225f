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
const LETTER = 6.3;
const BOLD = 6.8;
const CAPITALS = /[A-Z_]/g;
const WIDER = 1.6;
const LONGEST = 40;
const PADDING = 20;
const LEAST = 70;
const MARK = 18;
const MOST_LINES = 5;

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

/** The parts of a node's second line: its name, weights and types. */
export const linesOf = remembered((about) => about.split(/\n|, (?![^[(]*[\])])/).filter(Boolean));

const categoryOf = remembered((label) => CATEGORIES.find(([, pattern]) => pattern.test(label))?.[0] ?? "node");

/** A function of texts that computes each answer once: nodes are many, their labels few. @template T @param {(text: string) => T} compute */
function remembered(compute) {
  /** @type {Map<string, T>} */
  const answers = new Map();
  return (/** @type {string} */ text) => {
    const answer = answers.get(text) ?? compute(text);
    answers.set(text, answer);
    return answer;
  };
}

/** The extents of a type: `64x3x7x7` of `float32[64, 3, 7, 7]`. @param {string} type */
export function extents(type) {
  const inside = /\[(.*)\]$/s.exec(type)?.[1];
  return inside === undefined ? type : inside.replaceAll(", ", "x") || "1 number";
}

/** @param {string} text */
export function cut(text) {
  return text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text;
}

/**
 * Return the boxes of nodes and groups.
 * @param {Graph} graph @param {Scopes} scopes @param {number[]} ids
 * @returns {Box[]}
 */
export function boxesOf(graph, scopes, ids) {
  const { nodes, edges } = graph;
  /** @type {Map<number, string[]>} */
  const weights = new Map();
  edges.source.forEach((node, e) => {
    const reader = edges.target[e];
    if (scopes.holder[node] === node || scopes.holder[reader] !== reader) return;
    const line = [edges.role[e], extents(edges.text[e]), nodes.label[node]].filter(Boolean).join(" ");
    weights.set(reader, [...(weights.get(reader) ?? []), line]);
  });
  return ids.map((id) => boxOf(graph, scopes, id, weights));
}

/** @param {Graph} graph @param {Scopes} scopes @param {number} id @param {Map<number, string[]>} weights @returns {Box} */
function boxOf({ nodes }, scopes, id, weights) {
  if (id >= scopes.count) {
    const title = cut(scopes.name[id - scopes.count]);
    const lines = [`${scopes.members[id - scopes.count].toLocaleString("en")} nodes`];
    return sized(title, lines, "group", MARK);
  }
  const kind = nodes.kind[id];
  const title = cut(nodes.label[id]);
  const lines = [...linesOf(nodes.about[id]), ...(weights.get(id) ?? [])].slice(0, MOST_LINES).map(cut);
  const category = kind === "node" ? categoryOf(nodes.label[id]) : kind;
  return sized(title, lines, category, 0);
}

/** @param {string} title @param {string[]} lines @param {string} category @param {number} mark @returns {Box} */
function sized(title, lines, category, mark) {
  const text = Math.max(title.length * BOLD + (title.match(CAPITALS)?.length ?? 0) * WIDER, ...lines.map((line) => line.length * LETTER));
  const height = HEADER + (lines.length ? lines.length * LINE + 6 : 0);
  return { title, lines, category, width: Math.max(LEAST, text + PADDING + mark), height };
}
