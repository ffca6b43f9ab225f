// Frames flow into each other: what both have slides, what is new fades in, what is gone fades out.

import { h, svg } from "whence/dom";
import { arrive, calm, leave, settle } from "whence/motion";
import { reveal } from "whence/navigate";

/** What is marked in a frame, the lines and rows before the stages around them. */
const CHANGES = ["ins, del, .row-new, .row-old", "[data-change]"];

/** @typedef {{element: Element, rect: DOMRect, around: string}} Place `around`: the key of what it is a part of */

/**
 * Draw other contents of an element with its first change in view, and move what has the same `data-flip` from where it
 * was.
 * @param {HTMLElement} element
 * @param {() => void} draw
 */
export function flipped(element, draw) {
  if (calm()) {
    draw();
    revealChange(element);
    return;
  }
  settle(element);
  const before = places(element);
  draw();
  revealChange(element);
  const after = places(element);
  const view = element.getBoundingClientRect();
  const seen = (/** @type {DOMRect | undefined} */ rect) => rect !== undefined && rect.bottom > view.top && rect.top < view.bottom;
  /** How far from its place each comes from. @type {Map<string, [number, number]>} */
  const ways = new Map();
  for (const [key, { element: part, rect, around }] of after) {
    const old = before.get(key)?.rect;
    const way = /** @type {[number, number]} */ (old ? [old.left - rect.left, old.top - rect.top] : ways.get(around) ?? [0, 0]);
    ways.set(key, way);
    if (!seen(rect) && !seen(old)) continue;
    const [x, y] = ways.get(around) ?? [0, 0];
    const [byX, byY] = [way[0] - x, way[1] - y].map((by) => by / scaleOf(part));
    const fresh = !old && (around === "" || before.has(around));
    if (fresh || byX || byY) arrive(part, byX, byY, fresh);
  }
  for (const [key, { element: part, rect, around }] of before)
    if (!after.has(key) && seen(rect) && (around === "" || after.has(around))) fade(element, part, rect);
}

/** Scroll to the first change. @param {Element} element */
export function revealChange(element) {
  const change = CHANGES.map((marks) => element.querySelector(marks)).find(Boolean);
  if (!change) return;
  const [rect, view] = [change.getBoundingClientRect(), element.getBoundingClientRect()];
  const { scrollLeft, scrollTop, clientWidth, clientHeight } = element;
  const [x, y] = [rect.left - view.left + scrollLeft, rect.top - view.top + scrollTop];
  element.scrollTo(reveal([x, x + rect.width], [scrollLeft, clientWidth]), reveal([y, y + rect.height], [scrollTop, clientHeight]));
}

/** @param {Element} element @returns {Map<string, Place>} */
function places(element) {
  const all = new Map();
  const keys = new Map();
  for (const part of element.querySelectorAll("[data-flip]")) {
    const around = keys.get(part.parentElement?.closest("[data-flip]")) ?? "";
    const name = `${around}\n${part.getAttribute("data-flip")}`;
    let key = name;
    for (let time = 1; all.has(key); time++) key = `${name}\n${time}`;
    keys.set(part, key);
    all.set(key, { element: part, rect: part.getBoundingClientRect(), around });
  }
  return all;
}

/** Pixels of the screen that a pixel of an element is. @param {Element} part */
function scaleOf(part) {
  return part instanceof SVGGraphicsElement ? part.getScreenCTM()?.a || 1 : 1;
}

/** Show what is gone where it was, while it fades out. @param {HTMLElement} element @param {Element} part @param {DOMRect} rect */
function fade(element, part, rect) {
  part.removeAttribute("data-flip");
  for (const name of ["data-test", "data-label"]) part.removeAttribute(name);
  const picture = element.querySelector("svg");
  const frame = part instanceof SVGElement ? svg("g", {}, part) : h("div", { class: "film-gone" }, part);
  (part instanceof SVGElement && picture ? picture : element).append(frame);
  const now = part.getBoundingClientRect();
  const scale = scaleOf(part);
  const [x, y] = [rect.left - now.left, rect.top - now.top].map((by) => by / scale);
  if (part instanceof SVGElement) frame.setAttribute("transform", `translate(${x} ${y})`);
  else frame.style.margin = `${y}px 0 0 ${x}px`;
  leave(frame.firstElementChild ?? frame, 0, 0, frame);
}
