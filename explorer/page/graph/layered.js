/**
 * Layered layout: longest-path ranks, bends for long edges, barycentre sweeps, median places.
 *
 * The module imports nothing, as it is also the worker in which it runs: import maps do not reach workers.
 */

/**
 * Nodes to be laid out, and edges from lower to higher nodes.
 * @typedef {object} Level
 * @property {Float64Array} width
 * @property {Float64Array} height
 * @property {Int32Array} sources
 * @property {Int32Array} targets
 * @property {number} [gap] pixels between ranks
 * @property {Uint8Array} [loose] 1 for nodes that stand just above their first readers, whatever they read; none by default
 */

/**
 * Where they are, from the left upper corner of the whole. The bends of edge e are the points `first[e]` to
 * `first[e + 1]` of `bends`.
 * @typedef {object} Placed
 * @property {Float64Array} x middles
 * @property {Float64Array} y tops
 * @property {number} width
 * @property {number} height
 * @property {Int32Array} first
 * @property {Float64Array} bends x, y, x, y, ..
 */

/** @typedef {{starts: Int32Array, items: Int32Array}} Lists lists one behind the other: k has `starts[k]` to `starts[k + 1]` */

const GAP = 28;
const RANK_GAP = 44;
const BEND = 10;
const SWEEPS = 6;
const PLACINGS = 8;

/** @param {number} count @param {ArrayLike<number>} keys @param {(k: number) => number} value @returns {Lists} */
export function group(count, keys, value) {
  const starts = new Int32Array(count + 1);
  for (let k = 0; k < keys.length; k++) starts[keys[k] + 1]++;
  for (let k = 0; k < count; k++) starts[k + 1] += starts[k];
  const next = starts.slice(0, count);
  const items = new Int32Array(keys.length);
  for (let k = 0; k < keys.length; k++) items[next[keys[k]]++] = value(k);
  return { starts, items };
}

/** Ranks along the longest paths; what is loose or has no sources goes down to its first reader. @param {Lists} out @param {Lists} into */
function ranked(/** @type {number} */ count, out, into, /** @type {Uint8Array | undefined} */ loose) {
  const rank = new Int32Array(count);
  for (let v = 0; v < count; v++)
    for (let k = out.starts[v]; k < out.starts[v + 1]; k++)
      if (rank[out.items[k]] <= rank[v]) rank[out.items[k]] = rank[v] + 1;
  for (let v = count - 1; v >= 0; v--) {
    if ((into.starts[v] !== into.starts[v + 1] && !loose?.[v]) || out.starts[v] === out.starts[v + 1]) continue;
    let least = Infinity;
    for (let k = out.starts[v]; k < out.starts[v + 1]; k++) least = Math.min(least, rank[out.items[k]]);
    rank[v] = least - 1;
  }
  return rank;
}

/** The longest edge that gets bends, so that bends stay linear in the nodes. @param {Int32Array} spans per source */
function longest(spans) {
  const budget = 4 * spans.length + 1000;
  const sorted = spans.slice().sort();
  let used = 0;
  for (const span of sorted) {
    used += Math.max(0, span - 1);
    if (used > budget) return span - 1;
  }
  return Infinity;
}

/** Order each layer by the mean place of its neighbours. @param {Int32Array[]} layers @param {Lists} up @param {Lists} down */
function order(layers, up, down) {
  const index = new Float64Array(up.starts.length - 1);
  const mean = new Float64Array(index.length);
  for (const layer of layers) for (let i = 0; i < layer.length; i++) index[layer[i]] = i;
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const near = sweep % 2 ? down : up;
    for (let l = 0; l < layers.length; l++) {
      const layer = layers[sweep % 2 ? layers.length - 1 - l : l];
      if (layer.length < 2) continue;
      for (const v of layer) {
        const from = near.starts[v];
        const to = near.starts[v + 1];
        let sum = 0;
        for (let k = from; k < to; k++) sum += index[near.items[k]];
        mean[v] = to > from ? sum / (to - from) : index[v];
      }
      layer.sort((a, b) => mean[a] - mean[b] || index[a] - index[b]);
      for (let i = 0; i < layer.length; i++) index[layer[i]] = i;
    }
  }
  for (const lists of [up, down])
    for (let v = 0; v < index.length; v++)
      lists.items.subarray(lists.starts[v], lists.starts[v + 1]).sort((a, b) => index[a] - index[b]);
}

/**
 * Move a layer as near to the wishes as the widths allow: the least squares, by pooling neighbours that collide.
 * @param {Int32Array} layer @param {Float64Array} x read and written @param {(v: number) => number} wish
 * @param {Float64Array} width @param {number} nodes those from here on are bends, which stay straight
 */
function settle(layer, x, wish, width, nodes) {
  const at = new Float64Array(layer.length);
  const weight = new Float64Array(layer.length);
  const size = new Int32Array(layer.length);
  const offset = new Float64Array(layer.length);
  let blocks = 0;
  for (let i = 0; i < layer.length; i++) {
    if (i) offset[i] = offset[i - 1] + (width[layer[i - 1]] + width[layer[i]]) / 2 + GAP;
    at[blocks] = wish(layer[i]) - offset[i];
    weight[blocks] = layer[i] < nodes ? 1 : 4;
    size[blocks] = 1;
    blocks++;
    while (blocks > 1 && at[blocks - 2] > at[blocks - 1]) {
      const both = weight[blocks - 2] + weight[blocks - 1];
      at[blocks - 2] = (at[blocks - 2] * weight[blocks - 2] + at[blocks - 1] * weight[blocks - 1]) / both;
      weight[blocks - 2] = both;
      size[blocks - 2] += size[blocks - 1];
      blocks--;
    }
  }
  for (let b = 0, i = 0; b < blocks; b++) for (let k = 0; k < size[b]; k++, i++) x[layer[i]] = at[b] + offset[i];
}

