// About the session: what made it, and what was left out and why.

import { h } from "whence/dom";
import { openDialog } from "whence/help";

/** @typedef {import("whence/types").App} App */

/** @param {App} app */
export function showAbout(app) {
  const { made_by: made, sources, kernels, calls, layers, stages } = app.model.document;
  const libraries = Object.entries(made.libraries).map(([name, version]) => `${name} ${version}`);
  /** @type {[string, string][]} */
  const facts = [
    ["model", made.model],
    ["sources", sources.map(({ file, kind }) => `${file} (${kind})`).join(", ")],
    ["sha256", made.sha256],
    ["made by", [`Whence ${made.whence}`, ...libraries].join(", ")],
    ["command", made.command],
    ["target", `${made.target}, O${made.opt_level}${made.threads > 0 ? `, ${made.threads} threads` : ""}`],
    ["cpu", made.cpu],
    ["compiled in", `${made.compile_seconds.toFixed(2)} s`],
    [
      "holds",
      `${layers.name.length} layers and tensors, ${kernels.length} kernels, ${calls.length} calls, ${stages.length} texts`,
    ],
  ];
  const rows = facts.flatMap(([name, text]) => (text ? [h("dt", {}, name), h("dd", {}, text)] : []));
  const notes = made.notes.map((note) => h("li", {}, note));
  openDialog(
    "About this session",
    "about",
    h("dl", {}, ...rows),
    notes.length > 0 && h("h3", {}, "Notes"),
    notes.length > 0 && h("ul", {}, ...notes),
  );
}
