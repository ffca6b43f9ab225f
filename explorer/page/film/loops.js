// The loops of a frame as text, lines that changed marked.

import { fill, h } from "whence/dom";
import { aligned } from "whence/film/align";

/**
 * Show lines beside those of another frame: what is gone is struck out, what is new underlined.
 * @param {Element} element
 * @param {readonly string[] | null} before null: nothing is marked
 * @param {readonly string[]} after
 */
export function showLines(element, before, after) {
  const rows = before ? aligned(before, after, (line) => line) : after.map((item) => ({ sign: " ", item }));
  fill(
    element,
    ...rows.map(({ sign, item }) => {
      const mark = sign === " " ? null : sign;
      const line = sign === "-" ? h("del", {}, item) : sign === "+" ? h("ins", {}, item) : item;
      return h("div", { class: "film-line", "data-sign": mark, "data-flip": item }, h("span", { class: "film-sign", "aria-hidden": "true" }, sign), line);
    }),
  );
}
