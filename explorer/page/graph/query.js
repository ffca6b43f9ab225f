// Search in a graph: nodes by name, by operator, by the shape or the dtype of what they read and give; groups by name.

import { match } from "whence/fuzzy";
import { extents } from "whence/graph/boxes";

/** @typedef {import("whence/types").Session["graphs"][number]} Graph */
/** @typedef {import("whence/graph/scopes").Scopes} Scopes */
/** @typedef {{id: number, text: string}} Hit a node or a group, and what a list shows of it */

const SHAPE = /^[[(]?\s*\d+(?:\s*[x×,]\s*\d+)+\s*[\])]?$/i;
const DTYPE = /^(?:u?int|float|bfloat|complex)\d+$|^bool$/i;
const TYPE = /^(\w+)\[[^\]]*\]/;

/**
 * Return the types of what each node gives and reads, weights included, those that it gives first.
 * @param {Graph} graph
 */
function typesOf({ nodes, edges }) {
  const types = nodes.attributes.map((rows) => rows.flatMap(([, value]) => TYPE.exec(value)?.[0] ?? []));
  edges.text.forEach((text, e) => {
    types[edges.source[e]].unshift(text);
    types[edges.target[e]].push(text);
  });
  return types;
}

/**
 * Return what a query finds, best first.
 * @param {Graph} graph @param {Scopes} scopes @param {string[]} names what lists show of the nodes @param {string} query
 * @returns {Hit[]}
 */
export function search(graph, scopes, names, query) {
  const wanted = query.trim().toLowerCase();
  if (!wanted) return [];
  const shape = SHAPE.test(wanted) && wanted.replace(/[[\]()\s]/g, "").replace(/[×,]/g, "x");
  if (shape || DTYPE.test(wanted)) {
    const fits = (/** @type {string} */ type) => (shape ? extents(type) === shape : TYPE.exec(type)?.[1].toLowerCase() === wanted);
    return typesOf(graph).flatMap((types, id) => {
      const type = types.find(fits);
      return type ? [{ id, text: `${names[id]} ${type}` }] : [];
    });
  }
  const groups = scopes.path.map((path, k) => ({ id: scopes.count + k, text: `group ${path}`, by: path }));
  const all = [...names.map((text, id) => ({ id, text, by: text })), ...groups];
  return all
    .map(({ id, text, by }) => ({ id, text, score: match(wanted, by)?.score ?? -Infinity }))
    .filter(({ score }) => score > -Infinity)
    .sort((a, b) => b.score - a.score || a.id - b.id);
}
