// The passes of a pipeline as chips: each can be moved, removed and edited, by mouse and by keys.

import { fill, h } from "whence/dom";

export class Chips {
  /** @type {string[]} */
  #passes = [];
  #focus = 0;

  /**
   * @param {(passes: string[]) => void} changed
   * @param {(text: string) => void} say
   */
  constructor(changed, say) {
    this.changed = changed;
    this.say = say;
    this.element = h("ol", {
      class: "chips",
      role: "listbox",
      "aria-label": "Passes, in order: Alt and an arrow moves one, Delete removes it",
      "aria-orientation": "horizontal",
      "data-test": "chips",
      onkeydown: (/** @type {KeyboardEvent} */ event) => this.#key(event),
    });
  }

  /** @returns {readonly string[]} */
  get passes() {
    return this.#passes;
  }

  /** The place that new passes go to: behind the chip that was focused last. */
  get place() {
    return Math.min(this.#focus + 1, this.#passes.length);
  }

  /** @param {readonly string[]} passes */
  show(passes) {
    this.#passes = [...passes];
    this.#focus = Math.max(0, Math.min(this.#focus, passes.length - 1));
    this.#draw();
  }

  /**
   * @param {string} pass
   * @param {number} at
   */
  insert(pass, at) {
    this.#change(this.#passes.toSpliced(at, 0, pass), at, `${pass} is pass ${at + 1} now.`);
  }

  /** @param {number} at */
  remove(at) {
    this.#change(this.#passes.toSpliced(at, 1), at, `${this.#passes[at]} is removed.`);
  }

  /**
   * @param {number} from
   * @param {number} to
   */
  move(from, to) {
    const pass = this.#passes[from];
    if (pass === undefined || to < 0 || to >= this.#passes.length || from === to) return;
    this.#change(this.#passes.toSpliced(from, 1).toSpliced(to, 0, pass), to, `${pass} is pass ${to + 1} now.`);
  }

  /**
   * @param {string[]} passes
   * @param {number} focus
   * @param {string} text
   */
  #change(passes, focus, text) {
    this.#focus = focus;
    this.show(passes);
    this.#chip(this.#focus)?.focus();
    this.changed(passes);
    this.say(text);
  }

  /** @param {number} at */
  #chip(at) {
    const chip = this.element.children[at];
    return chip instanceof HTMLElement ? chip : null;
  }

  #draw() {
    fill(this.element, ...this.#passes.map((pass, at) => this.#made(pass, at)));
  }

  /**
   * @param {string} pass
   * @param {number} at
   */
  #made(pass, at) {
    const [name = "", options = ""] = pass.split(/(?=\{)/, 2);
    const remove = h(
      "button",
      { type: "button", tabindex: -1, "aria-label": `remove ${pass}`, "data-test": "remove-pass", onclick: () => this.remove(at) },
      "×",
    );
    return h(
      "li",
      {
        class: "chip",
        role: "option",
        tabindex: at === this.#focus ? 0 : -1,
        "aria-selected": at === this.#focus ? "true" : "false",
        "aria-label": `${at + 1}: ${pass}`,
        draggable: "true",
        title: pass,
        "data-test": "chip",
        "data-pass": pass,
        onfocus: () => this.#select(at),
        ondragstart: (/** @type {DragEvent} */ event) => event.dataTransfer?.setData("text/x-pass", String(at)),
        ondragover: (/** @type {DragEvent} */ event) => event.preventDefault(),
        ondrop: (/** @type {DragEvent} */ event) => {
          event.preventDefault();
          const from = event.dataTransfer?.getData("text/x-pass");
          if (from) this.move(Number(from), at);
        },
      },
      h("span", { class: "number" }, at + 1),
      h("span", {}, name.replace(/^relay-/, ""), options ? h("small", {}, options) : null),
      remove,
    );
  }

  /** @param {number} at */
  #select(at) {
    const before = this.#chip(this.#focus);
    before?.setAttribute("tabindex", "-1");
    before?.setAttribute("aria-selected", "false");
    this.#focus = at;
    this.#chip(at)?.setAttribute("tabindex", "0");
    this.#chip(at)?.setAttribute("aria-selected", "true");
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const at = this.#focus;
    const step = event.key === "ArrowLeft" ? -1 : event.key === "ArrowRight" ? 1 : 0;
    if (event.altKey && step !== 0) this.move(at, at + step);
    else if (step !== 0) this.#chip(at + step)?.focus();
    else if (event.key === "Home") this.#chip(0)?.focus();
    else if (event.key === "End") this.#chip(this.#passes.length - 1)?.focus();
    else if (event.key === "Delete" || event.key === "Backspace") this.remove(at);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}

/**
 * Return the passes of a text: its parts between commas that are in no brackets or quotes.
 * @param {string} text
 * @returns {string[]}
 */
export function passesOf(text) {
  /** @type {string[]} */
  const passes = [];
  let depth = 0;
  let quoted = false;
  let start = 0;
  for (let at = 0; at < text.length; at++) {
    const letter = text[at];
    if (letter === '"' && text[at - 1] !== "\\") quoted = !quoted;
    else if (quoted) continue;
    else if (letter === "{" || letter === "[") depth++;
    else if (letter === "}" || letter === "]") depth--;
    else if (letter === "," && depth === 0) {
      passes.push(text.slice(start, at).trim());
      start = at + 1;
    }
  }
  passes.push(text.slice(start).trim());
  return passes.filter((pass) => pass !== "");
}
