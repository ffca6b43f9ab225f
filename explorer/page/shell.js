// Actions of the page as a whole.

import { askAbout } from "whence/dock/events";
import { showHelp } from "whence/help";
import { neighbour } from "whence/picker";
import { toggleTheme } from "whence/theme";

/** @typedef {import("whence/types").App} App */

/** @param {App} app */
export function shellActions(app) {
  const { actions, state } = app;
  actions.add({ id: "unpin", title: "Remove the pins", key: "Escape", run: () => app.unpin() });
  actions.add({
    id: "filter",
    title: "Show pinned lines only",
    key: "f",
    enabled: () => state.get("pins").some(Boolean) || state.get("filter"),
    run: () => state.set({ filter: !state.get("filter") }),
  });
  actions.add({ id: "why", title: "Why is this here?", key: "w", group: "Pins", run: () => askAbout(app, "why") });
  actions.add({ id: "where", title: "Where did it go?", key: "g", group: "Pins", run: () => askAbout(app, "where") });
  actions.add({ id: "search", title: "Search in the pane", key: "/", run: () => app.view(app.pane().id)?.search?.(0) });
  actions.add({ id: "search-next", title: "Next hit", key: "n", run: () => app.view(app.pane().id)?.search?.(1) });
  actions.add({ id: "search-previous", title: "Previous hit", key: "N", run: () => app.view(app.pane().id)?.search?.(-1) });
  actions.add({ id: "theme", title: "Light or dark theme", run: () => toggleTheme(app) });
  actions.add({ id: "help", title: "Help: keys and actions", key: "?", run: () => showHelp(app) });
  /** @type {["previous-stage" | "next-stage", string, string, 1 | -1][]} */
  const steps = [
    ["previous-stage", "Previous stage of the pane", "ArrowLeft", -1],
    ["next-stage", "Next stage of the pane", "ArrowRight", 1],
  ];
  for (const [id, title, key, direction] of steps) {
    actions.add({
      id,
      title,
      key: `Alt+${key}`,
      run: () => {
        const stage = neighbour(app, app.pane(), direction);
        if (stage >= 0) app.setPane(app.pane().id, { stage });
      },
    });
  }
}
