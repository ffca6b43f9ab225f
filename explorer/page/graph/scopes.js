// Name scopes of a graph as a tree of groups, and what of it is visible while some groups are folded.

import { group as listed } from "whence/graph/layered";

/** @typedef {import("whence/types").Session["graphs"][number]} Graph */

/**
 * Ids below `count` are nodes of the graph, the others groups, each after the group around it.
 * @typedef {object} Scopes
 * @property {number} count
 * @property {Int32Array} parent the innermost group around each id, or -1
 * @property {string[]} name of each group; that of group g is `name[g - count]`
 * @property {string[]} path the whole scope of each group
 * @property {Int32Array} members the number of nodes in each group, those of groups in it included
 * @property {Int32Array} holder node -> the node in whose box it stands: itself, for constants the node in whose box all
 *   their readers stand, if there is one, and -1 for constants that nothing reads
 * @property {Uint8Array} loose node -> 1 where no input leads to it, as to weights and what is made of them
 */

/**
 * Items are what is drawn: nodes, folded groups, and open groups around them, which stand before their members.
 * @typedef {object} Visible
 * @property {number[]} ids of the items
 * @property {Int32Array} parent the item of the open group around each, or -1
 * @property {Int32Array} edges pairs of items
 * @property {number[]} edge for each pair, the first edge of the graph that it stands for
 * @property {Int32Array} shows node -> the item that shows it, or -1
 * @property {Uint8Array} loose 1 for items that hold loose nodes alone
 */

const MOST = 60;
const MOST_AT_ROOT = 400;
/** The name of a group of equal blocks in a row: `12 x Conv, Add`. */
const ROW = /^\d+ x /;

/**
 * Return the groups of a graph; a scope of one node, or of one scope and no more, is none.
 * @param {Graph} graph
 * @returns {Scopes}
 */
export function scopesOf(graph) {
  const { nodes, edges } = graph;
  const count = nodes.label.length;
  const holder = holders(nodes.kind, edges);
  /** @type {{name: string, path: string, parent: number, children: Map<string, number>, own: number, members: number}[]} */
  const tries = [{ name: "", path: "", parent: -1, children: new Map(), own: 0, members: 0 }];
  const home = new Int32Array(count);
  /** @type {Map<string, number>} */
  const known = new Map();
  for (let node = 0; node < count; node++) {
    const scope = nodes.scope[node];
    let at = known.get(scope) ?? -1;
    if (at < 0) {
      at = 0;
      for (const name of scope.split("/").filter(Boolean)) {
        const parent = at;
        const path = tries[parent].path ? `${tries[parent].path}/${name}` : name;
        at = tries[parent].children.get(name) ?? tries.push({ name, path, parent, children: new Map(), own: 0, members: 0 }) - 1;
        tries[parent].children.set(name, at);
      }
      known.set(scope, at);
    }
    home[node] = at;
    tries[at].own++;
  }
  for (let at = tries.length - 1; at >= 0; at--) {
    tries[at].members += tries[at].own;
    if (at) tries[tries[at].parent].members += tries[at].members;
  }
  const group = new Int32Array(tries.length).fill(-1);
  const parents = [...new Array(count).fill(-1)];
  /** @type {Scopes} */
  const scopes = { count, parent: new Int32Array(0), name: [], path: [], members: new Int32Array(0), holder, loose: looseOf(graph) };
  const members = [];
  for (let at = 1; at < tries.length; at++) {
    const { name, path, parent, children, own } = tries[at];
    const outer = group[parent];
    const passes = own === 0 && children.size === 1;
    group[at] = outer;
    if (passes || tries[at].members < 2) continue;
    group[at] = parents.push(outer) - 1;
    const above = outer < 0 ? "" : `${scopes.path[outer - count]}/`;
    scopes.name.push(path.startsWith(above) ? path.slice(above.length) : name);
    scopes.path.push(path);
    members.push(tries[at].members);
  }
  for (let node = 0; node < count; node++) parents[node] = group[home[node]];
  return { ...scopes, parent: Int32Array.from(parents), members: Int32Array.from(members) };
}

/** @param {string[]} kind @param {Graph["edges"]} edges */
function holders(kind, { source, target }) {
  const holder = Int32Array.from(kind, (name, node) => (name === "constant" ? -1 : node));
  const readers = listed(kind.length, source, (e) => target[e]);
  for (let node = kind.length - 1; node >= 0; node--) {
    if (kind[node] !== "constant") continue;
    for (let k = readers.starts[node]; k < readers.starts[node + 1]; k++) {
      const at = holder[readers.items[k]];
      if (at >= 0) holder[node] = holder[node] < 0 || holder[node] === at ? at : node;
    }
  }
  return holder;
}

