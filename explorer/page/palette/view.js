// The command palette: a field, and what it finds in all levels and among all commands.

import { fill, h, mark } from "whence/dom";
import { note } from "whence/marks";
import { Entries } from "whence/palette/entries";

/** @typedef {import("whence/types").App} App */
/** @typedef {import("whence/palette/entries").Hit} Hit */

const MOST = 80;

/** @type {WeakMap<App, Palette>} */
const palettes = new WeakMap();

/** @param {App} app @param {string} [query] what stands in the field at first */
export function openPalette(app, query = "") {
  const palette = palettes.get(app) ?? new Palette(app);
  palettes.set(app, palette);
  palette.open(query);
}

class Palette {
  /** @type {Hit[]} */
  #hits = [];
  #at = 0;

  /** @param {App} app */
  constructor(app) {
    this.entries = new Entries(app);
    this.list = h("ul", { id: "palette-list", class: "palette-list", role: "listbox", "aria-label": "Results" });
    this.count = h("p", { class: "palette-count", role: "status", "data-test": "palette-count" });
    this.field = h("input", { type: "text", role: "combobox", "aria-expanded": "true", "aria-controls": "palette-list", "aria-label": "Search or command",
      placeholder: "layers, ops, passes, kernels, loops, symbols, > commands, ? time by op", "data-test": "palette-field", spellcheck: "false", autocomplete: "off",
      oninput: () => this.#search(), onkeydown: (/** @type {KeyboardEvent} */ event) => this.#key(event) });
    this.dialog = h("dialog", { class: "palette", "aria-label": "Command palette", "data-test": "palette", onclick: (/** @type {MouseEvent} */ event) => this.#click(event) },
      this.field, this.list, this.count);
    document.body.append(this.dialog);
    this.entries.load(() => this.dialog.open && this.#search(true)).catch((error) => {
      this.count.textContent = error instanceof Error ? error.message : String(error);
    });
  }

  /** @param {string} query */
  open(query) {
    if (!this.dialog.open) this.dialog.showModal();
    this.field.value = query;
    this.field.focus();
    this.#search();
  }

  /** @param {boolean} [stay] keep the place in the list */
  #search(stay = false) {
    const from = performance.now();
    const { hits, count } = this.entries.search(this.field.value, MOST);
    this.#hits = hits;
    fill(this.list, ...hits.map((hit, k) => row(hit, k)));
    this.count.textContent = hits.length < count ? `${hits.length} of ${count.toLocaleString("en")}` : `${count}`;
    this.#go(stay ? this.#at : 0);
    if (this.field.value) note("palette", from);
  }

  /** @param {number} k */
  #go(k) {
    const old = this.list.children[this.#at];
    if (old) mark(old, "aria-selected", "false");
    this.#at = Math.max(0, Math.min(this.#hits.length - 1, k));
    const chosen = this.list.children[this.#at];
    if (chosen) {
      mark(chosen, "aria-selected", "true");
      chosen.scrollIntoView({ block: "nearest" });
    }
    mark(this.field, "aria-activedescendant", chosen ? chosen.id : null);
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 }[event.key];
    if (step) this.#go(this.#at + step);
    else if (event.key === "Enter") this.#choose(this.#at, event.shiftKey);
    else return;
    event.preventDefault();
  }

  /** @param {MouseEvent} event */
  #click(event) {
    const item = event.target instanceof Element ? event.target.closest("li") : null;
    if (item) this.#choose([...this.list.children].indexOf(item), event.shiftKey);
    else if (event.target === this.dialog) this.dialog.close();
  }

  /** @param {number} k @param {boolean} second */
  #choose(k, second) {
    const hit = this.#hits[k];
    if (!hit) return;
    this.dialog.close();
    hit.entry.run(second);
  }
}

/** @param {Hit} hit @param {number} k */
function row({ entry: { kind, text, detail }, at }, k) {
  const marked = new Set(at);
  /** @type {(string | Node)[]} */
  const parts = [];
  for (let i = 0, end = 0; i < text.length; i = end) {
    for (end = i + 1; end < text.length && marked.has(end) === marked.has(i); end++);
    parts.push(marked.has(i) ? h("b", {}, text.slice(i, end)) : text.slice(i, end));
  }
  return h("li", { id: `palette-${k}`, role: "option", "aria-selected": "false", "data-test": "palette-hit", "data-kind": kind },
    h("span", { class: "palette-kind" }, kind), h("span", { class: "palette-text" }, ...parts), h("span", { class: "palette-detail" }, detail));
}

/** @param {App} app */
export function paletteActions(app) {
  app.actions.add({ id: "palette", title: "Search or command", key: "Ctrl+K", group: "Search", run: () => openPalette(app) });
  app.actions.add({ id: "ask", title: "Ask a query", group: "Search", run: () => openPalette(app, "?") });
  app.actions.add({ id: "find", title: "Find in the pane", key: "Ctrl+F", group: "Search", enabled: () => Boolean(app.view(app.pane().id)?.search), run: () => app.view(app.pane().id)?.search?.(0) });
}
