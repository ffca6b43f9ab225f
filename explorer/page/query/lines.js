// The table of lines: of the last stages, or of those after a pass with the lines that it removed.

/** @typedef {import("whence/session").SessionModel} SessionModel */
/** @typedef {import("whence/query/types").Place} Place */
/** @typedef {import("whence/query/types").Rows} Rows */
/** @typedef {import("whence/query/types").Tables} Tables */
/** @typedef {import("whence/query/types").Value} Value */
/** @typedef {Map<number, string[]>} Changes */

const OPCODE = /[ \t]*(?:%[^=]*= )?(?:tail )?([A-Za-z_][A-Za-z0-9_.]*)/y;
const LEVELS = ["relay", "te", "schedule", "tir", "llvm", "asm"];

/**
 * Return the instruction of a line, or the name of its op; "" for labels, directives and braces.
 * @param {string} text
 */
export function opcode(text) {
  OPCODE.lastIndex = 0;
  const found = OPCODE.exec(text);
  return found && text[OPCODE.lastIndex] !== ":" ? (found[1] ?? "") : "";
}

/**
 * @param {SessionModel} model
 * @param {Tables} tables
 * @param {string} after a pass, "" for the last stages
 * @returns {Promise<Rows>}
 */
export async function linesOf(model, { levels, tables }, after) {
  const rows = new Lines(model, tables.lines?.columns.map(({ name }) => name) ?? []);
  for (const k of after ? stagesAfter(model, after) : levels) {
    const { name, before, diff } = model.stageRow(k);
    if (!after || name !== after || before < 0 || !diff) await rows.add(k, new Map(), { lost: !after });
    else {
      const gone = new Map(diff.gone.map((op) => [op, ["gone"]]));
      if (gone.size) await rows.add(before, gone, { only: true });
      await rows.add(k, await changesOf(model, k), {});
    }
  }
  return rows;
}

/** @param {SessionModel} model @param {string} after */
function stagesAfter(model, after) {
  const { stages, passes } = model.document;
  const named = stages.flatMap(({ name, level }, k) => (name === after && LEVELS.includes(level) ? [k] : []));
  const run = passes.flatMap(({ name, stage }) => (name === after && stage >= 0 ? [stage] : []));
  return [...new Set([...named, ...run])].sort((a, b) => a - b);
}

/** Op -> what the step before a stage did with it, of the ops that it has. @param {SessionModel} model @param {number} k */
async function changesOf(model, k) {
  const { name, before, diff } = model.stageRow(k);
  /** @type {Changes} */
  const found = new Map();
  /** @type {(op: number, word: string) => void} */
  const add = (op, word) => void found.set(op, [...(found.get(op) ?? []), word]);
  for (const word of /** @type {const} */ (["new", "changed", "moved"])) for (const op of diff?.[word] ?? []) add(op, word);
  // A stage is taken down before what its pass lost is marked: the next one has the marks, with the pass's name.
  const old = await lostOps(model, before);
  /** @type {(mark: number) => boolean} */
  const own = (mark) => mark < 0 || model.document.layers.name[mark]?.split(" ").at(-1) === name;
  for (const [op, marks] of await lostOps(model, k)) if (marks.some((mark) => own(mark) && !old.get(op)?.includes(mark))) add(op, "lost");
  return found;
}

/** Op of a stage -> the lost marks behind its lines; -1 where no layer is. @param {SessionModel} model @param {number} k */
async function lostOps(model, k) {
  const { op, set } = await model.columns(k);
  /** @type {Map<number, Set<number>>} */
  const behind = new Map();
  op.forEach((row, line) => {
    const value = set[line] ?? -1;
    if (row < 0 || value < 0) return;
    const rows = behind.get(row) ?? new Set();
    behind.set(row, rows);
    for (const layer of model.layersOfValue(k, value)) rows.add(layer);
  });
  const { kind } = model.document.layers;
  /** @type {(rows: Set<number>) => number[]} */
  const marks = (rows) => (rows.size ? [...rows].filter((row) => kind[row] === "lost") : [-1]);
  return new Map([...behind].map(([row, rows]) => [row, marks(rows)]));
}

/** Samples of a stage's lines (from 1), and their part of the seconds of the calls. @param {SessionModel} model @param {number} k */
function samplesOf(model, k) {
  /** @type {Map<number, [number, number]>} */
  const found = new Map();
  for (const { program, calls, lines } of model.document.times) {
    const own = model.document.calls.flatMap((call, number) => (call.program === program ? [number] : []));
    for (const { stage, call, line, samples } of lines) {
      if (stage !== k) continue;
      const total = samples.reduce((sum, count) => sum + count, 0) || 1;
      const spent = calls[own.indexOf(call)] ?? 0;
      line.forEach((number, at) => {
        const [count, seconds] = found.get(number) ?? [0, 0];
        found.set(number, [count + (samples[at] ?? 0), seconds + spent * ((samples[at] ?? 0) / total)]);
      });
    }
  }
  return found;
}

/** @param {string} text */
function trimmed(text) {
  let [from, to] = [0, text.length];
  while (from < to && " \t".includes(text.charAt(from))) from++;
  while (from < to && " \t".includes(text.charAt(to - 1))) to--;
  return text.slice(from, to);
}

class Lines {
  /** @type {number[][]} */
  layers = [];
  /** @type {Place[]} */
  places = [];

  /** @param {SessionModel} model @param {readonly string[]} names */
  constructor(model, names) {
    this.model = model;
    this.columns = new Map(names.map((name) => [name, /** @type {Value[]} */ ([])]));
  }

  /**
   * Add the lines of a stage; `only` those that changed; `lost`: say which are lost.
   * @param {number} k
   * @param {Changes} changes
   * @param {{only?: boolean, lost?: boolean}} which
   */
  async add(k, changes, { only = false, lost = false }) {
    const { layers, kernels, ops } = this.model.document;
    const { level, kernel } = this.model.stageRow(k);
    const { lines, set, op, exact } = await this.model.stage(k);
    const samples = samplesOf(this.model, k);
    const symbol = kernel >= 0 ? [kernels[kernel]?.symbol ?? ""].filter(Boolean) : [];
    /** @type {Map<number, {rows: number[], names: string[], lost: boolean}>} */
    const behind = new Map();
    lines.forEach((text, line) => {
      const [row, value] = [op[line] ?? -1, set[line] ?? -1];
      let words = changes.get(row) ?? [];
      if (only && words.length === 0) return;
      let group = behind.get(value);
      if (!group) {
        const rows = this.model.layersOfValue(k, value);
        const owners = new Set(rows.map((each) => ((layers.owner[each] ?? -1) >= 0 ? (layers.owner[each] ?? each) : each)));
        const names = [...owners].sort((a, b) => a - b).map((each) => layers.name[each] ?? "");
        behind.set(value, (group = { rows, names, lost: value >= 0 && (rows.length === 0 || rows.some((each) => layers.kind[each] === "lost")) }));
      }
      if (lost && group.lost) words = ["lost"];
      const [count = null, spent = null] = samples.get(line + 1) ?? [];
      const code = opcode(text);
      const cells = {
        kernel: symbol, level: [level], line: line + 1, text: [trimmed(text)].filter(Boolean), opcode: code ? [code] : [],
        op: [ops.name[row] ?? ""].filter(Boolean), layer: group.names, exact: exact.length ? exact[line] : null, samples: count, time: spent, change: words,
      };
      for (const [name, cell] of Object.entries(cells)) this.columns.get(name)?.push(cell ?? null);
      this.layers.push(group.rows);
      this.places.push([k, line]);
    });
  }
}
