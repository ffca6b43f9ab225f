// Answers to queries: the rows of a table that fit, alone or in groups, as explorer/session/query/answer.py has them.

import { outputs } from "whence/query/columns";
import { parsed } from "whence/query/language";
import { linesOf } from "whence/query/lines";

/** @typedef {import("whence/query/types").Answer} Answer */
/** @typedef {import("whence/query/types").AnswerRow} AnswerRow */
/** @typedef {import("whence/query/types").Column} Column */
/** @typedef {import("whence/query/types").Plan} Plan */
/** @typedef {import("whence/query/types").Rows} Rows */
/** @typedef {import("whence/query/types").Table} Table */
/** @typedef {import("whence/query/types").Tables} Tables */
/** @typedef {import("whence/query/types").Tree} Tree */
/** @typedef {import("whence/query/types").Value} Value */
/** @typedef {import("whence/session").SessionModel} SessionModel */
/** @typedef {(row: number) => boolean} Test */

/** @type {{[sign: string]: (a: number, b: number) => boolean}} */
const COMPARES = { "=": (a, b) => a === b, "<": (a, b) => a < b, "<=": (a, b) => a <= b, ">": (a, b) => a > b, ">=": (a, b) => a >= b };

/**
 * Answer a query; throws QueryError for one that is wrong.
 * @param {SessionModel} model
 * @param {Tables} tables
 * @param {string} query
 * @returns {Promise<Answer>}
 */
export async function answer(model, tables, query) {
  const plan = parsed(query, tables);
  const table = /** @type {Table} */ (tables.tables[plan.table]);
  const rows = plan.table === "lines" ? await linesOf(model, tables, plan.after) : rowsOf(table);
  let { where } = plan;
  if (plan.after && plan.table === "ops") {
    /** @type {Tree} */
    const after = ["=", "pass", plan.after.toLowerCase()];
    where = where ? ["and", after, where] : after;
  }
  const test = fits(rows, where);
  const members = [...rows.layers.keys()].filter(test);
  const columns = outputs(plan, tables);
  /** @type {{key: Value[], own: number[]}[]} */
  const groups = plan.by.length ? grouped(rows, members, plan.by) : members.map((row) => ({ key: [], own: [row] }));
  const total = plan.measure ? sum(rows, plan.measure, members) : null;
  const found = groups.map(({ key, own }) => ({ own, cells: cellsOf(plan, columns, rows, key, own, total) }));
  const shown = ordered(plan, table, columns, found).slice(0, plan.top || undefined);
  const named = new Set([...plan.by, ...plan.show, plan.measure, "rows"]);
  const keep = [...columns.keys()].filter((k) => named.has(columns[k]?.name ?? "") || shown.some(({ cells }) => isThere(cells[k])));
  return {
    subject: plan.table,
    columns: keep.map((k) => /** @type {Column} */ (columns[k])),
    rows: shown.map(({ own, cells }) => ({
      cells: keep.map((k) => cells[k] ?? null),
      layers: [...new Set(own.flatMap((row) => rows.layers[row] ?? []))].sort((a, b) => a - b),
      places: placesOf(rows, own),
    })),
    count: members.length,
  };
}

/** @param {Rows} rows @param {readonly number[]} own */
function placesOf({ places }, own) {
  const found = new Map(own.flatMap((row) => (places[row] ? [[String(places[row]), places[row]]] : [])));
  return [...found.values()].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
}

/** @param {Table} table @returns {Rows} */
function rowsOf({ columns, layers = [], places = [] }) {
  /** @type {(values: (number | null)[], texts?: string[][]) => Value[]} */
  const read = (values, texts) => (texts ? values.map((value) => texts[value ?? 0] ?? []) : values);
  return { layers, places, columns: new Map(columns.map(({ name, values = [], texts }) => [name, read(values, texts)])) };
}

/** @param {Value | undefined} value */
function isThere(value) {
  return Array.isArray(value) ? value.length > 0 : value !== null && value !== undefined;
}

