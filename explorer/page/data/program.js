// The choice of a program, where several were measured, and what its dock shows of it.

import { sizesPart } from "whence/data/sizes";
import { fill, h } from "whence/dom";

/** @typedef {import("whence/types").App} App */
/** @typedef {import("whence/types").DockView} DockView */
/** @typedef {{element: HTMLElement, destroy?: () => void}} Part */

/**
 * Show parts for one of several records of programs, with a choice among these; that of the page's program at first.
 * @template {{program: number}} Item
 * @param {App} app
 * @param {HTMLElement} element
 * @param {{name: string, items: readonly Item[], tools?: Node[], parts: (item: Item) => Part[]}} about
 * @returns {DockView & {show: () => void}}
 */
export function perProgram(app, element, { name, items, tools = [], parts }) {
  const { programs } = app.model.document;
  // Programs whose sizes are open wait for them beside those that were measured.
  const waiting = programs.flatMap(({ open, sizes }, program) => (open && !sizes && !items.some((item) => item.program === program) ? [program] : []));
  const numbers = [...items.map((item) => item.program), ...waiting];
  /** @type {Part[]} */
  let shown = [];
  const body = h("div", { class: "data-parts" });
  const choice = h("select", { "aria-label": "Program", "data-test": `${name}-program`, onchange: () => show() });
  fill(choice, ...numbers.map((program, number) => h("option", { value: number }, programs[program]?.name ?? "")));
  choice.hidden = numbers.length < 2;
  fill(element, h("div", { class: "data-dock", "data-test": name }, h("div", { class: "data-tools" }, choice, ...tools), body));

  function destroy() {
    for (const part of shown) part.destroy?.();
  }

  function show() {
    destroy();
    const [item, program] = [items[Number(choice.value)], programs[numbers[Number(choice.value)] ?? -1]];
    const sizes = program?.open ? [sizesPart(app, program, name)] : [];
    shown = [...sizes, ...(item ? parts(item) : [])];
    fill(body, ...shown.map((part) => part.element));
  }

  const follow = () => {
    const wanted = numbers.indexOf(app.state.get("program"));
    if (wanted >= 0) choice.value = String(wanted);
    show();
  };
  const off = app.state.on("program", follow);
  follow();
  return {
    show,
    update: show,
    destroy() {
      off();
      destroy();
    },
  };
}

/**
 * @param {string} text
 * @param {{[name: string]: unknown}} [attributes]
 * @returns {Part}
 */
export function sentence(text, attributes = {}) {
  return { element: h("p", { class: "data-facts", ...attributes }, text) };
}
