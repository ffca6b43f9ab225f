/** Layout of nested graphs: each open group is laid out by itself, the innermost first, and then is a box of its own. */

/** @typedef {import("whence/graph/layered").Level} Level */
/** @typedef {import("whence/graph/layered").Placed} Placed */

/**
 * Items are nodes and open groups; a group stands before its members, and edges point forwards as far as they can.
 * The sizes of groups are the least ones, and grow with what they hold.
 * @typedef {object} Nested
 * @property {Int32Array} parent the open group around each item, or -1
 * @property {Float64Array} width
 * @property {Float64Array} height
 * @property {Int32Array} edges pairs of items
 * @property {number} [gap] pixels between ranks
 * @property {Uint8Array} loose 1 for items that stand just above their first readers
 */

/**
 * Where things are, in pixels, from top to bottom, or from left to right where it is sideways; the bends of edge e are the points `first[e]` to `first[e + 1]` of `bends`.
 * @typedef {object} Placement
 * @property {Float64Array} x middles
 * @property {Float64Array} y tops
 * @property {Float64Array} width
 * @property {Float64Array} height
 * @property {Int32Array} first
 * @property {Float64Array} bends x, y, x, y, ..
 * @property {boolean} sideways
 */

const PADDING = 16;
const HEADER = 30;
/** Room for a label between boxes that stand side by side. */
const SIDEWAYS_GAP = 96;

/**
 * Each edge as one between members of the innermost group around both its ends; edges between the same two are one.
 * @param {Nested} nested @param {Int32Array} depth
 */
function lifted({ parent, edges }, depth) {
  const of = new Int32Array(edges.length / 2).fill(-1);
  const turned = new Uint8Array(of.length);
  /** @type {Map<number, number>} */
  const rows = new Map();
  /** @type {{source: number, target: number}[]} */
  const pairs = [];
  for (let e = 0; e < of.length; e++) {
    let a = edges[2 * e];
    let b = edges[2 * e + 1];
    while (depth[a] > depth[b]) a = parent[a];
    while (depth[b] > depth[a]) b = parent[b];
    while (parent[a] !== parent[b]) [a, b] = [parent[a], parent[b]];
    if (a === b) continue;
    if (a > b) [a, b, turned[e]] = [b, a, 1];
    const key = a * parent.length + b;
    const row = rows.get(key) ?? pairs.push({ source: a, target: b }) - 1;
    rows.set(key, row);
    of[e] = row;
  }
  return { of, turned, pairs };
}

/** @template T @param {T[]} rows @param {(row: T) => number} key @returns {Map<number, number[]>} key -> indexes */
function by(rows, key) {
  const groups = new Map();
  rows.forEach((row, k) => {
    const list = groups.get(key(row));
    if (list) list.push(k);
    else groups.set(key(row), [k]);
  });
  return groups;
}

/** @param {Nested} nested @param {number[]} items @param {number[]} own @param {{source: number, target: number}[]} pairs @returns {Level} */
function level({ loose, gap }, items, own, pairs, /** @type {Float64Array} */ width, /** @type {Float64Array} */ height) {
  const local = new Map(items.map((v, i) => [v, i]));
  const end = (/** @type {number} */ v) => local.get(v) ?? 0;
  return {
    width: Float64Array.from(items, (v) => width[v]),
    height: Float64Array.from(items, (v) => height[v]),
    sources: Int32Array.from(own, (k) => end(pairs[k].source)),
    targets: Int32Array.from(own, (k) => end(pairs[k].target)),
    gap,
    loose: Uint8Array.from(items, (v) => loose[v]),
  };
}

/**
 * Lay a nested graph out.
 * @param {Nested} nested
 * @param {(levels: Level[]) => Placed[] | Promise<Placed[]>} lay `layered` of each level, here or in a worker
 * @param {boolean} sideways whether edges go from left to right, and not down
 * @returns {Promise<Placement>}
 */
export async function layout(nested, lay, sideways = false) {
  if (!sideways) return down(nested, lay, false);
  const { x, y, width, height, first, bends } = await down({ ...nested, gap: SIDEWAYS_GAP, width: nested.height, height: nested.width }, lay, true);
  const turned = bends.map((_, i) => bends[i ^ 1]);
  return { x: y.map((top, k) => top + height[k] / 2), y: x.map((middle, k) => middle - width[k] / 2), width: height, height: width, first, bends: turned, sideways };
}

/**
 * Lay a nested graph out from top to bottom; headers of groups are at their left where it is turned afterwards.
 * @param {Nested} nested
 * @param {(levels: Level[]) => Placed[] | Promise<Placed[]>} lay
 * @param {boolean} turned
 * @returns {Promise<Placement>}
 */
