// The dock of schedules: a film strip, and what its frames show.

import { fill, h, mark } from "whence/dom";
import { Chooser } from "whence/film/chooser";
import { dataflow, variables } from "whence/film/diagrams";
import { Film } from "whence/film/film";
import { flipped, revealChange } from "whence/film/flip";
import { showLines } from "whence/film/loops";
import { treePicture } from "whence/film/picture";
import { comparedStages, ITERATION_TYPES, plainStages, sideOf } from "whence/film/rows";
import { Strip } from "whence/film/strip";
import { treeLines } from "whence/film/treetext";
import { callOf, scheduleOf } from "whence/navigate";
import { count, duration } from "whence/words";

/** @typedef {import("whence/types").App} App */

const VIEWS = /** @type {const} */ ([
  ["tree", "Tree"],
  ["text", "Text"],
  ["variables", "Iteration variables"],
  ["dataflow", "Dataflow"],
]);

/** @type {import("whence/types").Dock} */
export const schedule = {
  id: "schedule",
  title: "Schedule",
  enabled: (app) => app.model.document.schedules.length > 0,
  create: (app, element) => new ScheduleDock(app, element),
};

export class ScheduleDock {
  /** @type {Film | null} */
  #film = null;
  #turn = 0;
  /** The schedule that is shown or loaded; -1 for none. */
  #number = -1;
  #frame = 0;
  /** The frame that the shown one is compared with; -1: the one before it. */
  #other = -1;
  /** @type {string} */
  #view = "tree";
  /** The film and the view that the picture is of. */
  #drawn = "";
  #off;

