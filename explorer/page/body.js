// Bodies of stages: run lengths become columns, edits become lines.

/** @typedef {import("whence/types").Body} Body */
/** @typedef {import("whence/types").Columns} Columns */

/**
 * Return the columns of a stage of `count` lines.
 * @param {Body} body
 * @param {number} count
 * @returns {Columns}
 */
export function columnsOf(body, count) {
  /** @type {Map<number, number[]>} */
  const outputs = new Map();
  for (const [line, layer] of body.outputs) {
    const layers = outputs.get(line - 1);
    if (layers) layers.push(layer);
    else outputs.set(line - 1, [layer]);
  }
  return {
    set: expand(body.sets, new Int32Array(count)),
    op: expand(body.ops, new Int32Array(count)),
    tir: expand(body.tir, new Int32Array(body.tir.length ? count : 0)),
    exact: expand(body.exact, new Uint8Array(body.exact.length ? count : 0)),
    outputs,
  };
}

/**
 * Write a column of run lengths into an array, whose length it must have.
 * @template {Int32Array | Uint8Array} Column
 * @param {readonly number[]} runs
 * @param {Column} column
 * @returns {Column}
 */
function expand(runs, column) {
  let end = 0;
  for (let index = 0; index + 1 < runs.length; index += 2) {
    const begin = end;
    const count = runs[index + 1] ?? -1;
    end += count;
    if (!(count >= 0 && end <= column.length))
      throw new Error("The session document is damaged: a column is longer than its text.");
    column.fill(runs[index] ?? -1, begin, end);
  }
  if (end !== column.length) throw new Error("The session document is damaged: a column is shorter than its text.");
  return column;
}

/**
 * Return the lines that edits make of other lines.
 * @param {readonly string[]} base
 * @param {readonly (readonly [number, number, readonly string[]])[]} edits
 * @returns {string[]}
 */
export function edited(base, edits) {
  /** @type {string[]} */
  let lines = [];
  let next = 0;
  for (const [first, gone, come] of edits) {
    if (first < lines.length) {
      // This edit goes back: what stands so far is the text that it applies to.
      lines = lines.concat(base.slice(next));
      base = lines.splice(first);
      next = gone;
    } else {
      const end = next + first - lines.length;
      while (next < end) lines.push(base[next++] ?? "");
      next += gone;
    }
    for (const line of come) lines.push(line);
  }
  while (next < base.length) lines.push(base[next++] ?? "");
  return lines;
}
