// The table of lines: of the last stages, or of those after a pass with the lines that it removed.

/** @typedef {import("whence/session").SessionModel} SessionModel */
/** @typedef {import("whence/query/types").Place} Place */
/** @typedef {import("whence/query/types").Rows} Rows */
/** @typedef {import("whence/query/types").Tables} Tables */
/** @typedef {import("whence/query/types").Value} Value */
/** @typedef {Map<number, string[]>} Changes op -> words */

const OPCODE = /[ \t]*(?:%[^=]*= )?(?:tail )?([A-Za-z_][A-Za-z0-9_.]*)/y;

/** Return the instruction of a line, or the name of its op; none for labels, directives and braces. @param {string} text */
function opcode(text) {
  OPCODE.lastIndex = 0;
  const found = OPCODE.exec(text);
  return found && text[OPCODE.lastIndex] !== ":" ? [found[1] ?? ""] : [];
}

/** The lines of the last question about some, and after which pass. @type {WeakMap<Tables, {after: string, rows: Promise<Rows>}>} */
const kept = new WeakMap();

/**
 * Return the lines of a session, which are read once for questions about the same ones.
 * @param {SessionModel} model
 * @param {Tables} tables
 * @param {string} after a pass, "" for the last stages
 * @returns {Promise<Rows>}
 */
export function linesOf(model, tables, after) {
  const known = kept.get(tables);
  if (known?.after === after) return known.rows;
  const rows = read(model, tables, after);
  kept.set(tables, { after, rows });
  rows.catch(() => kept.delete(tables));
  return rows;
}

/**
 * @param {SessionModel} model
 * @param {Tables} tables
 * @param {string} after
 * @returns {Promise<Rows>}
 */
async function read(model, tables, after) {
  /** @type {Rows & {layers: number[][], places: Place[], columns: Map<string, Value[]>}} */
  const rows = { layers: [], places: [], columns: new Map(tables.tables.lines?.columns.map(({ name }) => [name, []])) };
  for (const k of after ? (tables.after[after] ?? []) : tables.last) {
    const { name, before } = model.stageRow(k);
    const changed = after && name === after ? (tables.changed[k] ?? []) : [];
    /** @type {(keep: (word: string) => boolean) => Changes} */
    const words = (keep) => new Map(changed.map(([op, ...all]) => [op, all.filter(keep)]));
    if (changed.some((row) => row.includes("gone"))) await add(model, tables, rows, before, words((word) => word === "gone"), "changed");
    await add(model, tables, rows, k, words((word) => word !== "gone"), after ? "all" : "lost");
  }
  return rows;
}

/**
 * Add the lines of a stage: those that changed, or all; `lost`: with the word where no layer is behind it.
 * @param {SessionModel} model
 * @param {Tables} tables
 * @param {{layers: number[][], places: Place[], columns: Map<string, Value[]>}} result
 * @param {number} k
 * @param {Changes} changes
 * @param {"changed" | "all" | "lost"} which
 */
async function add(model, tables, result, k, changes, which) {
  const { layers, kernels, ops } = model.document;
  const { level, kernel } = model.stageRow(k);
  const { lines, set, op, exact } = await model.stage(k);
  const samples = new Map(tables.samples[k]?.map(([line, ...both]) => [line, both]));
  /** @type {(text: string | undefined) => string[]} */
  const some = (text) => (text ? [text] : []);
  /** @type {Map<number, {rows: number[], names: string[], lost: boolean}>} */
  const behind = new Map();
  /** @type {(value: number) => {rows: number[], names: string[], lost: boolean}} */
  const look = (value) => {
    const rows = model.layersOfValue(k, value);
    const owners = new Set(rows.map((row) => ((layers.owner[row] ?? -1) < 0 ? row : (layers.owner[row] ?? row))));
    const names = [...owners].sort((a, b) => a - b).map((row) => layers.name[row] ?? "");
    return { rows, names, lost: value >= 0 && (rows.length === 0 || rows.some((row) => layers.kind[row] === "lost")) };
  };
  lines.forEach((text, line) => {
    const [row, value] = [op[line] ?? -1, set[line] ?? -1];
    const words = changes.get(row) ?? [];
    if (which === "changed" && words.length === 0) return;
    const group = behind.get(value) ?? look(value);
    behind.set(value, group);
    const [count = null, spent = null] = samples.get(line + 1) ?? [];
    /** @type {{[name: string]: Value}} */
    const cells = {
      kernel: some(kernels[kernel]?.symbol), level: [level], line: line + 1, text: some(trimmed(text)), opcode: opcode(text), op: some(ops.name[row]),
      layer: group.names, exact: exact[line] ?? null, samples: count, time: spent, change: which === "lost" && group.lost ? ["lost"] : words,
    };
    for (const [name, column] of result.columns) column.push(cells[name] ?? null);
    result.layers.push(group.rows);
    result.places.push([k, line]);
  });
}

/** @param {string} text */
function trimmed(text) {
  let [from, to] = [0, text.length];
  while (from < to && " \t".includes(text.charAt(from))) from++;
  while (from < to && " \t".includes(text.charAt(to - 1))) to--;
  return text.slice(from, to);
}
