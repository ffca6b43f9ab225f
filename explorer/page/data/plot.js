// Rectangles on a canvas: a timeline, or memory over time. Drawn anew when their looks change, and only then.

import { ABOVE, BELOW, LEFT, paint } from "whence/data/paint";
import { h, mark } from "whence/dom";

/** @typedef {import("whence/types").App} App */
/** @typedef {{x: number, until: number, y: number, top: number, rows: readonly number[], label: string, about: string, call?: number}} Box */
/** @typedef {{at: number, text: string}} Tick */
/**
 * @typedef {object} Drawing
 * @property {string} name what tests call it
 * @property {string} title
 * @property {readonly Box[]} boxes in the order in which keys walk over them
 * @property {number} width of the values of x, from 0
 * @property {number} height of the values of y, from 0
 * @property {boolean} down whether y grows downwards
 * @property {(from: number, until: number) => Tick[]} across ticks of x
 * @property {readonly Tick[]} along ticks of y
 * @property {readonly {x: number, until: number, text: string}[]} [spans] parts of x that are marked
 * @property {readonly Tick[]} [levels] values of y that are marked
 * @property {(from: number, until: number) => string} [summary] what is said of a part of x that somebody selects
 */

/** Pixels from which on a movement selects. */
const DRAG = 4;

export class Plot {
  /** The part of x in view. */
  #from = 0;
  #until = 1;
  #chosen = -1;
  #frame = 0;
  /** The part of x that is selected. @type {[number, number] | null} */
  #range = null;
  #down = 0;
  /** Where a selection began: the pointer's x, or the box that keys began at. @type {{x: number, until: number} | null} */
  #begun = null;
  /** @type {(() => void)[]} */
  #off = [];

