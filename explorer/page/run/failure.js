// A job that failed: what is wrong, with which op and layer, how far it came, and the command that does it again.

import { h } from "whence/dom";

/** @typedef {import("whence/types").App} App */
/** @typedef {import("whence/run/client").JobState} JobState */

/**
 * @param {App | null} app
 * @param {JobState} state
 * @param {number} session the session that the page shows
 */
export function failureView(app, state, session) {
  const failure = state.failure ?? { message: "it failed", command: "" };
  const facts = [];
  if (failure.pass) facts.push(h("dt", {}, "pass"), h("dd", { "data-test": "failed-pass" }, failure.pass));
  if (failure.op) facts.push(h("dt", {}, "operator"), h("dd", { "data-test": "failed-op" }, failure.op));
  if (failure.layer) facts.push(h("dt", {}, "layer"), h("dd", { "data-test": "failed-layer" }, layer(app, failure.layer)));
  const command = h("code", { "data-test": "failed-command" }, failure.command);
  const copy = h("button", { type: "button", onclick: () => app?.copy(failure.command) }, "Copy");
  const number = state.session ?? 0;
  const sofar =
    number === 0
      ? "Nothing was taken down before."
      : number === session
        ? "The panes show the program as it was then: the last stage is the one that the pass was given."
        : h("a", { href: `/?session=${number}`, "data-test": "so-far" }, "Show the program as it was then");
  return h(
    "section",
    { class: "failed", role: "alert", "data-test": "failed" },
    h("h4", {}, state.about ? `Failed: ${state.about}` : "Failed"),
    h("pre", { "data-test": "failed-message" }, failure.message),
    h("dl", {}, ...facts, h("dt", {}, "so far"), h("dd", {}, sofar), h("dt", {}, "again"), h("dd", {}, command, " ", app ? copy : null)),
  );
}

/**
 * @param {App | null} app
 * @param {string} name
 */
function layer(app, name) {
  const row = app?.model.document.layers.name.indexOf(name) ?? -1;
  return row >= 0 ? h("button", { type: "button", class: "layer", onclick: () => app?.pin([row]) }, name) : name;
}