/** A missing number or text fits no comparison. @param {Rows} rows @param {Tree | null} tree @returns {Test} */
function fits(rows, tree) {
  if (!tree) return () => true;
  const [sign] = tree;
  if (sign === "and" || sign === "or") {
    const [first, second] = [fits(rows, /** @type {Tree} */ (tree[1])), fits(rows, /** @type {Tree} */ (tree[2]))];
    return sign === "and" ? (row) => first(row) && second(row) : (row) => first(row) || second(row);
  }
  if (sign === "not") {
    const inner = fits(rows, /** @type {Tree} */ (tree[1]));
    return (row) => !inner(row);
  }
  const values = rows.columns.get(/** @type {string} */ (tree[1])) ?? [];
  if (sign === "has") return (row) => isThere(values[row]) && values[row] !== 0;
  const wanted = /** @type {string | number | string[]} */ (tree[2]);
  return (row) => {
    const value = values[row] ?? null;
    if (!Array.isArray(value)) return value !== null && typeof wanted === "number" && Boolean(COMPARES[sign]?.(value, wanted));
    return value.some((text) => (Array.isArray(wanted) ? holds(text.toLowerCase(), wanted) : text.toLowerCase() === wanted));
  };
}

/** Return whether a text has the parts in order, one after the other. @param {string} text @param {readonly string[]} parts */
function holds(text, parts) {
  let at = 0;
  for (const part of parts) {
    at = text.indexOf(part, at);
    if (at < 0) return false;
    at += part.length;
  }
  return true;
}

/** A row with several texts is in the group of each. @param {Rows} rows @param {number[]} members @param {string[]} by */
function grouped(rows, members, by) {
  /** @type {Map<string, {key: Value[], own: number[]}>} */
  const found = new Map();
  for (const row of members) {
    /** @type {Value[][]} */
    let keys = [[]];
    for (const name of by) {
      const value = rows.columns.get(name)?.[row] ?? null;
      const choices = Array.isArray(value) ? (value.length ? [...new Set(value)].map((text) => [text]) : [[]]) : [value];
      keys = keys.flatMap((key) => choices.map((choice) => [...key, choice]));
    }
    for (const key of keys) {
      const name = JSON.stringify(key);
      const group = found.get(name);
      if (group) group.own.push(row);
      else found.set(name, { key, own: [row] });
    }
  }
  return [...found.values()];
}

/**
 * @param {Plan} plan @param {Column[]} columns @param {Rows} rows @param {Value[]} key @param {number[]} own
 * @param {number | null} total
 */
function cellsOf(plan, columns, rows, key, own, total) {
  const cells = columns.map(({ name }, k) => {
    if (k < key.length) return key[k] ?? null;
    if (name === "rows" && plan.by.length) return own.length;
    return plan.by.length ? sum(rows, name, own) : (rows.columns.get(name)?.[own[0] ?? -1] ?? null);
  });
  if (!plan.measure) return cells;
  const at = plan.by.length || columns.findIndex(({ name }) => name === plan.measure);
  const [here, there] = [cells[at], cells[at + 1]];
  if (typeof here !== "number") return cells;
  if (!plan.against) cells[at + 1] = total ? here / total : null;
  else if (typeof there === "number") cells.splice(at + 2, 2, here - there, there ? here / there : null);
  return cells;
}

/** Return the sum of the numbers that there are. @param {Rows} rows @param {string} name @param {readonly number[]} own */
function sum(rows, name, own) {
  const values = rows.columns.get(name) ?? [];
  /** @type {number | null} */
  let total = null;
  for (const row of own) {
    const value = values[row];
    if (typeof value === "number") total = value + (total ?? 0);
  }
  return total;
}

/**
 * Of numbers the largest is first, texts go by letters; what is missing is last.
 * @template {{cells: Value[]}} Row
 * @param {Plan} plan @param {Table} table @param {Column[]} columns @param {Row[]} rows
 * @returns {Row[]}
 */
function ordered(plan, { rank }, columns, rows) {
  const own = plan.measure && plan.against ? "difference" : plan.measure || (plan.by.length ? "rows" : plan.top ? rank : "");
  const at = columns.findIndex(({ name }) => name === (plan.order || own));
  if (at < 0) return rows;
  const isText = columns[at]?.unit === "text";
  const turn = (plan.direction || (isText ? "up" : "down")) === "down" ? -1 : 1;
  const size = own === "difference" && !plan.order ? Math.abs : Number;
  /** @type {(row: Row) => string} */
  const text = ({ cells }) => /** @type {string[]} */ (cells[at]).join(", ");
  const present = rows.filter(({ cells }) => isThere(cells[at]));
  present.sort((a, b) => {
    const [first, second] = isText ? [text(a), text(b)] : [size(Number(a.cells[at])), size(Number(b.cells[at]))];
    return first < second ? -turn : first > second ? turn : 0;
  });
  return [...present, ...rows.filter(({ cells }) => !isThere(cells[at]))];
}
