// The dock that runs: the pipeline of the session, other models, the job, and the sessions that came of jobs.

import { fill, h } from "whence/dom";
import { ask, post, sessions } from "whence/run/client";
import { failureView } from "whence/run/failure";
import { modelChooser } from "whence/run/model";
import { pipelineEditor } from "whence/run/pipeline";
import { progressBar } from "whence/run/progress";
import { jobs } from "whence/run/watch";

/** @typedef {import("whence/types").App} App */
/** @typedef {import("whence/run/client").JobState} JobState */
/** @typedef {import("whence/run/client").SessionRow} SessionRow */

/** @type {import("whence/types").Dock} */
export const run = {
  id: "run",
  title: "Run",
  enabled: (app) => app.api.served,
  create: (app, element) => new RunDock(app, element),
};

class RunDock {
  #off;
  #gone = false;

  /**
   * @param {App} app
   * @param {HTMLElement} element
   */
  constructor(app, element) {
    this.app = app;
    this.progress = progressBar();
    this.outcome = h("div", { "data-test": "outcome" });
    this.body = h("div", {});
    this.chooser = modelChooser((body) => this.#start(body));
    fill(element, h("div", { class: "run" }, this.progress.element, this.outcome, this.body, this.chooser.element));
    /** @type {ReturnType<typeof pipelineEditor> | null} */
    this.editor = null;
    this.#off = jobs.on((state) => this.#show(state));
    void this.#load();
  }

  update() {}

  destroy() {
    this.#gone = true;
    this.#off();
  }

  async #load() {
    const [rows, table] = await Promise.all([sessions(), ask("/passes")]);
    if (this.#gone) return;
    const row = rows.find(({ number }) => number === this.app.api.session);
    if (row?.runnable) {
      this.editor = pipelineEditor(this.app, row.pipeline, (body) => this.#start({ session: row.number, ...body }));
      this.editor.setPasses(table.passes);
    }
    this.chooser.setModels(table.models);
    fill(this.body, this.editor?.element, this.#history(rows), this.#files(table.files));
    this.#show(jobs.state);
  }

  /** @param {object} body */
  async #start(body) {
    jobs.begun = (await post("/run", body)).job;
  }

  /** @param {SessionRow[]} rows */
  #history(rows) {
    if (rows.length < 2) return null;
    const items = rows.map((row) => {
      const title = row.about || row.model;
      return h(
        "li",
        {},
        row.number === this.app.api.session
          ? h("strong", { "aria-current": "page" }, title)
          : h("a", { href: `/?session=${row.number}`, "data-test": "session" }, title),
      );
    });
    return h("section", {}, h("h4", {}, "Sessions"), h("ol", { class: "sessions", "data-test": "sessions" }, ...items));
  }

  /** @param {string[]} kinds */
  #files(kinds) {
    const links = kinds.map((kind) =>
      h("a", { href: `/export/${this.app.api.session}/${kind}`, download: "", "data-test": `export-${kind}` }, kind),
    );
    return h("p", { class: "controls" }, "Keep as:", ...links);
  }

  /** @param {JobState} state */
  #show(state) {
    this.progress.show(state);
    const busy = state.status === "running";
    this.editor?.enable(!busy);
    this.chooser.enable(!busy);
    if (state.status === "failed") fill(this.outcome, failureView(this.app, state, this.app.api.session));
    else if (state.status === "cancelled") fill(this.outcome, h("p", { role: "status" }, "Cancelled."));
    else fill(this.outcome);
  }
}
