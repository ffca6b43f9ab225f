// The pipeline: chips and their text, of which each follows the other, and the button that runs it.

import { fill, h } from "whence/dom";
import { Refused } from "whence/run/client";
import { Chips, passesOf } from "whence/run/chips";

/** @typedef {import("whence/types").App} App */
/** @typedef {import("whence/run/client").PassRow} PassRow */

/**
 * @param {App} app
 * @param {readonly string[]} passes those of the session
 * @param {(body: object) => Promise<void>} run
 */
export function pipelineEditor(app, passes, run) {
  const initial = passes.join(",");
  const text = h("textarea", {
    rows: 2,
    spellcheck: "false",
    "aria-label": "The pipeline as text",
    "aria-describedby": "pipeline-error",
    "data-test": "pipeline-text",
    oninput: () => {
      chips.show(passesOf(text.value));
      follow();
    },
  });
  const chips = new Chips((changed) => {
    text.value = changed.join(",");
    follow();
  }, app.announce);
  const names = h("datalist", { id: "pass-names" });
  const added = h("input", {
    list: "pass-names",
    placeholder: "add a pass",
    "aria-label": "Name of a pass to add",
    "data-test": "pass-name",
    onkeydown: (/** @type {KeyboardEvent} */ event) => {
      if (event.key === "Enter") add();
    },
  });
  const about = h("span", { class: "hint", "data-test": "pass-about" });
  const error = h("pre", { id: "pipeline-error", class: "syntax", role: "alert", hidden: true, "data-test": "pipeline-error" });
  const go = button("Run", "run-pipeline", start);
  const reset = button("Reset", "reset-pipeline", () => {
    text.value = initial;
    chips.show(passes);
    follow();
  });
  /** @type {Map<string, string>} */
  let helps = new Map();

  function add() {
    const pass = added.value.trim();
    if (pass === "") return;
    chips.insert(pass, chips.place);
    added.value = "";
    about.textContent = "";
    added.focus();
  }

  function follow() {
    error.hidden = true;
    reset.disabled = text.value === initial;
  }

  async function start() {
    error.hidden = true;
    try {
      await run({ pipeline: text.value });
    } catch (problem) {
      const column = problem instanceof Refused ? problem.column : -1;
      showError(problem instanceof Error ? problem.message : String(problem), column);
    }
  }

  /**
   * @param {string} message
   * @param {number} column
   */
  function showError(message, column) {
    const from = Math.max(0, column - 40);
    const excerpt = text.value.slice(from, column + 40).replaceAll("\n", " ");
    fill(error, column < 0 ? message : `${excerpt}\n${" ".repeat(column - from)}^ ${message}`);
    error.hidden = false;
    if (column < 0) return;
    text.focus();
    text.setSelectionRange(column, column + (passesOf(text.value.slice(column))[0]?.length ?? 0));
  }

  added.addEventListener("input", () => (about.textContent = helps.get(added.value.trim()) ?? ""));
  text.value = initial;
  chips.show(passes);
  follow();
  const element = h(
    "section",
    { class: "pipeline", "aria-label": "Pipeline", "data-test": "pipeline" },
    chips.element,
    h("div", { class: "controls" }, added, names, button("Add", "add-pass", add), about, h("span", { class: "space" }), reset, go),
    text,
    error,
  );
  return {
    element,
    /** @param {PassRow[]} rows */
    setPasses(rows) {
      helps = new Map(rows.map((row) => [row.name, row.help]));
      fill(names, ...rows.map((row) => h("option", { value: row.name }, row.help)));
    },
    /** @param {boolean} enabled */
    enable(enabled) {
      go.disabled = !enabled;
    },
  };
}

/**
 * @param {string} title
 * @param {string} test
 * @param {() => void} act
 */
export function button(title, test, act) {
  return h("button", { type: "button", "data-test": test, onclick: () => act() }, title);
}
