// The columns of answers.

/** @typedef {import("whence/query/types").Column} Column */
/** @typedef {import("whence/query/types").Plan} Plan */
/** @typedef {import("whence/query/types").Tables} Tables */

/**
 * Return the columns of an answer, before those without a value are left out.
 * @param {Plan} plan
 * @param {Tables} tables
 * @returns {Column[]}
 */
export function outputs(plan, tables) {
  const { columns: all, names } = tables.tables[plan.table];
  /** @type {(name: string) => Column} */
  const of = (name) => all.find((column) => column.name === name) ?? all[0];
  /** @type {(name: string, unit: string, about: string) => Column} */
  const more = (name, unit, about) => ({ name, unit, about, adds: false });
  const keys = plan.by.length ? plan.by.map(of) : all.slice(0, names);
  const rows = plan.by.length ? [more("rows", "count", `the number of ${plan.table}`)] : [];
  if (plan.measure && plan.against) {
    const measure = of(plan.measure);
    return [...keys, measure, of(`old_${plan.measure}`), more("difference", measure.unit, "here less there"), more("ratio", "number", "here by there"), ...rows];
  }
  if (plan.measure) return [...keys, of(plan.measure), more("part", "share", "the part of all rows of the answer"), ...rows];
  if (plan.by.length) return [...keys, ...rows, ...all.filter(({ name, adds }) => adds && !plan.by.includes(name))];
  return plan.show.length ? plan.show.map(of) : all;
}