/** The place of each node and bend across. @param {Int32Array[]} layers @param {Lists} up @param {Lists} down */
function across(layers, up, down, /** @type {Float64Array} */ width, /** @type {number} */ nodes) {
  const x = new Float64Array(width.length);
  for (const layer of layers) settle(layer, x, () => 0, width, nodes);
  for (let turn = 0; turn < PLACINGS; turn++) {
    const near = turn % 2 ? down : up;
    const wish = (/** @type {number} */ v) => {
      const from = near.starts[v];
      const count = near.starts[v + 1] - from;
      return count ? (x[near.items[from + ((count - 1) >> 1)]] + x[near.items[from + (count >> 1)]]) / 2 : x[v];
    };
    for (let l = 0; l < layers.length; l++)
      settle(layers[turn % 2 ? layers.length - 1 - l : l], x, wish, width, nodes);
  }
  return x;
}

/**
 * Chains of bends: those of node v are `starts[v]` to `starts[v + 1]`, a rank each. Edges of one source share them.
 * @param {Int32Array} rank @param {Int32Array} sources @param {Int32Array} targets
 */
function chains(rank, sources, targets) {
  const spans = new Int32Array(rank.length);
  for (let e = 0; e < sources.length; e++)
    spans[sources[e]] = Math.max(spans[sources[e]], rank[targets[e]] - rank[sources[e]]);
  const limit = longest(spans);
  const starts = new Int32Array(rank.length + 1);
  for (let v = 0; v < rank.length; v++)
    starts[v + 1] = starts[v] + (spans[v] <= limit ? Math.max(0, spans[v] - 1) : 0);
  /** The bends of an edge; -1 for one too long. @param {number} e */
  const bends = (e) => (spans[sources[e]] <= limit ? rank[targets[e]] - rank[sources[e]] - 1 : -1);
  return { starts, bends };
}

/** @param {Level} level @returns {Placed} */
export function layered({ width, height, sources, targets, gap = RANK_GAP, loose }) {
  const count = width.length;
  const into = group(count, targets, (k) => sources[k]);
  const rank = ranked(count, group(count, sources, (k) => targets[k]), into, loose);
  const { starts, bends } = chains(rank, sources, targets);
  const total = count + starts[count];
  const wide = new Float64Array(total).fill(BEND);
  wide.set(width);
  const level = new Int32Array(total);
  level.set(rank);
  /** @type {number[]} */
  const from = [];
  /** @type {number[]} */
  const to = [];
  for (let v = 0; v < count; v++)
    for (let k = starts[v]; k < starts[v + 1]; k++) {
      level[count + k] = rank[v] + 1 + k - starts[v];
      from.push(k === starts[v] ? v : count + k - 1);
      to.push(count + k);
    }
  for (let e = 0; e < sources.length; e++) {
    if (bends(e) < 0) continue;
    from.push(bends(e) ? count + starts[sources[e]] + bends(e) - 1 : sources[e]);
    to.push(targets[e]);
  }
  let depth = 0;
  for (const r of rank) depth = Math.max(depth, r + 1);
  const members = group(depth, level, (k) => k);
  const layers = Array.from({ length: depth }, (_, r) =>
    members.items.subarray(members.starts[r], members.starts[r + 1]),
  );
  const up = group(total, to, (k) => from[k]);
  const down = group(total, from, (k) => to[k]);
  order(layers, up, down);
  const x = across(layers, up, down, wide, count);
  const tall = new Float64Array(depth);
  for (let v = 0; v < count; v++) tall[rank[v]] = Math.max(tall[rank[v]], height[v]);
  const tops = new Float64Array(depth + 1);
  for (let r = 0; r < depth; r++) tops[r + 1] = tops[r] + tall[r] + gap;
  let left = Infinity;
  let right = -Infinity;
  for (let v = 0; v < total; v++) {
    left = Math.min(left, x[v] - wide[v] / 2);
    right = Math.max(right, x[v] + wide[v] / 2);
  }
  const first = new Int32Array(sources.length + 1);
  const points = [];
  for (let e = 0; e < sources.length; e++) {
    for (let k = 0; k < bends(e); k++) {
      const at = x[count + starts[sources[e]] + k] - left;
      const r = rank[sources[e]] + 1 + k;
      points.push(at, tops[r], at, tops[r] + tall[r]);
    }
    first[e + 1] = points.length / 2;
  }
  return {
    x: x.subarray(0, count).map((at) => at - left),
    y: Float64Array.from(rank, (r, v) => tops[r] + (tall[r] - height[v]) / 2),
    width: Math.max(0, right - left),
    height: Math.max(0, tops[depth] - gap),
    first,
    bends: Float64Array.from(points),
  };
}

const scope = /** @type {any} */ (globalThis);
if (typeof scope.WorkerGlobalScope !== "undefined" && scope instanceof scope.WorkerGlobalScope)
  scope.onmessage = (/** @type {MessageEvent<{ticket: number, levels: Level[]}>} */ { data }) =>
    scope.postMessage({ ticket: data.ticket, placed: data.levels.map(layered) });
