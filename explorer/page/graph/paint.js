// Drawing a graph: edges, then boxes, then what is marked; text only where it can be read, and only what is in view.

import { HEADER, KINDS, LINE } from "whence/graph/boxes";
import { tensorOf } from "whence/graph/labels";
import { lettersOf } from "whence/graph/lit";

/** @typedef {import("whence/graph/scene").Scene} Scene */
/** @typedef {import("whence/graph/camera").Camera} Camera */

/** @typedef {import("whence/graph/lit").Lit} Lit */
/** @typedef {Record<string, string>} Colours */

const READABLE = 0.42;
const SHAPES = 0.2;
const MOST_EDGES = 4000;
const MOST_BOXES = 8000;
const NAMES = [...KINDS, "body", "text", "muted", "edge", "border", "canvas", "header-text", "pin-a", "pin-b", "kin", "same", "tensor", "cursor", "hot", "cold"];

/** Return the colours of the theme, `--graph-..` of an element. @param {Element} element @returns {Colours} */
export function coloursOf(element) {
  const style = getComputedStyle(element);
  return Object.fromEntries(NAMES.map((name) => [name, style.getPropertyValue(`--graph-${name}`).trim()]));
}

/**
 * @param {CanvasRenderingContext2D} context @param {Scene} scene @param {Camera} camera @param {Colours} colours @param {Lit} lit
 * @param {number} cursor the item that keys act on, -1 for none
 */
export function paint(context, scene, camera, colours, lit, cursor) {
  const { zoom } = camera;
  const ratio = devicePixelRatio || 1;
  const { width, height } = camera;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.fillStyle = colours.canvas;
  context.fillRect(0, 0, width, height);
  context.setTransform(ratio * zoom, 0, 0, ratio * zoom, -camera.x * ratio * zoom, -camera.y * ratio * zoom);
  const area = camera.area();
  const boxes = thinned(scene.boxesIn(area), MOST_BOXES);
  groups(context, scene, boxes.filter((k) => scene.isOpen(k)), zoom, colours);
  edges(context, scene, thinned(scene.edgesIn(area), MOST_EDGES), zoom, colours, lit, cursor);
  const closed = boxes.filter((k) => !scene.isOpen(k));
  if (zoom < SHAPES) blocks(context, scene, closed, colours, lit);
  else for (const k of closed) box(context, scene, k, zoom, colours, lit);
  for (const k of boxes) outline(context, scene, k, zoom, colours, lit, k === cursor);
}

/** So many of a list that a frame can draw them; the same ones wherever the view is. @param {Int32Array} list @param {number} most */
function thinned(list, most) {
  let step = 1;
  while (list.length / step > most) step *= 2;
  return Array.from(step > 1 ? list.filter((k) => k % step === 0) : list);
}

/** @param {CanvasRenderingContext2D} context @param {Scene} scene @param {number[]} items @param {number} zoom @param {Colours} colours */
function groups(context, scene, items, zoom, colours) {
  context.lineWidth = 1 / zoom;
  for (const k of items) {
    const [left, top, right, bottom] = scene.area(k);
    context.globalAlpha = 0.09;
    context.fillStyle = colours.group;
    context.fillRect(left, top, right - left, bottom - top);
    context.globalAlpha = 1;
    context.strokeStyle = colours.border;
    context.strokeRect(left, top, right - left, bottom - top);
    if (zoom < READABLE) continue;
    context.fillStyle = colours.text;
    context.font = "600 11px system-ui, sans-serif";
    context.textAlign = "left";
    context.fillText(`− ${scene.boxes[k].title}`, left + 8, top + 15);
  }
}

/** Curves from rank to rank, straight along the boxes between. @param {CanvasRenderingContext2D} context @param {number[]} points @param {boolean} sideways */
function curve(context, points, sideways) {
  context.moveTo(points[0], points[1]);
  for (let i = 2; i < points.length; i += 2) {
    const [x, y, fromX, fromY] = [points[i], points[i + 1], points[i - 2], points[i - 1]];
    if (sideways ? y === fromY : x === fromX) context.lineTo(x, y);
    else if (sideways) context.bezierCurveTo((x + fromX) / 2, fromY, (x + fromX) / 2, y, x, y);
    else context.bezierCurveTo(fromX, (y + fromY) / 2, x, (y + fromY) / 2, x, y);
  }
}

