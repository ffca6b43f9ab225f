// Help: every action of the page with its key; each can be run from here.

import { h } from "whence/dom";

/** @typedef {import("whence/types").App} App */
/** @typedef {import("whence/dom").Child} Child */

/**
 * Open a dialog, which is gone once it is closed.
 * @param {string} title
 * @param {string} test
 * @param {...Child} children
 */
export function openDialog(title, test, ...children) {
  const close = h(
    "button",
    { type: "button", class: "close", "aria-label": "close the dialog", onclick: () => dialog.close() },
    "×",
  );
  const dialog = h(
    "dialog",
    { class: "sheet", "aria-label": title, "data-test": test, onclose: () => dialog.remove() },
    close,
    h("h2", {}, title),
    ...children,
  );
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

/** @param {App} app */
export function showHelp(app) {
  /** @type {Map<string, HTMLElement[]>} */
  const groups = new Map();
  for (const action of app.actions.list()) {
    const enabled = action.enabled?.(app) ?? true;
    const run = () => {
      dialog.close();
      app.actions.run(action.id, app);
    };
    const row = h(
      "tr",
      {},
      h("td", {}, action.key ? h("kbd", {}, action.key) : ""),
      h(
        "td",
        {},
        h("button", { type: "button", disabled: !enabled, "data-action": action.id, onclick: run }, action.title),
      ),
    );
    const group = action.group ?? "Page";
    groups.set(group, [...(groups.get(group) ?? []), row]);
  }
  const tables = [...groups].map(([title, rows]) =>
    h("section", {}, h("h3", {}, title), h("table", {}, h("tbody", {}, ...rows))),
  );
  const mouse = h(
    "p",
    {},
    "Hover lights up what belongs together; click pins as A, Shift+click as B. In a text: arrows move, Enter pins, Shift+Enter pins as B.",
  );
  const signs = h(
    "p",
    {},
    "o: computes the output of a layer. !: nobody says where the line comes from. A dotted bar: the link is inferred, not exact.",
  );
  const dialog = openDialog("Keys and actions", "help", mouse, signs, h("div", { class: "groups" }, ...tables));
}
