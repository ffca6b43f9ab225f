// The way of lines from one stage to another: those that stay slide, new ones come out of what they were made of.

import { descent } from "whence/diff/descent";
import { ROW } from "whence/text/geometry";
import { arrive, calm, leave, settle } from "whence/motion";

/** @typedef {import("whence/types").Session} Session */
/** @typedef {import("whence/types").StageText} StageText */
/** @typedef {import("whence/text/window").TextWindow} TextWindow */

/**
 * Look at the lines in view before another stage takes their place; null where it is of other ops, or nothing is to
 * move.
 *
 * @param {TextWindow} window @param {Session} session
 * @param {number} from the stage in view @param {StageText} old @param {number} to @param {StageText} text
 * @returns {{place: (pinned: boolean) => void, play: () => void} | null} `place` scrolls the new text so that lines stay
 *   where they are, and to a change where none is in view and nothing is pinned; `play` moves the lines
 */
export function morph(window, session, from, old, to, text) {
  const still = calm();
  const way = from !== to ? descent(session, from, to, old, text) : null;
  if (!way) return null;
  settle(window.rows);
  const { first, last } = window.visible();
  const { geometry } = window;
  const downs = new Map(window.shown().map(([line]) => [line, window.down(line)]));
  const leaving = window.shown().filter(([line]) => way.after[line] < 0);
  const ghosts = still ? [] : leaving.map(([line, row]) => /** @type {const} */ ([line, ghostOf(row)]));
  const top = window.down(0);
  /** @param {number} line of the old text */
  const was = (line) => downs.get(line) ?? top + geometry.unit(geometry.row(line)) * ROW;

  /** @param {boolean} pinned */
  const place = (pinned) => {
    for (let line = first; line <= last; line++) {
      if (way.after[line] < 0) continue;
      window.scrollTo(way.after[line], Math.max(0, (downs.get(line) ?? 0) / window.height));
      break;
    }
    const view = window.visible();
    const seen = leaving.some(([line]) => line >= first && line <= last) || way.changes.some((line) => line >= view.first && line <= view.last);
    if (!pinned && !seen && way.changes.length > 0) window.scrollTo(way.changes[0], 0.3);
  };

  const play = () => {
    if (still) return;
    /** @param {number} by */
    const bounded = (by) => Math.max(-window.height, Math.min(window.height, by));
    for (const [line, row] of window.shown()) {
      const source = way.before[line] >= 0 ? way.before[line] : way.origin(line);
      const by = source >= 0 ? bounded(was(source) - window.down(line)) : 0;
      if (by !== 0 || way.before[line] < 0) arrive(row, 0, by, way.before[line] < 0);
    }
    for (const [line, row] of ghosts) {
      const end = way.fate(line);
      window.add(row, was(line));
      leave(row, 0, end >= 0 ? bounded(window.down(end) - was(line)) : 0);
    }
  };
  return { place, play };
}

/** A row that is no line of the text any more. @param {HTMLElement} row */
function ghostOf(row) {
  const ghost = /** @type {HTMLElement} */ (row.cloneNode(true));
  for (const name of ["data-row", "data-cursor", "role", "id"]) ghost.removeAttribute(name);
  return ghost;
}