/** @param {CanvasRenderingContext2D} context @param {Scene} scene @param {number[]} list @param {number} zoom @param {Colours} colours @param {Lit} lit @param {number} cursor */
function edges(context, scene, list, zoom, colours, lit, cursor) {
  const near = list.filter((e) => scene.edges[2 * e] === cursor || scene.edges[2 * e + 1] === cursor);
  const tensor = lit.tensor ? list.filter((e) => tensorOf(scene.graph.edges, scene.edge[e]) === lit.tensor) : [];
  for (const [some, colour, width] of /** @type {[number[], string, number][]} */ ([[list, colours.edge, 1], [near, colours.cursor, 2], [tensor, colours.tensor, 3]])) {
    context.beginPath();
    for (const e of some) {
      const points = scene.route(e);
      if (zoom >= SHAPES) curve(context, points, scene.at.sideways);
      else for (let i = 0; i < points.length; i += 2) context[i ? "lineTo" : "moveTo"](points[i], points[i + 1]);
    }
    context.strokeStyle = colour;
    context.lineWidth = Math.min(width / zoom, 2.5 * width);
    context.stroke();
  }
  if (zoom < READABLE) return;
  context.fillStyle = colours.edge;
  context.beginPath();
  for (const e of list) {
    const [x, y] = scene.route(e).slice(-2);
    context.moveTo(x, y);
    const [back, beside] = scene.at.sideways ? [8, 4] : [4, 8];
    context.lineTo(x - back, y - beside);
    context.lineTo(x - (scene.at.sideways ? back : -back), y - (scene.at.sideways ? -beside : beside));
  }
  context.fill();
  context.fillStyle = colours.muted;
  context.font = "10px system-ui, sans-serif";
  context.textAlign = "left";
  for (const { text, left, bottom } of scene.labels.of(list)) context.fillText(text, left, bottom - 2);
}

/** Boxes as plain blocks, colour by colour. @param {CanvasRenderingContext2D} context @param {Scene} scene @param {number[]} items @param {Colours} colours @param {Lit} lit */
function blocks(context, scene, items, colours, lit) {
  /** @type {Map<string, number[]>} */
  const byColour = new Map();
  for (const k of items) {
    const colour = lit.heat ? colours.body : colours[scene.boxes[k].category];
    const list = byColour.get(colour);
    if (list) list.push(k);
    else byColour.set(colour, [k]);
  }
  for (const [colour, list] of byColour) {
    context.fillStyle = colour;
    for (const k of list) fill(context, scene, k);
  }
  if (!lit.heat) return;
  for (const k of items) {
    context.fillStyle = lit.heat(k) < 0 ? colours.cold : colours.hot;
    context.globalAlpha = Math.abs(lit.heat(k));
    fill(context, scene, k);
  }
  context.globalAlpha = 1;
}

/** @param {CanvasRenderingContext2D} context @param {Scene} scene @param {number} k */
function fill(context, scene, k) {
  const [left, top, right, bottom] = scene.area(k);
  context.fillRect(left, top, right - left, bottom - top);
}

/** @param {CanvasRenderingContext2D} context @param {Scene} scene @param {number} k @param {number} zoom @param {Colours} colours @param {Lit} lit */
function box(context, scene, k, zoom, colours, lit) {
  const [left, top, right, bottom] = scene.area(k);
  const { title, lines, category } = scene.boxes[k];
  const round = category === "input" || category === "output" ? 10 : 4;
  context.beginPath();
  context.roundRect(left, top, right - left, bottom - top, round);
  context.fillStyle = colours.body;
  context.fill();
  if (lit.heat) {
    context.globalAlpha = Math.abs(lit.heat(k)) * 0.85;
    context.fillStyle = lit.heat(k) < 0 ? colours.cold : colours.hot;
    context.fill();
    context.globalAlpha = 1;
  }
  context.strokeStyle = colours.border;
  context.lineWidth = 1 / zoom;
  context.stroke();
  context.beginPath();
  context.roundRect(left, top, right - left, HEADER, lines.length ? [round, round, 0, 0] : round);
  context.fillStyle = colours[category];
  context.fill();
  if (zoom < READABLE) return;
  context.fillStyle = colours["header-text"];
  context.font = "600 11px system-ui, sans-serif";
  context.textAlign = "left";
  context.fillText(scene.isGroup(k) ? `+ ${title}` : title, left + 8, top + 15);
  context.fillStyle = colours.text;
  context.font = "11px system-ui, sans-serif";
  lines.forEach((line, i) => context.fillText(line, left + 8, top + HEADER + (i + 1) * LINE - 1));
}

/** @param {CanvasRenderingContext2D} context @param {Scene} scene @param {number} k @param {number} zoom @param {Colours} colours @param {Lit} lit @param {boolean} cursor */
function outline(context, scene, k, zoom, colours, lit, cursor) {
  const pin = lettersOf(lit, k);
  const [left, top, right, bottom] = scene.area(k);
  const frame = (/** @type {string} */ colour, /** @type {number} */ by, /** @type {number} */ width) => {
    context.strokeStyle = colour;
    context.lineWidth = width / zoom;
    const out = by / zoom;
    context.strokeRect(left - out, top - out, right - left + 2 * out, bottom - top + 2 * out);
  };
  if (lit.kin.has(k)) frame(colours.kin, 1, 2);
  if (lit.same.has(k)) frame(colours.same, 1, 3);
  if (pin) {
    if (pin.includes("A")) frame(colours["pin-a"], 2, 3);
    if (pin.includes("B")) frame(colours["pin-b"], pin === "AB" ? 5 : 2, 3);
    context.font = `700 ${12 / zoom}px system-ui, sans-serif`;
    context.textAlign = "right";
    context.fillStyle = colours[pin === "B" ? "pin-b" : "pin-a"];
    context.fillText(pin, left - 6 / zoom, top + 14 / zoom);
  }
  if (cursor) {
    context.setLineDash([4 / zoom, 3 / zoom]);
    frame(colours.cursor, pin ? 8 : 4, 2);
    context.setLineDash([]);
  }
}
