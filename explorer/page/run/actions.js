// Actions of jobs, where a server runs them.

import { cancel } from "whence/run/client";
import { jobs } from "whence/run/watch";

const FILES = /** @type {const} */ ([
  ["json", "Keep the session document"],
  ["report", "Keep the page as one file"],
]);

/** @param {import("whence/types").App} app */
export function runActions(app) {
  if (!app.api.served) return;
  const group = "Run";
  app.actions.add({ id: "run", title: "Edit the pipeline and run again, or another model", key: "r", group, run: () => app.openDock("run") });
  app.actions.add({
    id: "cancel-job",
    title: "Cancel the job",
    group,
    enabled: () => jobs.state.status === "running",
    run: () => void cancel(jobs.state.job ?? 0).catch(() => undefined),
  });
  for (const [kind, title] of FILES) {
    app.actions.add({ id: `keep-${kind}`, title, group, run: () => location.assign(`/export/${app.api.session}/${kind}`) });
  }
}
