// The lineage of the pins: layer, relay ops, kernel, te, loops, llvm, instructions and time, each a step to go to.

import { fill, h } from "whence/dom";
import { allDocks } from "whence/dock";
import { callsServing, loopsOf, secondsOf, traceCall, traceProgram } from "whence/trace";
import { count, duration, isFrameOp, opName, shortSymbol, some } from "whence/words";

/** @typedef {import("whence/types").App} App */
/** @typedef {import("whence/types").Mark} Mark */
/** @typedef {import("whence/trace").Step} Step */
/** @typedef {{text: string, title: string, test: string, go: (() => void) | null}} Crumb */

const LETTERS = ["A", "B"];
const HINT =
  "Click a line to pin its layers, Shift+click to pin others beside; w asks why it is here, g where it went.";
/** @type {{[level: string]: string}} */
const NOUNS = { te: "te line", tir: "tir line", llvm: "llvm line", asm: "instruction" };

export class Lineage {
  #turn = 0;
  /** The chosen call of each pin; -1 for the first that serves it. */
  #calls = [-1, -1];

  /**
   * @param {App} app
   * @param {HTMLElement} element
   */
  constructor(app, element) {
    this.app = app;
    this.strips = h("div", { class: "strips" });
    this.told = h("p", { class: "unseen", role: "status", "aria-live": "polite", "data-test": "told" });
    fill(element, this.strips, this.told);
    app.state.on(["pins", "program"], () => {
      this.#calls = [-1, -1];
      void this.update(true);
    });
    void this.update(false);
  }

  /** @param {boolean} aloud whether screen readers hear of the pins */
  async update(aloud) {
    const turn = ++this.#turn;
    const pins = this.app.state.get("pins");
    const answers = await Promise.all(pins.map((pin, slot) => (pin ? this.#strip(pin, slot) : null)));
    if (turn !== this.#turn) return;
    const shown = answers.filter((strip) => strip !== null);
    const strips = shown.length > 0 ? shown.map((strip) => strip.element) : [h("p", { class: "hint" }, HINT)];
    fill(this.strips, ...strips);
    const last = shown.at(-1);
    if (aloud) this.told.textContent = last?.told ?? "nothing is pinned";
  }

  /**
   * @param {Mark} pin
   * @param {number} slot
   */
  async #strip(pin, slot) {
    const { app } = this;
    const { model, state } = app;
    const program = state.get("program");
    const calls = callsServing(model, pin.rows, program);
    const wanted = this.#calls[slot] ?? -1;
    const call = [wanted, pin.at?.call ?? -1].find((candidate) => calls.includes(candidate)) ?? calls[0] ?? -1;
    const steps = [
      ...(await traceProgram(model, pin, program)),
      ...(call < 0 ? [] : await traceCall(model, pin, call)),
    ];
    const crumbs = await this.#crumbs(pin, steps, calls, call);
    const letter = LETTERS[slot] ?? "";
    const close = h(
      "button",
      {
        type: "button",
        class: "unpin",
        "aria-label": `unpin ${letter}`,
        title: `Unpin ${letter}`,
        onclick: () => this.#unpin(slot),
      },
      "×",
    );
    const items = crumbs.map((crumb) => h("li", {}, this.#button(crumb)));
    if (calls.length > 1) items.splice(3, 0, h("li", {}, this.#chooser(slot, calls, call)));
    const element = h(
      "div",
      { class: "strip", "data-letter": letter, "data-test": "lineage" },
      h("b", { class: "pin-letter" }, letter),
      h("ol", {}, ...items),
      close,
    );
    return { element, told: `${letter}: ${crumbs.map((crumb) => crumb.text).join(", ")}` };
  }

  /**
   * @param {Mark} pin
   * @param {Step[]} steps
   * @param {number[]} calls
   * @param {number} call
   * @returns {Promise<Crumb[]>}
   */
  async #crumbs(pin, steps, calls, call) {
    const { model, state } = this.app;
    const program = state.get("program");
    /** @type {(level: string) => Step | undefined} */
    const of = (level) => steps.find((step) => step.level === level);
    /** @type {(step: Step | undefined, text: string, title: string) => Crumb} */
    const crumb = (step, text, title) => ({
      text,
      title,
      test: step?.level ?? "none",
      go: step && step.count > 0 ? () => this.app.open(step.stage, step.line, step.call) : null,
    });
    const losers = model.losers(pin.rows);
    const layer = losers.length ? `lost by ${some(losers)}` : pin.rows.length ? pin.label : "no layer is known";
    const crumbs = [crumb(of("model"), layer, pin.rows.map((row) => model.layerName(row)).join("\n"))];
    const relay = of("relay");
    if (relay) {
      const names = relay.names.filter((name) => !isFrameOp(name)).map(opName);
      crumbs.push(
        crumb(
          relay,
          relay.count === 0 ? "no relay op is left" : some(names) || count(relay.count, "relay line"),
          `${count(relay.count, "line")} of ${model.stageRow(relay.stage).name}`,
        ),
      );
    }
    const kernel = model.document.kernels[model.document.calls[call]?.kernel ?? -1];
    const tir = of("tir");
    if (kernel) {
      const title = `${count(calls.length, "call")} of kernels serve this; ${kernel.compiler ? `run by ${kernel.compiler}` : "code of ours"}`;
      crumbs.push({ ...crumb(tir, shortSymbol(kernel.symbol), `${kernel.symbol}\n${title}`), test: "kernel" });
    }
    for (const level of Object.keys(NOUNS)) {
      const step = of(level);
      if (!step) continue;
      const inferred = step.inferred > 0 ? `, ${step.inferred} of them inferred` : "";
      crumbs.push(
        crumb(step, count(step.count, NOUNS[level] ?? "line"), `${level}: ${count(step.count, "line")}${inferred}`),
      );
      if (step === tir && step.count > 0) {
        const loops = await loopsOf(model, pin, step);
        if (loops.length > 0)
          crumbs.push({
            text: count(loops.length, "loop"),
            title: "loops that serve it",
            test: "loops",
            go: () => this.app.open(step.stage, loops[0], call),
          });
      }
    }
    const seconds = secondsOf(model, pin.rows, program);
    const dock = allDocks().find(({ id }) => id === "time" || id === "timeline");
    if (seconds >= 0)
      crumbs.push({
        text: duration(seconds),
        title: "CPU time of the layers in a run",
        test: "time",
        go: dock ? () => this.app.openDock(dock.id) : null,
      });
    return crumbs;
  }

  /** @param {Crumb} crumb */
  #button({ text, title, test, go }) {
    if (!go) return h("span", { title, "data-test": `crumb-${test}` }, text);
    return h("button", { type: "button", title, "data-test": `crumb-${test}`, onclick: go }, text);
  }

  /**
   * @param {number} slot
   * @param {number[]} calls
   * @param {number} call
   */
  #chooser(slot, calls, call) {
    const { model } = this.app;
    const options = calls.map((number) =>
      h("option", { value: number, selected: number === call }, model.document.calls[number]?.name ?? ""),
    );
    const pick = (/** @type {Event} */ event) => {
      if (event.target instanceof HTMLSelectElement) this.#calls[slot] = Number(event.target.value);
      void this.update(false);
    };
    return h(
      "select",
      { "aria-label": `Call of pin ${LETTERS[slot]}`, title: "The call that the steps are of", onchange: pick },
      ...options,
    );
  }

  /** @param {number} slot */
  #unpin(slot) {
    const [a, b] = this.app.state.get("pins");
    this.app.state.set({ pins: slot === 0 ? [null, b] : [a, null] });
  }
}
