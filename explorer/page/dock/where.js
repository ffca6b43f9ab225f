// Where did it go? What serves the pinned layers at each level, and the passes that took or changed what served them.

import { eventTable, layerButtons, stageButton } from "whence/dock/events";
import { fill, h } from "whence/dom";
import { History } from "whence/history";
import { KERNEL_LEVELS, servingCalls } from "whence/navigate";
import { secondsOf, trace } from "whence/trace";
import { count, duration, opName, shortSymbol, some } from "whence/words";

/** @typedef {import("whence/types").App} App */
/** @typedef {import("whence/types").Mark} Mark */
/** @typedef {import("whence/trace").Step} Step */

const MOST_CALLS = 20;

/** @type {import("whence/types").Dock} */
export const where = { id: "where", title: "Where did it go?", create: (app, element) => new Where(app, element) };

class Where {
  #turn = 0;
  #off;

  /** @param {App} app @param {HTMLElement} element */
  constructor(app, element) {
    this.app = app;
    this.element = element;
    this.history = new History(app.model.document);
    this.#off = app.state.on(["pins", "program"], () => this.update());
    this.update();
  }

  update() {
    void this.#show();
  }

  destroy() {
    this.#off();
  }

  async #show() {
    const turn = ++this.#turn;
    const pins = this.app.state.get("pins").filter((pin) => pin !== null && pin.rows.length > 0);
    const parts = await Promise.all(pins.map((pin) => this.#answer(/** @type {Mark} */ (pin))));
    if (turn !== this.#turn) return;
    const hint = h("p", { class: "hint" }, "Pin a layer to see what became of it at every level.");
    fill(this.element, h("div", { class: "answers", "data-test": "where" }, ...(parts.length > 0 ? parts : [hint])));
  }

  /** @param {Mark} pin */
  async #answer(pin) {
    const { app } = this;
    const { model, state } = app;
    const program = state.get("program");
    const layers = { ...pin, at: null };
    const calls = servingCalls(model, pin.rows, program);
    const [relay] = await trace(model, layers, ["relay"], program, -1);
    const kept = relay && relay.count > 0;
    const alive = kept || calls.length > 0;
    const verdict = alive
      ? h(
          "p",
          {},
          kept
            ? stageButton(
                app,
                relay.stage,
                `${count(relay.count, "relay line")}: ${some(relay.names.map(opName), 5)}`,
                relay.line,
              )
            : "No relay line",
          ` and ${count(calls.length, "kernel call")} serve it.`,
        )
      : h("p", { class: "lost" }, "It vanished: no operator carries it after compilation.");
    const rows = await Promise.all(calls.slice(0, MOST_CALLS).map((call) => this.#call(layers, call)));
    const titles = ["call", ...KERNEL_LEVELS, "time", "kernel"];
    const table = h(
      "table",
      {},
      h("thead", {}, h("tr", {}, ...titles.map((title) => h("th", { scope: "col" }, title)))),
      h("tbody", {}, ...rows),
    );
    const code = [...new Set(pin.rows.flatMap((row) => model.document.layers.code[row] ?? []))];
    const events = this.history.touching(model.setsMeeting(pin.rows));
    const told =
      events.length > 0
        ? [
            h("h4", {}, "What the passes did with it"),
            eventTable(app, events, { into: (event) => this.history.into(event, pin.rows) }),
          ]
        : [h("p", {}, "No pass took or changed what serves it.")];
    return h(
      "article",
      { "data-vanished": alive ? null : "" },
      h("h3", {}, ...layerButtons(app, pin.rows)),
      code.length > 0 && h("pre", { class: "lines", "data-test": "lines" }, code.join("\n")),
      verdict,
      rows.length > 0 && table,
      calls.length > MOST_CALLS && h("p", { class: "dim" }, `and ${count(calls.length - MOST_CALLS, "call")} more`),
      ...told,
    );
  }

  /** @param {Mark} layers @param {number} number */
  async #call(layers, number) {
    const { app } = this;
    const { calls, kernels } = app.model.document;
    const call = calls[number];
    const kernel = kernels[call?.kernel ?? -1];
    const program = call?.program ?? 0;
    const steps = await trace(app.model, layers, KERNEL_LEVELS, program, number);
    const cells = KERNEL_LEVELS.map((level) => {
      const step = steps.find((candidate) => candidate.level === level);
      return h("td", {}, step && step.count > 0 ? stageButton(app, step.stage, told(step), step.line, number) : "");
    });
    const seconds = secondsOf(app.model, layers.rows, program, number);
    return h(
      "tr",
      {},
      h("td", {}, call?.name ?? ""),
      ...cells,
      h("td", {}, seconds ? duration(seconds.part) : ""),
      h("td", {}, kernel?.compiler ? `run by ${kernel.compiler}` : shortSymbol(kernel?.symbol ?? "")),
    );
  }
}

/** @param {Step} step */
function told(step) {
  const lines = count(step.count, step.level === "asm" ? "instruction" : "line");
  return step.inferred > 0 ? `${lines}, ${step.inferred} inferred` : lines;
}
