// Panes side by side: each holds a view of the kind of its level; splitters between them share the width.

import { h, mark } from "whence/dom";
import { kindOf } from "whence/kinds";
import { picker } from "whence/picker";
import { paneSplitter } from "whence/splitter";

export { registerPane } from "whence/kinds";

/** @typedef {import("whence/types").App} App */
/** @typedef {import("whence/types").Pane} Pane */
/** @typedef {import("whence/types").PaneView} PaneView */
/** @typedef {{element: HTMLElement, body: HTMLElement, view: PaneView, level: string, update: (pane: Pane) => void}} Frame */

export class Panes {
  /** @type {Map<number, Frame>} */
  #frames = new Map();
  #order = "";

  /** @param {App} app @param {HTMLElement} element */
  constructor(app, element) {
    this.app = app;
    this.element = element;
    this.tabs = h("div", { class: "pane-tabs", role: "group", "aria-label": "Panes" });
    element.before(this.tabs);
    app.state.on(["panes", "focus"], () => this.update());
    element.addEventListener("focusin", (event) => {
      const frame = event.target instanceof Element ? event.target.closest("[data-pane]") : null;
      if (frame instanceof HTMLElement) app.state.set({ focus: Number(frame.dataset["pane"]) });
    });
  }

  /** @param {number} id */
  view(id) {
    return this.#frames.get(id)?.view;
  }

  update() {
    const panes = this.app.state.get("panes");
    const ids = new Set(panes.map((pane) => pane.id));
    for (const [id, frame] of this.#frames) {
      const pane = panes.find((candidate) => candidate.id === id);
      if (pane && pane.level !== frame.level && kindOf(pane.level)?.create !== kindOf(frame.level)?.create)
        this.#drop(id, frame);
      else if (!ids.has(id)) this.#drop(id, frame);
    }
    for (const pane of panes) {
      const frame = this.#frames.get(pane.id);
      if (!frame) this.#frames.set(pane.id, this.#make(pane));
    }
    this.#arrange(panes);
    for (const pane of panes) this.#show(pane);
    this.#choose(panes);
  }

  /** Show the choice of a pane, which narrow pages have: one pane at a time. @param {Pane[]} panes */
  #choose(panes) {
    while (this.tabs.children.length > panes.length) this.tabs.lastElementChild?.remove();
    panes.forEach((pane, position) => {
      const focus = () => this.app.state.set({ focus: this.app.state.get("panes")[position]?.id ?? 0 });
      const tab = this.tabs.children[position] ?? this.tabs.appendChild(h("button", { type: "button", "data-test": "pane-tab", onclick: focus }));
      tab.textContent = kindOf(pane.level)?.title ?? pane.level;
      mark(tab, "aria-pressed", String(pane.id === this.app.pane().id));
    });
  }

  /** @param {number} id @param {Frame} frame */
  #drop(id, frame) {
    frame.view.destroy();
    frame.element.remove();
    this.#frames.delete(id);
    this.#order = "";
  }

  /** @param {Pane} pane @returns {Frame} */
  #make(pane) {
    const body = h("div", { class: "pane-body" });
    const head = picker(this.app, pane.id);
    const element = h("section", { class: "pane", "data-pane": pane.id, "data-test": "pane" }, head.element, body);
    // What is drawn into has its size already.
    this.element.append(element);
    const kind = kindOf(pane.level);
    if (!kind) throw new Error(`no view shows panes of level ${pane.level}`);
    return { element, body, view: kind.create(this.app, body, pane), level: pane.level, update: head.update };
  }

  /** @param {Pane[]} panes */
  #arrange(panes) {
    const order = panes.map((pane) => pane.id).join();
    if (order === this.#order) return;
    this.#order = order;
    for (const old of this.element.querySelectorAll(":scope > .splitter")) old.remove();
    const wanted = panes.flatMap((pane, position) => {
      const left = panes[position - 1];
      const frame = this.#frames.get(pane.id);
      return [...(left ? [paneSplitter(this.app, left.id, pane.id)] : []), ...(frame ? [frame.element] : [])];
    });
    // What stands in its place is not moved: it would lose its scroll position.
    wanted.forEach((child, position) => {
      const current = this.element.children[position];
      if (current !== child) this.element.insertBefore(child, current ?? null);
    });
  }

  /** @param {Pane} pane */
  #show(pane) {
    const frame = this.#frames.get(pane.id);
    if (!frame) return;
    frame.level = pane.level;
    frame.element.style.flexGrow = String(pane.grow);
    mark(frame.element, "data-level", pane.level);
    mark(frame.element, "data-stage", String(pane.stage));
    mark(frame.element, "data-focus", pane.id === this.app.pane().id ? "" : null);
    mark(frame.element, "aria-label", `${kindOf(pane.level)?.title ?? pane.level} pane`);
    frame.update(pane);
    frame.view.update(pane);
  }
}
