// What part of a graph a canvas shows: the point of the graph in its left upper corner, and the zoom.

import { reveal } from "whence/navigate";

/** @typedef {import("whence/graph/grid").Box} Area */

const LEAST = 0.02;
const MOST = 3;
const MARGIN = 24;
const STEPS = 12;

export class Camera {
  x = 0;
  y = 0;
  zoom = 1;
  #frame = 0;

  width = 0;
  height = 0;

  /** @param {() => void} changed is called when it shows something else */
  constructor(changed) {
    this.changed = changed;
  }

  /** Take the size of the canvas; what was in the middle stays there. @param {number} width @param {number} height */
  resize(width, height) {
    const [dx, dy] = [(this.width - width) / 2, (this.height - height) / 2];
    [this.width, this.height] = [width, height];
    this.#move(this.x + dx / this.zoom, this.y + dy / this.zoom, this.zoom);
  }

  /** @returns {Area} */
  area() {
    const { width, height } = this;
    return [this.x, this.y, this.x + width / this.zoom, this.y + height / this.zoom];
  }

  /** The point of the graph under a point of the canvas. @param {number} x @param {number} y @returns {[number, number]} */
  point(x, y) {
    return [this.x + x / this.zoom, this.y + y / this.zoom];
  }

  /** @param {number} dx @param {number} dy in pixels of the canvas */
  pan(dx, dy) {
    this.set(this.x + dx / this.zoom, this.y + dy / this.zoom, this.zoom);
  }

  /** Zoom around a point of the canvas. @param {number} factor */
  zoomBy(factor, x = this.width / 2, y = this.height / 2) {
    const zoom = Math.min(MOST, Math.max(LEAST, this.zoom * factor));
    const [px, py] = this.point(x, y);
    this.set(px - x / zoom, py - y / zoom, zoom);
  }

  /** Show an area as large as it fits, but no larger than `most`; one too tall from its top. @param {Area} area */
  fit([left, top, right, bottom], most = 1) {
    const { width, height } = this;
    const wide = (width - 2 * MARGIN) / Math.max(1, right - left);
    const tall = (height - 2 * MARGIN) / Math.max(1, bottom - top);
    const zoom = Math.min(most, Math.max(LEAST, Math.min(wide, tall)));
    const above = Math.max(MARGIN, (height - (bottom - top) * zoom) / 2);
    this.set((left + right) / 2 - width / 2 / zoom, top - above / zoom, zoom);
  }

  /** Show an area as large as it is, from where it begins: in the middle of the top, or of the left. @param {Area} area @param {Area} first @param {boolean} sideways */
  begin([left, top], first, sideways) {
    const { width, height } = this;
    if (sideways) this.set(left - MARGIN, (first[1] + first[3] - height) / 2, 1);
    else this.set((first[0] + first[2] - width) / 2, top - MARGIN, 1);
  }

  /** Go to where the middle of an area is the middle of the canvas. @param {Area} area */
  center([left, top, right, bottom], zoom = this.zoom) {
    const { width, height } = this;
    this.go((left + right) / 2 - width / 2 / zoom, (top + bottom) / 2 - height / 2 / zoom, zoom);
  }

  /** Move an area into view where it is not wholly there. @param {Area} area */
  reveal(area) {
    const [x, y] = this.revealing(area);
    if (x !== this.x || y !== this.y) this.go(x, y, this.zoom);
  }

  /** The left upper corner that has an area in view. @param {Area} area */
  revealing([left, top, right, bottom]) {
    const { width, height, zoom } = this;
    return [reveal([left, right], [this.x, width / zoom]), reveal([top, bottom], [this.y, height / zoom])];
  }

  /** Go somewhere in a few frames; at once for those who want no motion. @param {number} x @param {number} y @param {number} zoom */
  go(x, y, zoom) {
    cancelAnimationFrame(this.#frame);
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) {
      this.set(x, y, zoom);
      return;
    }
    const from = { x: this.x, y: this.y, zoom: this.zoom };
    let step = 0;
    const frame = () => {
      const part = ++step / STEPS;
      const eased = part * (2 - part);
      const mix = (/** @type {number} */ a, /** @type {number} */ b) => a + (b - a) * eased;
      this.#move(mix(from.x, x), mix(from.y, y), mix(from.zoom, zoom));
      if (step < STEPS) this.#frame = requestAnimationFrame(frame);
    };
    frame();
  }

  /** @param {number} x @param {number} y @param {number} zoom */
  set(x, y, zoom) {
    cancelAnimationFrame(this.#frame);
    this.#move(x, y, zoom);
  }

  /** @param {number} x @param {number} y @param {number} zoom */
  #move(x, y, zoom) {
    [this.x, this.y, this.zoom] = [x, y, zoom];
    this.changed();
  }
}
