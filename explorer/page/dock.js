// The dock below the panes: tabs, of which one at most is open.

import { fill, h, mark } from "whence/dom";
import { dockSplitter } from "whence/splitter";

/** @typedef {import("whence/types").App} App */
/** @typedef {import("whence/types").Dock} Dock */
/** @typedef {import("whence/types").DockView} DockView */

/** @type {Dock[]} */
const docks = [];

/**
 * Add a tab; those that are added first stand first.
 * @param {Dock} dock
 */
export function registerDock(dock) {
  docks.push(dock);
}

/** @returns {readonly Dock[]} */
export function allDocks() {
  return docks;
}

export class DockBar {
  /** @type {{id: string, view: DockView} | null} */
  #open = null;

  /** @param {App} app @param {HTMLElement} element */
  constructor(app, element) {
    this.app = app;
    this.element = element;
    const enabled = docks.filter((dock) => dock.enabled?.(app) ?? true);
    this.tabs = new Map(enabled.map((dock) => [dock.id, this.#tab(dock)]));
    this.close = h(
      "button",
      {
        type: "button",
        class: "close",
        title: "close the dock",
        "aria-label": "close the dock",
        onclick: () => app.openDock(""),
      },
      "×",
    );
    this.panel = h("div", {
      class: "dock-panel",
      role: "tabpanel",
      id: "dock-panel",
      tabindex: -1,
      "data-test": "dock",
    });
    this.bar = h(
      "div",
      {
        class: "tabs",
        role: "tablist",
        "aria-label": "Dock",
        onkeydown: (/** @type {KeyboardEvent} */ event) => this.#key(event),
      },
      ...this.tabs.values(),
    );
    this.splitter = dockSplitter(app);
    fill(element, this.splitter, h("div", { class: "dock-head" }, this.bar, this.close), this.panel);
    app.state.on(["dock", "dockShare"], () => this.update());
    this.update();
  }

  update() {
    const id = this.app.state.get("dock");
    const dock = docks.find((candidate) => candidate.id === id && this.tabs.has(id));
    this.close.hidden = this.splitter.hidden = !dock;
    this.element.style.height = dock ? `${100 * this.app.state.get("dockShare")}vh` : "";
    for (const [name, tab] of this.tabs) {
      mark(tab, "aria-selected", String(name === dock?.id));
      mark(tab, "tabindex", name === (dock?.id ?? this.tabs.keys().next().value) ? "0" : "-1");
    }
    mark(this.element, "data-open", dock ? "" : null);
    if (this.#open?.id === dock?.id) return;
    this.#open?.view.destroy();
    this.#open = null;
    fill(this.panel);
    this.panel.scrollTop = 0;
    if (!dock) return;
    mark(this.panel, "aria-label", dock.title);
    this.tabs.get(dock.id)?.scrollIntoView({ block: "nearest", inline: "nearest" });
    this.#open = { id: dock.id, view: dock.create(this.app, this.panel) };
  }

  /** @param {Dock} dock */
  #tab(dock) {
    return h(
      "button",
      {
        type: "button",
        role: "tab",
        "aria-controls": "dock-panel",
        "data-test": `dock-${dock.id}`,
        onclick: () => this.app.openDock(this.app.state.get("dock") === dock.id ? "" : dock.id),
      },
      dock.title,
    );
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const step = event.key === "ArrowLeft" ? -1 : event.key === "ArrowRight" ? 1 : 0;
    if (step === 0) return;
    const tabs = [...this.tabs.values()];
    const at = tabs.findIndex((tab) => tab === document.activeElement);
    tabs[(at + step + tabs.length) % tabs.length]?.focus();
    event.preventDefault();
  }
}
