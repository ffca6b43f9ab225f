// A graph as it is drawn: the visible items with their boxes and places, and what is where.

import { boxesOf, HEADER } from "whence/graph/boxes";
import { Grid } from "whence/graph/grid";
import { Labels } from "whence/graph/labels";
import { distance, layout, route } from "whence/graph/layout";
import { visible } from "whence/graph/scopes";
import { lay } from "whence/graph/worker";

/** @typedef {import("whence/types").Session["graphs"][number]} Graph */
/** @typedef {import("whence/graph/scopes").Scopes} Scopes */
/** @typedef {import("whence/graph/scopes").Visible} Visible */
/** @typedef {import("whence/graph/layout").Placement} Placement */
/** @typedef {import("whence/graph/boxes").Box} Box */
/** @typedef {import("whence/graph/grid").Box} Area */

export class Scene {
  #boxGrid = new Grid();
  #edgeGrid = new Grid();
  /** @type {number[][]} */
  #routes = [];
  labels = new Labels(this);

  /**
   * @param {Graph} graph @param {Scopes} scopes @param {Set<number>} folded
   * @param {Visible} shown @param {Placement} at @param {Box[]} boxes
   */
  constructor(graph, scopes, folded, shown, at, boxes) {
    this.graph = graph;
    this.scopes = scopes;
    this.folded = folded;
    this.ids = shown.ids;
    this.shows = shown.shows;
    this.edges = shown.edges;
    this.edge = shown.edge;
    this.at = at;
    this.boxes = boxes;
    /** @type {Area} */
    this.bounds = [0, 0, 0, 0];
    const bounds = [Infinity, Infinity, -Infinity, -Infinity];
    for (let k = 0; k < this.ids.length; k++) {
      const area = this.area(k);
      this.#boxGrid.add(k, ...area);
      for (const side of [0, 1]) bounds[side] = Math.min(bounds[side], area[side]);
      for (const side of [2, 3]) bounds[side] = Math.max(bounds[side], area[side]);
    }
    if (this.ids.length) this.bounds = [bounds[0], bounds[1], bounds[2], bounds[3]];
    for (let e = 0; e < this.edge.length; e++) {
      const points = this.route(e);
      for (let i = 0; i + 3 < points.length; i += 2) {
        const [a, b, c, d] = [points[i], points[i + 1], points[i + 2], points[i + 3]];
        this.#edgeGrid.add(e, Math.min(a, c), Math.min(b, d), Math.max(a, c), Math.max(b, d));
      }
    }
  }

  /** @param {number} k @returns {Area} left, top, right, bottom */
  area(k) {
    const { x, y, width, height } = this.at;
    return [x[k] - width[k] / 2, y[k], x[k] + width[k] / 2, y[k] + height[k]];
  }

  /** What of an item hides what is under it: all of a box, the header of an open group. @param {number} k @returns {Area} */
  solid(k) {
    const [left, top, right, bottom] = this.area(k);
    return [left, top, right, this.isOpen(k) ? top + HEADER : bottom];
  }

  /** The points of an edge, from its source to its target. @param {number} e */
  route(e) {
    return (this.#routes[e] ??= route(this.at, this.edges, e));
  }

  /** @param {Area} area */
  boxesIn(area) {
    return this.#boxGrid.near(area);
  }

  /** @param {Area} area */
  edgesIn(area) {
    return this.#edgeGrid.near(area);
  }

  /** Whether an item is a group that is open. @param {number} k */
  isOpen(k) {
    return this.isGroup(k) && !this.folded.has(this.ids[k]);
  }

  /** @param {number} k */
  isGroup(k) {
    return this.ids[k] >= this.scopes.count;
  }

  /** Return the item under a point, -1 for none; open groups are met at their headers. @param {number} x @param {number} y */
  under(x, y) {
    return (
      this.boxesIn([x, y, x, y]).findLast((k) => {
        const [left, top, right, bottom] = this.solid(k);
        return x >= left && x <= right && y >= top && y <= bottom;
      }) ?? -1
    );
  }

  /** Return the edge near a point, -1 for none. @param {number} x @param {number} y @param {number} near */
  edgeUnder(x, y, near) {
    return this.edgesIn([x - near, y - near, x + near, y + near]).find((e) => distance(this.route(e), x, y, this.at.sideways) <= near) ?? -1;
  }

  /** Return the items along edges: those that an item reads (-1) or that read it (1). @param {number} k @param {1 | -1} way */
  along(k, way) {
    const near = [];
    for (let e = 0; e < this.edge.length; e++)
      if (this.edges[2 * e + (way > 0 ? 0 : 1)] === k) near.push(this.edges[2 * e + (way > 0 ? 1 : 0)]);
    return near;
  }

  /** Return the layers of an item. @param {number[][]} sets @param {number} k @returns {number[]} */
  layers(sets, k) {
    const { set } = this.graph.nodes;
    if (!this.isGroup(k)) return sets[set[this.ids[k]]] ?? [];
    const rows = new Set();
    for (const node of this.nodesOf(k)) for (const row of sets[set[node]] ?? []) rows.add(row);
    return [...rows].sort((a, b) => a - b);
  }

  /** Return the nodes that an item stands for. @param {number} k @returns {number[]} */
  nodesOf(k) {
    const id = this.ids[k];
    if (id < this.scopes.count) return [id];
    const inside = new Uint8Array(this.scopes.parent.length);
    inside[id] = 1;
    const { count, parent } = this.scopes;
    for (let group = id + 1; group < parent.length; group++) if (parent[group] >= 0 && inside[parent[group]]) inside[group] = 1;
    const nodes = [];
    for (let node = 0; node < count; node++) if (parent[node] >= 0 && inside[parent[node]]) nodes.push(node);
    return nodes;
  }
}

/**
 * Return a graph laid out.
 * @param {Graph} graph @param {Scopes} scopes @param {Set<number>} folded @param {boolean} sideways
 */
export async function sceneOf(graph, scopes, folded, sideways) {
  const shown = visible(graph, scopes, folded);
  await pause();
  const boxes = boxesOf(graph, scopes, shown.ids);
  const { parent, edges, loose } = shown;
  const open = shown.ids.map((id) => id >= scopes.count && !folded.has(id));
  const height = Float64Array.from(boxes, (box, k) => (open[k] ? HEADER : box.height));
  const nested = { parent, edges, loose, width: Float64Array.from(boxes, (box) => box.width), height };
  await pause();
  const at = await layout(nested, lay, sideways);
  await pause();
  return new Scene(graph, scopes, folded, shown, at, boxes);
}

/** Let the page answer between the parts of long work. */
function pause() {
  return new Promise((resolve) => setTimeout(resolve));
}
