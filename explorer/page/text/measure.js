// How much text fits into a line of a pane.

import { find, h } from "whence/dom";
import { newRow } from "whence/text/row";

const LEAST = 20;
const PROBE = 100;

/**
 * Return how many characters fit beside the gutter of a text pane.
 * @param {HTMLElement} grid
 */
export function columnsOf(grid) {
  const probe = h("span", { class: "code probe" }, "0".repeat(PROBE));
  const gutter = find(newRow(), ".gutter");
  grid.append(probe, gutter);
  const width = probe.getBoundingClientRect().width / PROBE;
  const left = gutter.getBoundingClientRect().width;
  probe.remove();
  gutter.remove();
  return Math.max(LEAST, Math.floor((grid.clientWidth - left) / width) - 1);
}
