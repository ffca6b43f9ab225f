// The lineage of the pins: layer, relay ops, kernel, te, loops, llvm, instructions and time, each a step to go to.

import { fill, h } from "whence/dom";
import { allDocks } from "whence/dock";
import { KERNEL_LEVELS, callOf, positionOf, servingCalls } from "whence/navigate";
import { loopsOf, secondsOf, trace } from "whence/trace";
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

  /** @param {App} app @param {HTMLElement} element */
  constructor(app, element) {
    this.app = app;
    this.strips = h("div", { class: "strips" });
    this.told = h("p", { class: "unseen", role: "status", "aria-live": "polite", "data-test": "told" });
    fill(element, this.strips, this.told);
    app.state.on(["pins", "program"], () => void this.update(true));
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

  /** @param {Mark} pin @param {number} slot */
  async #strip(pin, slot) {
    const { app } = this;
    const { model, state } = app;
    const calls = servingCalls(model, pin.rows, state.get("program"));
    const call = callOf(model, pin, state.get("program"));
    const program = model.document.calls[call]?.program ?? state.get("program");
    const steps = await trace(model, pin, ["model", "relay", ...KERNEL_LEVELS], program, call);
    const crumbs = await this.#crumbs(pin, steps, program, calls, call);
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
    if (calls.length > 1) items.splice(3, 0, h("li", {}, this.#chooser(slot, pin, calls, call)));
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
   * @param {number} program
   * @param {number[]} calls
   * @param {number} call
   * @returns {Promise<Crumb[]>}
   */
  async #crumbs(pin, steps, program, calls, call) {
    const { model } = this.app;
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
    const ofCall = kernel ? secondsOf(model, pin.rows, program, call) : null;
    if (ofCall) {
      const title = `the part of these layers in ${model.document.calls[call]?.name ?? ""}, and all of it`;
      crumbs.push({ text: partOf(ofCall), title, test: "call-time", go: this.#dock("time", "timeline") });
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
        const go = () => this.app.open(step.stage, loops.line, call);
        if (loops.count > 0)
          crumbs.push({ text: count(loops.count, "loop"), title: "loops that serve it", test: "loops", go });
      }
    }
    const seconds = secondsOf(model, pin.rows, program);
    const title = "CPU time of the layers in a run";
    if (seconds) crumbs.push({ text: duration(seconds.part), title, test: "time", go: this.#dock("time", "timeline") });
    return crumbs;
  }

  /** @param {string[]} ids the first of these docks that there is @returns {(() => void) | null} what opens it */
  #dock(...ids) {
    const dock = allDocks().find(({ id, enabled }) => ids.includes(id) && (enabled?.(this.app) ?? true));
    return dock ? () => this.app.openDock(dock.id) : null;
  }

  /** @param {Crumb} crumb */
  #button({ text, title, test, go }) {
    if (!go) return h("span", { title, "data-test": `crumb-${test}` }, text);
    return h("button", { type: "button", title, "data-test": `crumb-${test}`, onclick: go }, text);
  }

  /** @param {number} slot @param {Mark} pin @param {number[]} calls @param {number} call */
  #chooser(slot, pin, calls, call) {
    const { model, pin: pinned } = this.app;
    const options = calls.map((number) => {
      const { name = "", program = 0 } = model.document.calls[number] ?? {};
      const seconds = secondsOf(model, pin.rows, program, number);
      return h("option", { value: number, selected: number === call }, seconds ? `${name}: ${partOf(seconds)}` : name);
    });
    const pick = (/** @type {Event} */ event) => {
      const number = event.target instanceof HTMLSelectElement ? Number(event.target.value) : -1;
      pinned(pin.rows, slot === 0 ? 0 : 1, positionOf(model, number, pin.rows));
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

/** `7.5 of 7.63 ms` @param {{part: number, all: number}} seconds */
function partOf({ part, all }) {
  const [whole, unit = ""] = duration(all).split(" ");
  const scale = Number(whole) > 0 ? all / Number(whole) : 1;
  return `${Number((part / scale).toPrecision(3))} of ${whole} ${unit}`;
}
