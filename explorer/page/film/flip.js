// Frames flow into each other: what both have slides, what is new fades in, what is gone fades out.

import { h, svg } from "whence/dom";
import { arrive, calm, leave, settle } from "whence/motion";

/** @typedef {{element: Element, rect: DOMRect, around: string}} Place `around`: the key of what it is a part of */

/**
 * Draw other contents of an element, and move what has the same `data-flip` from where it was.
 * @param {HTMLElement} element
 * @param {() => void} draw
 */
export function flipped(element, draw) {
  if (calm()) {
    draw();
    return;
  }
  settle(element);
  const before = places(element);
  draw();
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