/** Which nodes no input leads to; none where there are no inputs. @param {Graph} graph */
function looseOf({ nodes: { kind }, edges: { source, target } }) {
  const reached = Uint8Array.from(kind, (name) => Number(name === "input"));
  if (!reached.includes(1)) return new Uint8Array(kind.length);
  const readers = listed(kind.length, source, (e) => target[e]);
  for (let node = 0; node < kind.length; node++)
    if (reached[node]) for (let k = readers.starts[node]; k < readers.starts[node + 1]; k++) reached[readers.items[k]] = 1;
  return reached.map((flag) => 1 - flag);
}

/**
 * Return the groups that are folded at first: equal blocks in a row, in a graph that has more nodes than one sees; of a
 * group that would show too much, the groups in it, and itself where that does not suffice.
 * @param {Scopes} scopes
 * @returns {Set<number>}
 */
export function foldedAtFirst({ count, parent, name }) {
  const folded = new Set(count > MOST ? name.flatMap((text, k) => (ROW.test(text) ? [count + k] : [])) : []);
  const shown = new Int32Array(name.length + 1);
  const direct = new Int32Array(name.length + 1);
  /** @type {number[][]} */
  const inner = Array.from({ length: name.length + 1 }, () => []);
  const row = (/** @type {number} */ group) => (group < 0 ? name.length : group - count);
  for (let node = 0; node < count; node++) shown[row(parent[node])]++, direct[row(parent[node])]++;
  for (let group = count + name.length - 1; group >= count; group--) {
    direct[row(parent[group])]++;
    inner[row(parent[group])].push(group);
  }
  for (let k = name.length - 1; k >= -1; k--) {
    const [here, most] = k < 0 ? [name.length, MOST_AT_ROOT] : [k, MOST];
    if (shown[here] > most) {
      for (const group of inner[here]) folded.add(group);
      shown[here] = direct[here];
    }
    if (k < 0) break;
    if (shown[here] > most || folded.has(count + k)) {
      folded.add(count + k);
      shown[here] = 1;
    }
    shown[row(parent[count + k])] += shown[here];
  }
  return folded;
}

/**
 * Return what is drawn of a graph.
 * @param {Graph} graph @param {Scopes} scopes @param {Set<number>} folded
 * @returns {Visible}
 */
export function visible({ edges }, { count, parent, holder, loose: free }, folded) {
  const total = parent.length;
  // The outermost folded group around each id, itself included; groups stand after those around them.
  const cover = new Int32Array(total).fill(-1);
  for (let id = count; id < total; id++) {
    const outer = parent[id] < 0 ? -1 : cover[parent[id]];
    cover[id] = outer >= 0 ? outer : folded.has(id) ? id : -1;
  }
  for (let node = 0; node < count; node++) if (parent[node] >= 0) cover[node] = cover[parent[node]];
  const item = new Int32Array(total).fill(-1);
  const ids = [];
  for (let node = 0; node < count; node++) {
    const id = cover[node] < 0 ? node : cover[node];
    if (item[id] >= 0 || holder[node] !== node) continue;
    const around = [];
    for (let group = parent[id]; group >= 0 && item[group] < 0; group = parent[group]) around.push(group);
    for (const group of around.reverse()) item[group] = ids.push(group) - 1;
    item[id] = ids.push(id) - 1;
  }
  const shows = new Int32Array(count);
  for (let node = 0; node < count; node++) {
    const at = holder[node];
    shows[node] = at < 0 ? -1 : item[cover[at] < 0 ? at : cover[at]];
  }
  const pairs = [];
  const edge = [];
  const seen = new Set();
  for (let e = 0; e < edges.source.length; e++) {
    const [a, b] = [shows[edges.source[e]], shows[edges.target[e]]];
    if (a === b || a < 0 || b < 0 || seen.has(a * total + b)) continue;
    seen.add(a * total + b);
    pairs.push(a, b);
    edge.push(e);
  }
  const outer = ids.map((id) => (parent[id] < 0 ? -1 : item[parent[id]]));
  const loose = new Uint8Array(ids.length).fill(1);
  for (let node = 0; node < count; node++)
    if (!free[node]) for (let at = shows[node]; at >= 0 && loose[at]; at = outer[at]) loose[at] = 0;
  return { ids, parent: Int32Array.from(outer), edges: Int32Array.from(pairs), edge, shows, loose };
}

/**
 * Return the folded groups after those around a node are opened, so that it shows.
 * @param {Scopes} scopes @param {Set<number>} folded @param {number} id
 */
export function openedTo({ parent }, folded, id) {
  const open = new Set(folded);
  for (let group = parent[id]; group >= 0; group = parent[group]) open.delete(group);
  return open;
}