async function down(nested, lay, turned) {
  const [above, left] = turned ? [0, HEADER] : [HEADER, 0];
  const { parent } = nested;
  const count = parent.length;
  const depth = new Int32Array(count);
  for (let v = 0; v < count; v++) depth[v] = parent[v] < 0 ? 0 : depth[parent[v]] + 1;
  const { of, turned: back, pairs } = lifted(nested, depth);
  const members = by([...parent], (p) => p);
  const inside = by(pairs, ({ source }) => parent[source]);
  const [x, y] = [new Float64Array(count), new Float64Array(count)];
  const [width, height] = [nested.width.slice(), nested.height.slice()];
  /** @type {ArrayLike<number>[]} */
  const routes = new Array(pairs.length);
  const floors = by([...members.keys()], (home) => (home < 0 ? 0 : depth[home] + 1));
  const homes = [...members.keys()];
  for (const floor of [...floors.keys()].sort((a, b) => b - a)) {
    const here = (floors.get(floor) ?? []).map((k) => homes[k]);
    const lists = here.map((home) => ({ home, items: members.get(home) ?? [], own: inside.get(home) ?? [] }));
    const placed = await lay(lists.map(({ items, own }) => level(nested, items, own, pairs, width, height)));
    lists.forEach(({ home, items, own }, h) => {
      const one = placed[h];
      const [dx, dy] = [(home < 0 ? 0 : left / 2) - one.width / 2, home < 0 ? 0 : above + PADDING];
      items.forEach((v, i) => ([x[v], y[v]] = [one.x[i] + dx, one.y[i] + dy]));
      own.forEach((k, e) => {
        const points = one.bends.subarray(2 * one.first[e], 2 * one.first[e + 1]);
        routes[k] = points.map((at, i) => at + (i % 2 ? dy : dx));
      });
      if (home < 0) return;
      width[home] = Math.max(width[home], one.width + left + 2 * PADDING);
      height[home] = Math.max(height[home], one.height + above + 2 * PADDING);
    });
  }
  for (let v = 0; v < count; v++)
    if (parent[v] >= 0) [x[v], y[v]] = [x[v] + x[parent[v]], y[v] + y[parent[v]]];
  const first = new Int32Array(of.length + 1);
  const bends = [];
  for (let e = 0; e < of.length; e++) {
    const points = of[e] < 0 ? [] : routes[of[e]];
    const home = of[e] < 0 ? -1 : parent[pairs[of[e]].source];
    const [dx, dy] = home < 0 ? [0, 0] : [x[home], y[home]];
    for (let i = 0; i < points.length; i += 2) {
      const at = back[e] ? points.length - 2 - i : i;
      bends.push(points[at] + dx, points[at + 1] + dy);
    }
    first[e + 1] = bends.length / 2;
  }
  return { x, y, width, height, first, bends: Float64Array.from(bends), sideways: false };
}

/** The two ends and the bends of an edge, as points. @param {Placement} at @param {Int32Array} edges @param {number} e */
export function route(at, edges, e) {
  const [a, b] = [edges[2 * e], edges[2 * e + 1]];
  const between = at.bends.subarray(2 * at.first[e], 2 * at.first[e + 1]);
  if (at.sideways) {
    const out = at.x[a] - at.width[a] / 2 <= at.x[b] - at.width[b] / 2 ? 0.5 : -0.5;
    const middle = (/** @type {number} */ v) => at.y[v] + at.height[v] / 2;
    return [at.x[a] + out * at.width[a], middle(a), ...between, at.x[b] - out * at.width[b], middle(b)];
  }
  const down = at.y[a] <= at.y[b];
  return [at.x[a], down ? at.y[a] + at.height[a] : at.y[a], ...between, at.x[b], down ? at.y[b] : at.y[b] + at.height[b]];
}

const STEPS = 10;

/**
 * Return how far a point is from an edge as it is drawn: curves, and straight lines, from point to point.
 * @param {number[]} points @param {number} x @param {number} y @param {boolean} sideways
 */
export function distance(points, x, y, sideways) {
  let least = Infinity;
  for (let i = 2; i < points.length; i += 2) {
    const [fromX, fromY, toX, toY] = [points[i - 2], points[i - 1], points[i], points[i + 1]];
    let [beforeX, beforeY] = [fromX, fromY];
    for (let step = 1; step <= STEPS; step++) {
      const part = step / STEPS;
      // The curve of Bezier whose handles are halfway along.
      const [along, across] = [1.5 * part * (1 - part) + part ** 3, part * part * (3 - 2 * part)];
      const [dx, dy] = sideways ? [along, across] : [across, along];
      const [nextX, nextY] = [fromX + (toX - fromX) * dx, fromY + (toY - fromY) * dy];
      const [wayX, wayY] = [nextX - beforeX, nextY - beforeY];
      const at = ((x - beforeX) * wayX + (y - beforeY) * wayY) / (wayX * wayX + wayY * wayY || 1);
      const inside = Math.min(1, Math.max(0, at));
      least = Math.min(least, Math.hypot(beforeX + inside * wayX - x, beforeY + inside * wayY - y));
      [beforeX, beforeY] = [nextX, nextY];
    }
  }
  return least;
}
