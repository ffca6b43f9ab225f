// The jobs of the server as the page follows them: when one that it began ends, the page shows what came of it.

import { listen } from "whence/run/client";

/** @typedef {import("whence/types").App} App */
/** @typedef {import("whence/run/client").JobState} JobState */

const PINS = "whence-pins";

class Jobs {
  /** @type {JobState} */
  state = { status: "idle" };
  /** The number of the job that this page began last. */
  begun = 0;
  /** @type {Set<(state: JobState) => void>} */
  #callbacks = new Set();

  /**
   * @param {(state: JobState) => void} callback
   * @returns {() => void}
   */
  on(callback) {
    this.#callbacks.add(callback);
    callback(this.state);
    return () => this.#callbacks.delete(callback);
  }

  /** @param {App} app */
  follow(app) {
    restorePins(app);
    listen((state) => {
      this.state = state;
      for (const callback of this.#callbacks) callback(state);
      if (state.job !== this.begun || this.begun === 0) return;
      if (state.status === "finished" && state.session) openSession(app, state.session);
      if (state.status === "failed") app.announce("The job failed.");
      if (state.status === "cancelled") app.announce("The job is cancelled.");
    });
  }
}

export const jobs = new Jobs();

/**
 * Show another session: the dock stays open, and layers of the same names are pinned.
 * @param {App} app
 * @param {number} session
 */
export function openSession(app, session) {
  const { name } = app.model.document.layers;
  const pins = app.state.get("pins").map((pin) => pin && pin.rows.map((row) => name[row]));
  sessionStorage.setItem(PINS, JSON.stringify(pins));
  const kept = { dock: app.state.get("dock"), heat: app.state.get("heat"), theme: app.state.get("theme") };
  const hash = btoa(JSON.stringify(kept)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  location.assign(`/?session=${session}#${hash}`);
}

/** @param {App} app */
function restorePins(app) {
  const kept = sessionStorage.getItem(PINS);
  sessionStorage.removeItem(PINS);
  if (kept === null) return;
  const { name } = app.model.document.layers;
  const rows = new Map(name.map((text, row) => [text, row]));
  JSON.parse(kept).forEach((/** @type {string[] | null} */ names, /** @type {0 | 1} */ slot) => {
    const pinned = (names ?? []).map((text) => rows.get(text)).filter((row) => row !== undefined);
    if (pinned.length > 0) app.pin(pinned, slot);
  });
}
