// The drawing of rectangles on a canvas: axes, marked parts, boxes with their names, frames of what is pinned.

import { cssOf } from "whence/colours";

/** @typedef {import("whence/data/plot").Box} Box */
/** @typedef {import("whence/data/plot").Drawing} Drawing */
/** @typedef {{x: (value: number) => number, y: (value: number) => number}} Scale */
/** @typedef {"" | "pin-a" | "pin-b" | "hover"} Frame */

export const LEFT = 76;
export const ABOVE = 16;
export const BELOW = 20;
const LETTER = 6.6;
const FONT = "11px system-ui, sans-serif";

/**
 * @param {HTMLCanvasElement} canvas
 * @param {Drawing} drawing
 * @param {Scale} scale pixels of values
 * @param {[number, number]} view the part of x in view
 * @param {(box: Box, number: number) => Frame} frame
 */
export function paint(canvas, drawing, scale, view, frame) {
  const ratio = window.devicePixelRatio || 1;
  const { clientWidth: width, clientHeight: height } = canvas;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const pen = canvas.getContext("2d");
  if (!pen) return;
  const style = getComputedStyle(canvas);
  /** @type {(name: string) => string} */
  const colour = (name) => style.getPropertyValue(`--${name}`).trim();
  const bottom = height - BELOW;
  pen.scale(ratio, ratio);
  pen.clearRect(0, 0, width, height);
  pen.font = FONT;
  pen.textBaseline = "middle";
  axes(pen, drawing, scale, view, colour, width, bottom);
  pen.save();
  pen.beginPath();
  pen.rect(LEFT, 0, width - LEFT, bottom);
  pen.clip();
  pen.textAlign = "left";
  for (const { x, until, text } of drawing.spans ?? []) {
    pen.fillStyle = colour("raised");
    pen.fillRect(scale.x(x), ABOVE, Math.max(2, scale.x(until) - scale.x(x)), bottom - ABOVE);
    pen.fillStyle = colour("dim");
    pen.fillText(text, Math.max(LEFT, Math.min(scale.x(x), width - pen.measureText(text).width - 8)), ABOVE / 2);
  }
  drawing.boxes.forEach((box, number) => {
    if (box.until < view[0] || box.x > view[1]) return;
    const look = frame(box, number);
    fillBox(pen, box, scale, box.rows.length > 0 ? cssOf(box.rows[0] ?? 0) : colour("line"), look && colour(look));
  });
  pen.strokeStyle = colour("error");
  pen.setLineDash([4, 3]);
  for (const { at } of drawing.levels ?? []) line(pen, LEFT, scale.y(at), width, scale.y(at));
  pen.restore();
  pen.fillStyle = colour("error");
  pen.textAlign = "right";
  for (const { at, text } of drawing.levels ?? []) pen.fillText(text, width - 6, scale.y(at) - 8);
}

/**
 * @param {CanvasRenderingContext2D} pen
 * @param {Drawing} drawing
 * @param {Scale} scale
 * @param {[number, number]} view
 * @param {(name: string) => string} colour
 * @param {number} width
 * @param {number} bottom
 */
function axes(pen, drawing, scale, [from, until], colour, width, bottom) {
  pen.fillStyle = colour("dim");
  pen.strokeStyle = colour("line");
  pen.textAlign = "right";
  for (const { at, text } of drawing.along) pen.fillText(text, LEFT - 6, scale.y(at), LEFT - 8);
  pen.textAlign = "center";
  for (const { at, text } of drawing.across(from, until)) {
    pen.fillText(text, Math.min(scale.x(at), width - 24), bottom + 11);
    line(pen, scale.x(at), ABOVE, scale.x(at), bottom);
  }
}

/**
 * @param {CanvasRenderingContext2D} pen
 * @param {Box} box
 * @param {Scale} scale
 * @param {string} back
 * @param {string} frame
 */
function fillBox(pen, box, scale, back, frame) {
  const [left, right] = [scale.x(box.x), scale.x(box.until)];
  const [above = 0, below = 0] = [scale.y(box.y), scale.y(box.top)].sort((a, b) => a - b);
  const size = { width: Math.max(1, right - left - 0.5), height: Math.max(1, below - above - 0.5) };
  pen.fillStyle = back;
  pen.fillRect(left, above, size.width, size.height);
  const start = Math.max(left, LEFT);
  const letters = Math.floor((right - start - 6) / LETTER);
  if (letters >= 3 && size.height >= 12) {
    pen.fillStyle = inkOn(back);
    pen.fillText(box.label.length > letters ? `${box.label.slice(0, letters - 1)}…` : box.label, start + 3, (above + below) / 2);
  }
  if (!frame) return;
  pen.lineWidth = 3;
  pen.strokeStyle = frame;
  pen.strokeRect(left + 1, above + 1, Math.max(1, size.width - 2), Math.max(1, size.height - 2));
  pen.lineWidth = 1;
}

/**
 * Return black or white, whichever can be read on a colour such as `#0072b2`.
 * @param {string} back
 */
function inkOn(back) {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => Number.parseInt(back.slice(at, at + 2), 16));
  return 0.299 * red + 0.587 * green + 0.114 * blue > 120 ? "#000000" : "#ffffff";
}

/**
 * @param {CanvasRenderingContext2D} pen
 * @param {number} x
 * @param {number} y
 * @param {number} right
 * @param {number} bottom
 */
function line(pen, x, y, right, bottom) {
  pen.beginPath();
  pen.moveTo(x, y);
  pen.lineTo(right, bottom);
  pen.stroke();
}
