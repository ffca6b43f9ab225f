// Actions of the page as a whole.

import { neighbour } from "whence/picker";

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
  actions.add({ id: "search", title: "Search in the pane", key: "/", run: () => app.view(app.pane().id)?.search?.(0) });
  actions.add({ id: "search-next", title: "Next hit", key: "n", run: () => app.view(app.pane().id)?.search?.(1) });
  actions.add({ id: "search-previous", title: "Previous hit", key: "N", run: () => app.view(app.pane().id)?.search?.(-1) });
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