  /**
   * @param {App} app
   * @param {HTMLElement} element
   */
  constructor(app, element) {
    this.app = app;
    const { kernels, schedules } = app.model.document;
    this.kernels = h("select", { "aria-label": "Kernel", "data-test": "film-kernel", onchange: () => void this.#load(Number(this.kernels.value)) }, ...schedules.map(({ kernel }, number) => h("option", { value: number }, kernels[kernel]?.symbol ?? `schedule ${number}`)));
    this.strip = new Strip((frame) => this.show(frame), app.announce);
    this.compare = h("select", { "aria-label": "Compare with", "data-test": "film-compare", onchange: () => this.#compare(Number(this.compare.value)) });
    this.tabs = VIEWS.map(([id, title]) => h("button", { type: "button", "data-test": `film-view-${id}`, onclick: () => this.#choose(id) }, title));
    this.about = h("p", { class: "film-about", "data-test": "film-about" });
    this.picture = h("div", { class: "film-picture", tabindex: 0, role: "region", "aria-label": "Schedule", "data-test": "film-picture" });
    this.loops = h("div", { class: "film-loops", tabindex: 0, role: "region", "aria-label": "Loops", "data-test": "film-loops" });
    this.chooser = new Chooser(app, (loops) => void this.#showEdited(loops));
    const legend = h("ul", { class: "film-legend", "aria-label": "Types of iteration variables", "data-test": "film-legend" }, ...ITERATION_TYPES.map(([name, colour]) => h("li", {}, h("i", { style: { background: colour } }), name)));
    const bar = h("div", { class: "film-bar" }, this.kernels, this.strip.button, h("div", { class: "film-views", role: "group", "aria-label": "Diagram" }, ...this.tabs), h("label", {}, "against ", this.compare), legend);
    const body = h("div", { class: "film-body" }, this.picture, this.loops, this.chooser.element);
    fill(element, h("div", { class: "film", "data-test": "film" }, bar, this.strip.list, this.about, body));
    const off = [app.state.on(["panes", "focus"], () => this.update()), app.state.on("pins", () => this.#toPinned())];
    this.#off = () => off.forEach((end) => end());
    this.#choose("tree");
    if (!this.#toPinned()) this.update();
  }

  /** Show the schedule of the kernel that the newest pin leads to; returns whether there is one. */
  #toPinned() {
    const { model, state } = this.app;
    const pin = this.app.newest();
    const number = pin ? scheduleOf(model, callOf(model, pin, state.get("program"))) : -1;
    if (number >= 0 && this.#number !== number) void this.#load(number);
    return number >= 0;
  }

  /** Show the schedule of the kernel in the focused pane, or where that has none the one that is shown. */
  update() {
    const { model, pane } = this.app;
    const { stage } = pane();
    const kernel = stage >= 0 ? model.stageRow(stage).kernel : -1;
    const wanted = kernel >= 0 ? (model.document.kernels[kernel]?.schedule ?? -1) : -1;
    const number = wanted >= 0 ? wanted : this.#number >= 0 ? this.#number : hottest(model.document);
    if (this.#number !== number) void this.#load(number);
  }

  destroy() {
    this.strip.stop();
    this.#off();
  }

  /** @param {number} number */
  async #load(number) {
    const turn = ++this.#turn;
    this.#number = number;
    this.kernels.value = String(number);
    try {
      const frames = await this.app.api.schedule(number);
      if (turn !== this.#turn) return;
      this.#film = new Film(this.app.api, number, frames);
    } catch (error) {
      if (turn === this.#turn) fill(this.about, String(error));
      return;
    }
    this.#other = -1;
    const names = this.#film.frames.map((_, at) => h("option", { value: at }, `frame ${at}`));
    fill(this.compare, h("option", { value: -1 }, "the frame before"), ...names);
    this.strip.load(this.#film);
    this.show(this.#film.frames.length - 1);
  }

  /** Show a frame. @param {number} number */
  show(number) {
    const film = this.#film;
    if (!film) return;
    this.#frame = number;
    this.strip.select(number);
    const { primitive, at, changed, cost, error } = film.frame(number);
    const estimate = cost ? `estimated ${duration(cost.seconds)}, ${count(cost.flops, "operation")}, ${count(cost.bytes, "byte")} beyond the cache` : "no estimate";
    fill(
      this.about,
      h("code", {}, primitive || "the schedule as it is before any primitive"),
      at && h("span", { class: "dim", "data-test": "film-at" }, at),
      changed.length > 0 && h("span", {}, `changes ${changed.join(", ")}`),
      h("span", { class: "dim" }, estimate),
      error && h("span", { class: "error" }, error),
    );
    this.#draw();
    void this.chooser.show(film, number);
  }

  /** @param {number} other */
  #compare(other) {
    this.#other = other;
    this.#draw();
  }

  /** @param {string} view */
  #choose(view) {
    this.#view = view;
    VIEWS.forEach(([id], at) => mark(/** @type {Element} */ (this.tabs[at]), "aria-pressed", String(id === view)));
    this.#draw();
  }

  /** The frame that the shown one is held against; -1 for none. */
  #before() {
    return this.#other >= 0 ? this.#other : this.#frame - 1;
  }

  #draw() {
    const film = this.#film;
    if (!film) return;
    const [k, before] = [this.#frame, this.#before()];
    const stages = film.stages(k);
    const old = before >= 0 ? film.stages(before) : null;
    const inputs = film.schedule.arguments;
    const shown = old ? comparedStages(old, stages) : plainStages(stages);
    const same = this.#drawn === `${film.number} ${this.#view}`;
    this.#drawn = `${film.number} ${this.#view}`;
    const draw = () => {
      if (this.#view === "text") showLines(this.picture, old && treeLines(old), treeLines(stages));
      else if (this.#view === "dataflow") fill(this.picture, dataflow(stages, inputs));
      else if (this.#view === "variables") fill(this.picture, variables(stages));
      else if (this.#other < 0) fill(this.picture, treePicture(shown, inputs, `Schedule tree of frame ${k}`));
      else {
        const sides = /** @type {const} */ ([[before, "-"], [k, "+"]]);
        fill(this.picture, ...sides.flatMap(([frame, sign]) => [h("h4", {}, `Frame ${frame}`), treePicture(sideOf(shown, sign), inputs, `Schedule tree of frame ${frame}`)]));
      }
    };
    if (same) flipped(this.picture, draw);
    else {
      draw();
      revealChange(this.picture);
    }
    void this.#showLoops(film, k, before);
  }

  /** @param {Film} film @param {number} k @param {number} before */
  async #showLoops(film, k, before) {
    const turn = this.#turn;
    try {
      const here = await film.madeLoops(k);
      const there = before >= 0 ? await film.madeLoops(before) : null;
      if (turn !== this.#turn || k !== this.#frame || before !== this.#before()) return;
      if (here) flipped(this.loops, () => showLines(this.loops, there && there.tir, here.tir));
      else fill(this.loops, h("p", { class: "dim" }, "The loops of this frame were not recorded: `whence explore --films all` does."));
    } catch (error) {
      fill(this.loops, h("p", { class: "error" }, error instanceof Error ? error.message : String(error)));
    }
  }

  /** Show the loops of a text that was changed against those of the frame. @param {import("whence/types").ScheduleLoops} loops */
  async #showEdited({ tir, error }) {
    const film = this.#film;
    if (!film) return;
    const there = await film.madeLoops(this.#frame);
    if (error) fill(this.loops, h("p", { class: "error" }, error));
    else flipped(this.loops, () => showLines(this.loops, there && there.tir, tir));
  }
}

/** The schedule of the kernel that does most. @param {import("whence/types").Session} document */
function hottest({ calls, kernels }) {
  const work = new Map();
  for (const { kernel, flops } of calls) work.set(kernel, (work.get(kernel) ?? 0) + flops);
  const numbers = [...kernels.keys()].filter((kernel) => (kernels[kernel]?.schedule ?? -1) >= 0);
  numbers.sort((a, b) => (work.get(b) ?? 0) - (work.get(a) ?? 0));
  return kernels[numbers[0] ?? 0]?.schedule ?? 0;
}