  /**
   * @param {App} app
   * @param {Drawing} drawing
   */
  constructor(app, drawing) {
    this.app = app;
    this.drawing = drawing;
    this.#until = drawing.width;
    this.canvas = h("canvas", {
      tabindex: 0,
      role: "slider",
      "aria-label": drawing.title,
      "aria-valuemin": 0,
      "aria-valuemax": Math.max(0, drawing.boxes.length - 1),
      "aria-valuenow": 0,
      "data-test": drawing.name,
      onclick: (/** @type {MouseEvent} */ event) => void (this.#begun ?? this.#pin(this.#hit(event), event.shiftKey)),
      onpointerdown: (/** @type {PointerEvent} */ event) => {
        this.#select(null);
        this.#down = event.offsetX;
      },
      onpointermove: (/** @type {PointerEvent} */ event) => this.#moved(event),
      onpointerleave: () => this.#choose(-1),
      onkeydown: (/** @type {KeyboardEvent} */ event) => this.#key(event),
      onwheel: (/** @type {WheelEvent} */ event) => this.#wheel(event),
    });
    this.said = h("p", { class: "plot-said", "data-test": `${drawing.name}-said` });
    this.element = h("div", { class: "plot" }, h("div", { class: "plot-room" }, this.canvas), this.said);
    const size = new ResizeObserver(() => this.#later());
    size.observe(this.canvas);
    this.#off = [() => size.disconnect(), app.state.on(["pins", "hover", "theme"], () => this.#later())];
    this.#tell();
  }

  destroy() {
    for (const off of this.#off) off();
    cancelAnimationFrame(this.#frame);
  }

  #later() {
    cancelAnimationFrame(this.#frame);
    this.#frame = requestAnimationFrame(() => this.#draw());
  }

  #tell() {
    const box = this.drawing.boxes[this.#chosen];
    const text = this.#range ? (this.drawing.summary?.(...this.#range) ?? "") : box ? `${box.label}: ${box.about}` : `${this.drawing.title}. Click or Enter pins, arrow keys go from one to the next, + and - zoom, 0 shows all${this.drawing.summary ? ", dragging or Shift with arrow keys selects a part" : ""}.`;
    this.said.textContent = text;
    mark(this.canvas, "aria-valuenow", String(Math.max(0, this.#chosen)));
    mark(this.canvas, "aria-valuetext", box ? text : "none");
  }

  /** @param {PointerEvent} event */
  #moved(event) {
    const drags = this.#begun || Math.abs(event.offsetX - this.#down) >= DRAG;
    if (!this.drawing.summary || !(event.buttons & 1) || !drags) return this.#choose(this.#hit(event));
    for (const pixel of [this.#down, event.offsetX]) {
      const share = (pixel - LEFT) / Math.max(1, this.canvas.clientWidth - LEFT - 8);
      const at = Math.max(0, Math.min(this.drawing.width, this.#from + share * (this.#until - this.#from)));
      this.#select({ x: at, until: at });
    }
  }

  /**
   * Select from where a selection began to a place, or nothing.
   * @param {{x: number, until: number} | null | undefined} place
   */
  #select(place) {
    if (place) this.#begun ??= place;
    else this.#begun = null;
    this.#range = place && this.#begun ? [Math.min(this.#begun.x, place.x), Math.max(this.#begun.until, place.until)] : null;
    this.#tell();
    this.#later();
  }

  /** @param {number} number */
  #choose(number) {
    if (number === this.#chosen) return;
    this.#chosen = number;
    this.app.hover(this.drawing.boxes[number]?.rows ?? null);
    this.#tell();
    this.#later();
  }

  /**
   * @param {number} number
   * @param {boolean} second
   */
  #pin(number, second) {
    const { rows = [], call = -1 } = this.drawing.boxes[number] ?? {};
    if (call >= 0 && rows.length > 0) this.app.pinCall(call, second ? 1 : 0);
    else if (rows.length > 0) this.app.pin(rows, second ? 1 : 0);
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const last = this.drawing.boxes.length - 1;
    const to = { ArrowRight: this.#chosen + 1, ArrowLeft: this.#chosen - 1, Home: 0, End: last }[event.key];
    const zoom = { "+": 0.5, "=": 0.5, "-": 2, 0: Infinity }[event.key];
    if (to !== undefined) {
      if (this.drawing.summary && event.shiftKey) this.#select(this.drawing.boxes[Math.max(0, this.#chosen)]);
      else if (this.#range) this.#select(null);
      this.#choose(Math.max(0, Math.min(last, to)));
      this.#show(this.#chosen);
      if (event.shiftKey && this.#begun) this.#select(this.drawing.boxes[this.#chosen]);
    } else if (zoom !== undefined) this.#zoom(zoom, 0.5);
    else if (event.key === "Enter" || event.key === " ") this.#pin(this.#chosen, event.shiftKey);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** @param {WheelEvent} event */
  #wheel(event) {
    if (!event.ctrlKey && !event.shiftKey) return;
    event.preventDefault();
    const share = (event.offsetX - LEFT) / Math.max(1, this.canvas.clientWidth - LEFT);
    if (event.ctrlKey) this.#zoom(event.deltaY > 0 ? 1.25 : 0.8, share);
    else this.#view(this.#from + ((event.deltaY || event.deltaX) / 600) * (this.#until - this.#from), this.#until - this.#from);
  }

  /**
   * @param {number} factor
   * @param {number} at the share of the view that stays where it is
   */
  #zoom(factor, at) {
    const chosen = this.drawing.boxes[this.#chosen];
    const length = this.#until - this.#from;
    const middle = chosen && at === 0.5 ? (chosen.x + chosen.until) / 2 : this.#from + at * length;
    this.#view(middle - at * length * factor, length * factor);
  }

  /**
   * @param {number} from
   * @param {number} length
   */
  #view(from, length) {
    const { width } = this.drawing;
    const kept = Math.min(width, Math.max(width / 1e5, length));
    this.#from = Math.max(0, Math.min(width - kept, Number.isFinite(from) ? from : 0));
    this.#until = this.#from + kept;
    this.#later();
  }

  /** @param {number} number */
  #show(number) {
    const box = this.drawing.boxes[number];
    if (box && (box.until < this.#from || box.x > this.#until)) this.#view(box.x, this.#until - this.#from);
  }

  /** Pixels of values. */
  #scale() {
    const { clientWidth, clientHeight } = this.canvas;
    const { height, down } = this.drawing;
    const room = clientHeight - ABOVE - BELOW;
    return {
      x: (/** @type {number} */ value) => LEFT + ((value - this.#from) / (this.#until - this.#from || 1)) * (clientWidth - LEFT - 8),
      y: (/** @type {number} */ value) => ABOVE + (down ? value / (height || 1) : 1 - value / (height || 1)) * room,
    };
  }

  /** @param {MouseEvent} event */
  #hit(event) {
    const { x, y } = this.#scale();
    const inside = (/** @type {Box} */ box) => {
      const [above, below] = [y(box.y), y(box.top)].sort((a, b) => a - b);
      return event.offsetX >= x(box.x) - 1 && event.offsetX <= x(box.until) + 1 && event.offsetY >= (above ?? 0) && event.offsetY <= (below ?? 0);
    };
    return event.offsetX < LEFT ? -1 : this.drawing.boxes.findLastIndex(inside);
  }

  #draw() {
    const [x, until] = this.#range ?? [0, 0];
    const spans = this.#range ? [{ x, until, text: "" }] : this.drawing.spans;
    paint(this.canvas, { ...this.drawing, ...(spans && { spans }) }, this.#scale(), [this.#from, this.#until], this.#looks());
  }

  /** @returns {(box: Box, number: number) => "" | "pin-a" | "pin-b" | "hover"} the colour of the frame of a box */
  #looks() {
    const { state } = this.app;
    const [a, b] = state.get("pins").map((pin) => new Set(pin?.rows));
    const kin = new Set(state.get("hover")?.rows);
    return ({ rows }, number) => {
      if (rows.some((row) => a?.has(row))) return "pin-a";
      if (rows.some((row) => b?.has(row))) return "pin-b";
      return number === this.#chosen || rows.some((row) => kin.has(row)) ? "hover" : "";
    };
  }
}
