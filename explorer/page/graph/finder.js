// Find in a graph: a field, and the nodes that match, best first.

import { fill, h } from "whence/dom";
import { match } from "whence/fuzzy";

const MOST = 100;

/**
 * @param {{texts: () => string[], go: (node: number) => void, leave: () => void}} graph the text of each node
 */
export function finder({ texts, go, leave }) {
  /** @type {number[]} */
  let hits = [];
  let at = -1;
  const list = h("ul", { class: "graph-hits", role: "listbox", "aria-label": "Nodes that match", hidden: true });
  const field = h("input", { type: "search", class: "graph-find", placeholder: "find a node", "aria-label": "Find a node", "data-test": "find-node", spellcheck: "false", autocomplete: "off",
    oninput: () => look(), onkeydown: (/** @type {KeyboardEvent} */ event) => key(event) });

  function look() {
    const query = field.value.trim().toLowerCase();
    const all = query ? texts() : [];
    hits = all
      .map((text, node) => ({ node, score: match(query, text)?.score ?? -Infinity }))
      .filter(({ score }) => score > -Infinity)
      .sort((a, b) => b.score - a.score || a.node - b.node)
      .map(({ node }) => node);
    at = -1;
    list.hidden = !query;
    const rows = hits.slice(0, MOST).map((node, k) => h("li", { role: "option", "data-test": "found-node", onclick: () => choose(k) }, all[node]));
    const rest = hits.length - rows.length;
    fill(list, ...rows, (rest > 0 || !hits.length) && h("li", { class: "muted" }, hits.length ? `and ${rest} more` : "no node matches"));
  }

  /** @param {number} k */
  function choose(k) {
    if (!hits.length) return;
    at = (k + hits.length) % hits.length;
    [...list.children].forEach((row, i) => row.setAttribute("aria-selected", String(i === at)));
    list.children[at]?.scrollIntoView({ block: "nearest" });
    go(hits[at]);
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
