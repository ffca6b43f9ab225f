// Programs with open sizes: the sizes that measurements are of, and how to have those of others.

import { quoted } from "whence/copying/commands";
import { h } from "whence/dom";
import { post } from "whence/run/client";
import { jobs } from "whence/run/watch";

/** @typedef {import("whence/types").App} App */
/** @typedef {import("whence/document").Program} Program */

const EXPLORE = "whence explore ";

/**
 * Return whether a dock of measurements has something to show: a row, or a program that waits for its sizes.
 * @param {App} app
 * @param {readonly object[]} rows
 */
export function measurable(app, rows) {
  return rows.length > 0 || app.model.document.programs.some(({ open }) => open !== "");
}

/**
 * Return the command that measures a session's model at other sizes; "" for a model in memory.
 * @param {string} command the one that made the session
 * @param {string} sizes
 * @param {boolean} tensors
 */
export function commandAt(command, sizes, tensors) {
  if (!command.startsWith(EXPLORE)) return "";
  const rest = command.replaceAll(/ (?:--no-times|'--sizes=[^']*'|--sizes[ =](?:'[^']*'|\S+))(?= |$)/g, "");
  const more = tensors && !/ --(?:tensors|reference)(?: |$)/.test(rest) ? " --tensors" : "";
  return `${rest} --sizes ${quoted(sizes)}${more}`;
}

/**
 * Return the sizes that a program was measured at, and a form for others.
 * @param {App} app
 * @param {Program} program one with open sizes
 * @param {string} dock
 * @returns {import("whence/data/program").Part}
 */
export function sizesPart(app, program, dock) {
  const { made_by: made } = app.model.document;
  const about = program.sizes ? `Measured at ${program.sizes}.` : `The sizes of ${program.name} are open: this is measured at sizes that you choose.`;
  const input = h("input", { value: program.sizes || program.open, "aria-label": "Sizes", spellcheck: "false", "data-test": "sizes" });
  const said = h("span", { role: "status", "data-test": "sizes-said" });
  const tensors = dock === "tensors";
  const button = h("button", { type: "button", "data-test": "sizes-measure" });
  const command = () => commandAt(made.command, input.value, tensors);
  const code = h("code", { "data-test": "sizes-command" });

  async function measure() {
    try {
      const options = { sizes: input.value, "no-times": null, ...(tensors ? { tensors: "" } : {}) };
      jobs.begun = (await post("/run", { session: app.api.session, options })).job;
      said.textContent = "Measuring ..";
    } catch (error) {
      said.textContent = error instanceof Error ? error.message : String(error);
    }
  }

  function show() {
    button.textContent = app.api.served ? `Measure at ${input.value}` : "Copy the command";
    code.textContent = app.api.served ? "" : command();
  }
  input.addEventListener("input", show);
  button.addEventListener("click", () => {
    if (app.api.served) void measure();
    else void app.copy(command());
  });
  button.hidden = !app.api.served && !command();
  show();
  const form = h("span", { class: "sizes-form" }, input, " ", button, " ", code, said);
  return { element: h("p", { class: "data-facts", "data-test": `${dock}-sizes` }, about, " ", form) };
}
