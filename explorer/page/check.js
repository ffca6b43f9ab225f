// Checks of the head of a session document: a damaged one is told in one sentence, and nothing of it is shown.

/** @typedef {import("whence/types").Head} Head */

const VERSION = 3;
const MOST_LINES = 20_000_000;
const LISTS = [
  "sources",
  "sets",
  "programs",
  "kernels",
  "calls",
  "stages",
  "passes",
  "graphs",
  "schedules",
  "times",
  "memory",
  "tensors",
  "verdicts",
  "tours",
];
const TABLES = ["layers", "ops", "events", "leads"];

/**
 * Raise an error that says in one sentence what is wrong with the head of a session.
 * @param {unknown} head
 * @returns {asserts head is Head}
 */
export function checkHead(head) {
  if (!isObject(head) || !("whence_session" in head)) throw new Error("This is no session document of Whence.");
  if (head["whence_session"] !== VERSION) {
    throw new Error(
      `This session document is of version ${String(head["whence_session"]).slice(0, 20)}; this page reads version ${VERSION}.`,
    );
  }
  if (!isObject(head["made_by"])) damaged("it does not say what made it");
  for (const name of LISTS) if (!Array.isArray(head[name])) damaged(`its ${name} are no list`);
  for (const name of TABLES) table(name, head[name]);
  const session = /** @type {Head} */ (/** @type {unknown} */ (head));
  references(session);
  for (const [number, graph] of session.graphs.entries()) {
    if (!isObject(graph)) damaged(`graph ${number} is no object`);
    const { x, y, width, height, attributes, flops, bytes, ...nodes } = graph.nodes;
    table(`nodes of graph ${number}`, nodes);
    table(`edges of graph ${number}`, graph.edges);
    for (const column of [x, y, width, height, attributes, flops, bytes]) {
      if (!Array.isArray(column) || (column.length > 0 && column.length !== nodes.label.length))
        damaged(`the columns of graph ${number} differ in length`);
    }
    const count = nodes.label.length;
    each([graph.edges.source, graph.edges.target], count, 0, `an edge of graph ${number} names a node`);
  }
}

/** @param {Head} session */
function references({ layers, ops, events, sets, sources, programs, kernels, calls, stages, passes, verdicts }) {
  each(sets, layers.name.length, 0, "a set names a layer");
  each([layers.source], sources.length, -1, "a layer names a source");
  each([ops.copied_from], ops.name.length, -1, "an op names an op");
  each([...events.sources, ...events.targets], ops.name.length, 0, "an event names an op");
  each([events.before, events.after, ops.set], sets.length, -1, "an op or event names a set");
  each([events.run], passes.length, -1, "an event names a pass");
  rows(passes, "pass", (run) => [
    [run.program, programs.length],
    [run.kernel, kernels.length],
    [run.stage, stages.length],
  ]);
  rows(stages, "stage", (stage) => [
    [stage.program, programs.length],
    [stage.kernel, kernels.length],
    [stage.before, stages.length],
    [stage.lines, MOST_LINES],
  ]);
  rows(calls, "call", (call) => [
    [call.program, programs.length],
    [call.kernel, kernels.length],
    [call.set, sets.length],
  ]);
  each(
    calls.map((call) => call.layers),
    sets.length,
    -1,
    "a call names a set",
  );
  rows(kernels, "kernel", (kernel) => [[kernel.program, programs.length]]);
  each(
    kernels.map((kernel) => kernel.stages),
    stages.length,
    0,
    "a kernel names a stage",
  );
  rows(sources, "source", (source) => [[source.stage, stages.length]]);
  rows(verdicts, "verdict", (verdict) => [
    [verdict.program, programs.length],
    [verdict.layer, layers.name.length],
  ]);
  const phrases = verdicts.flatMap(({ answers }) => answers.flatMap((answer) => answer.phrases));
  const sizes = { layer: layers.name.length, stage: stages.length, line: MOST_LINES, call: calls.length };
  Object.entries(sizes).forEach(([noun, size], at) =>
    each([phrases.map((phrase) => Number(phrase[at + 1]))], size, -1, `a verdict names a ${noun}`),
  );
}

/**
 * @template {object} Row
 * @param {Row[]} list
 * @param {string} noun
 * @param {(row: Row) => [number, number][]} indexes an index and the size of what it points into, each
 */
function rows(list, noun, indexes) {
  list.forEach((row, number) => {
    if (!isObject(row)) damaged(`${noun} ${number} is no object`);
    each(
      indexes(row).map(([index]) => [index]),
      Infinity,
      -1,
      `${noun} ${number} names a row`,
    );
    for (const [index, size] of indexes(row))
      if (index >= size) damaged(`${noun} ${number} names a row that is not there`);
  });
}

/**
 * @param {readonly (readonly number[])[]} lists of indexes
 * @param {number} size
 * @param {number} least
 * @param {string} what
 */
function each(lists, size, least, what) {
  for (const list of lists) {
    if (!Array.isArray(list)) damaged(`${what} in what is no list`);
    for (const index of list)
      if (!Number.isInteger(index) || index < least || index >= size) damaged(`${what} that is not there`);
  }
}

/** @param {string} name @param {unknown} columns */
function table(name, columns) {
  if (!isObject(columns)) damaged(`its ${name} are no table`);
  const lengths = new Set(Object.values(columns).map((column) => (Array.isArray(column) ? column.length : -1)));
  if (lengths.size > 1 || lengths.has(-1)) damaged(`the columns of its ${name} differ in length`);
}

/** @param {string} what @returns {never} */
function damaged(what) {
  throw new Error(`The session document is damaged: ${what}.`);
}

/** @param {unknown} value @returns {value is {[name: string]: unknown}} */
function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
