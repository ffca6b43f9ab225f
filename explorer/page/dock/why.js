// Why is this here? The layers that a pinned line serves, and the passes that made its op.

import { eventTable, layerButtons, stageButton } from "whence/dock/events";
import { fill, h } from "whence/dom";
import { heatOfLines } from "whence/heat";
import { History } from "whence/history";
import { kin } from "whence/links";
import { count, opName } from "whence/words";

/** @typedef {import("whence/types").App} App */
/** @typedef {import("whence/types").At} At */
/** @typedef {import("whence/types").Mark} Mark */

const MOST_OPS = 12;

/** @type {import("whence/types").Dock} */
export const why = { id: "why", title: "Why is this here?", create: (app, element) => new Why(app, element) };

class Why {
  #turn = 0;
  #off;

  /** @param {App} app @param {HTMLElement} element */
  constructor(app, element) {
    this.app = app;
    this.element = element;
    this.history = new History(app.model.document);
    this.#off = app.state.on(["pins", "program", "heat"], () => this.update());
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
    const pins = this.app.state.get("pins").filter((pin) => pin !== null);
    const parts = await Promise.all(pins.map((pin) => this.#answer(pin)));
    if (turn !== this.#turn) return;
    const hint = h("p", { class: "hint" }, "Pin a line to see the layers that it serves, and the passes that made it.");
    fill(this.element, h("div", { class: "answers", "data-test": "why" }, ...(parts.length > 0 ? parts : [hint])));
  }

  /** @param {Mark} pin */
  async #answer(pin) {
    const { app } = this;
    const { model } = app;
    const losers = model.losers(pin.rows);
    const rows = pin.rows.filter((row) => model.losers([row]).length === 0);
    const facts = [];
    if (pin.at) facts.push(...(await this.#line(pin.at)));
    facts.push(fact("serves", rows.length > 0 ? layerButtons(app, rows) : ["no known layer"]));
    if (losers.length > 0) facts.push(fact("lost", [`who it serves was lost by ${losers.join(", ")}`], "lost"));
    const ops = await this.#ops(pin);
    const shown = ops.slice(0, MOST_OPS);
    const histories = shown.flatMap(({ op, stage, line }) => this.#madeBy(op, stage, line, ops.length > 1));
    if (ops.length > MOST_OPS)
      histories.push(h("p", { class: "dim" }, `and ${count(ops.length - MOST_OPS, "op")} more`));
    return h("article", {}, h("h3", {}, pin.at ? "This line" : pin.label), h("dl", {}, ...facts.flat()), ...histories);
  }

  /**
   * What is known of the line itself.
   * @param {At} at
   */
  async #line(at) {
    const { model, state } = this.app;
    const row = model.stageRow(at.stage);
    const { lines, exact, outputs } = await model.stage(at.stage);
    const facts = [
      fact("line", [
        stageButton(this.app, at.stage, `${row.level}, ${row.name}, line ${at.line + 1}`, at.line, at.call),
        h("pre", {}, (lines[at.line] ?? "").trim()),
      ]),
    ];
    const output = outputs.get(at.line);
    if (output) facts.push(fact("output of", layerButtons(this.app, output)));
    const heat = heatOfLines(model, state.get("heat"), at.stage, at.call)?.shares[at.line];
    if (heat !== undefined) facts.push(fact(state.get("heat"), [`${(100 * heat).toFixed(2)} % of ${row.level}`]));
    const kernel = model.document.kernels[row.kernel];
    if (kernel) {
      const calls = at.call >= 0 ? [at.call] : model.callsOf(row.kernel);
      const names = calls.slice(0, 3).map((call) => model.document.calls[call]?.name ?? "");
      const called = calls.length > 3 ? `${names.join(", ")} and ${calls.length - 3} more` : names.join(", ");
      facts.push(
        fact("kernel", [
          `${kernel.symbol}${kernel.compiler ? `, run by ${kernel.compiler}` : ""}, called as ${called}`,
        ]),
      );
      if (kernel.tuned) facts.push(fact("tuned", [kernel.tuned]));
    }
    if (at.tir > 0 && !model.isLastTir(at.stage)) {
      const tir = model.lastStage("tir", row.kernel);
      const text = (await model.stage(tir)).lines[at.tir - 1] ?? "";
      const kind = exact.length === 0 || exact[at.line] === 1 ? "" : " (inferred from its neighbours)";
      facts.push(
        fact("made of", [
          stageButton(this.app, tir, `tir, line ${at.tir}${kind}`, at.tir - 1, at.call),
          h("pre", {}, text.trim()),
        ]),
      );
    }
    return facts;
  }

  /**
   * The relay ops that the pin is of: that of its line, else those of its layers after the last pass, of which those
   * that compute an output of it come first.
   * @param {Mark} pin
   */
  async #ops(pin) {
    const { model, state } = this.app;
    if (pin.at) {
      const op = (await model.columns(pin.at.stage)).op[pin.at.line] ?? -1;
      if (op >= 0 && model.stageRow(pin.at.stage).kernel < 0) return [{ op, stage: pin.at.stage, line: pin.at.line }];
    }
    const stage = model.lastStage("relay", -1, state.get("program"));
    if (stage < 0) return [];
    const columns = await model.columns(stage);
    const lines = kin(model, { ...pin, at: null }, stage, -1).lines();
    const ops = new Map([...lines].map((line) => [columns.op[line] ?? -1, line]));
    ops.delete(-1);
    const inner = (/** @type {number} */ line) => Number(!columns.outputs.get(line)?.some((row) => pin.rows.includes(row)));
    return [...ops].map(([op, line]) => ({ op, stage, line })).sort((a, b) => inner(a.line) - inner(b.line));
  }

  /**
   * @param {number} op
   * @param {number} stage
   * @param {number} line
   * @param {boolean} titled whether the op is one of several
   */
  #madeBy(op, stage, line, titled) {
    const events = this.history.ofOp(op);
    const name = opName(this.app.model.document.ops.name[op] ?? "");
    const title = h("h4", {}, titled ? stageButton(this.app, stage, name, line) : name, " was made by");
    if (events.length > 0) return [title, eventTable(this.app, events)];
    return [h("p", {}, h("b", {}, name), " was made by the frontend; no pass has changed it since.")];
  }
}

/** @param {string} name @param {(Node | string)[]} values @param {string} [kind] */
function fact(name, values, kind) {
  return [h("dt", {}, name), h("dd", { class: kind }, ...values)];
}
