// Find in a graph: a field, and the nodes and groups that match, best first.

import { fill, h } from "whence/dom";

/** @typedef {import("whence/graph/query").Hit} Hit */

const MOST = 100;

/**
 * @param {{search: (query: string) => Hit[], go: (id: number) => void, leave: () => void}} graph
 */
export function finder({ search, go, leave }) {
  /** @type {Hit[]} */
  let hits = [];
  let at = -1;
  const list = h("ul", { class: "graph-hits", role: "listbox", "aria-label": "Nodes that match", hidden: true });
  const field = h("input", { type: "search", class: "graph-find", placeholder: "name, shape, dtype", "aria-label": "Find nodes by name, shape or dtype, and groups", title: "a name, a group, 1x64x56x56, or int8", "data-test": "find-node", spellcheck: "false", autocomplete: "off",
    oninput: () => look(), onkeydown: (/** @type {KeyboardEvent} */ event) => key(event) });

  function look() {
    hits = search(field.value);
    at = -1;
    list.hidden = !field.value.trim();
    const rows = hits.slice(0, MOST).map(({ text }, k) => h("li", { role: "option", "data-test": "found-node", onclick: () => choose(k) }, text));
    const rest = hits.length - rows.length;
    fill(list, ...rows, (rest > 0 || !hits.length) && h("li", { class: "muted" }, hits.length ? `and ${rest} more` : "no node matches"));
  }

  /** @param {number} k */
  function choose(k) {
    if (!hits.length) return;
    at = (k + hits.length) % hits.length;
    [...list.children].forEach((row, i) => row.setAttribute("aria-selected", String(i === at)));
    list.children[at]?.scrollIntoView({ block: "nearest" });
    go(hits[at].id);
  }

  /** @param {KeyboardEvent} event */
  function key(event) {
    const step = { ArrowDown: 1, ArrowUp: -1, Enter: event.shiftKey ? -1 : 1 }[event.key];
    if (step) choose(at < 0 && step < 0 ? hits.length - 1 : at + step);
    else if (event.key === "Escape") hide();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  function hide() {
    list.hidden = true;
    leave();
  }
  return {
    field,
    list,
    /** @param {0 | 1 | -1} step */
    search(step) {
      if (step) choose(at + step);
      else field.select();
      field.focus();
    },
    hide: () => (list.hidden = true),
  };
}
