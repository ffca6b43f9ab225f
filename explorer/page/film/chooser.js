// The primitives that may come next, the text of the schedule with those that were chosen, and what it brings.

import { fill, h } from "whence/dom";
import { duration } from "whence/words";

/** @typedef {import("whence/document").NextPrimitive} NextPrimitive */
/** @typedef {import("whence/film/film").Film} Film */
/** @typedef {import("whence/types").App} App */

/** Milliseconds without a key after which a text is looked at. */
const PAUSE = 300;
const NAMING = /= schedule\.(stage|axes|argument|thread) /;

export class Chooser {
  /** @type {Film | null} */
  #film = null;
  #turn = 0;

  #typing = 0;

  /**
   * @param {App} app
   * @param {(loops: import("whence/types").ScheduleLoops) => void} edited shows the loops of a text that was changed
   */
  constructor(app, edited) {
    this.app = app;
    this.edited = edited;
    this.list = h("div", { class: "film-next" });
    this.text = h("textarea", { class: "film-text", rows: 8, spellcheck: "false", "aria-label": "Text of the schedule", "data-test": "film-text", oninput: () => this.#typed() });
    this.result = h("p", { class: "film-result", role: "status", "data-test": "film-result" });
    const copy = h("button", { type: "button", "data-test": "film-copy", onclick: () => app.copy(this.#whole()) }, "Copy");
    this.apply = h("button", { type: "button", "data-test": "film-apply", title: "build it, run it beside the default schedule, and compare results and times", onclick: () => void this.#measure() }, "Apply and measure");
    this.apply.disabled = !app.api.measureSchedule;
    const hint = app.api.measureSchedule ? null : h("span", { class: "dim" }, "`whence explore` can apply it; this file has no compiler.");
    this.element = h("div", { class: "film-chooser" }, h("h4", {}, "Primitives that may come next"), this.list, h("h4", {}, "Schedule"), this.text, h("div", { class: "film-buttons" }, copy, this.apply, hint), this.result);
  }

  /**
   * Show what may come after a frame.
   * @param {Film} film
   * @param {number} number
   */
  async show(film, number) {
    const turn = ++this.#turn;
    this.#film = film;
    this.text.value = film.sequence(number);
    this.result.textContent = "";
    const frame = film.frame(number);
    fill(this.list, h("p", { class: "dim" }, "…"));
    try {
      const next = await film.next(number);
      if (turn !== this.#turn) return;
      if (next) this.#list(next, frame.cost?.seconds ?? -1);
      else fill(this.list, h("p", { class: "dim" }, "They were not recorded for this frame."));
    } catch (error) {
      if (turn === this.#turn) this.#fail(error);
    }
  }

  /** @param {readonly NextPrimitive[]} next @param {number} seconds of the frame */
  #list(next, seconds) {
    if (next.length === 0) {
      fill(this.list, h("p", { class: "dim" }, "None of those that were tried is legal."));
      return;
    }
    fill(
      this.list,
      h("ul", {}, ...next.map((primitive) => h("li", {}, h("button", { type: "button", "data-test": "film-next", title: "append it to the schedule", onclick: () => this.#choose(primitive) }, primitive.call), h("span", { class: "dim" }, told(primitive, seconds))))),
    );
  }

  /** @param {NextPrimitive} primitive */
  #choose(primitive) {
    const text = this.text.value.trimEnd();
    const open = (text.endsWith("}") ? text.slice(0, -1).trimEnd() : text).split("\n");
    // What another choice named already has its name.
    const lines = primitive.lines.filter((line) => !(NAMING.test(line) && open.includes(line)));
    this.text.value = [...open, ...lines, "}"].join("\n");
    this.text.scrollTop = this.text.scrollHeight;
    this.result.textContent = "";
    this.app.announce(`Appended ${primitive.call}.`);
    void this.#refresh();
  }

  /** Wait until typing pauses. */
  #typed() {
    clearTimeout(this.#typing);
    this.#typing = setTimeout(() => void this.#refresh(), PAUSE);
  }

  /** Show the loops of the text as it is, and then what may come after it; without a server all stays. */
  async #refresh() {
    const turn = ++this.#turn;
    const { scheduleLoops, scheduleNext } = this.app.api;
    if (!this.#film || !scheduleLoops || !scheduleNext) return;
    this.result.classList.remove("error");
    this.result.textContent = "";
    try {
      const loops = await scheduleLoops(this.#film.number, this.#whole());
      if (turn !== this.#turn) return;
      this.edited(loops);
      const { next } = await scheduleNext(this.#film.number, this.#whole());
      if (turn === this.#turn) this.#list(next, -1);
    } catch (error) {
      if (turn === this.#turn) this.#fail(error);
    }
  }

  /** @param {unknown} error */
  #fail(error) {
    this.result.classList.add("error");
    this.result.textContent = error instanceof Error ? error.message : String(error);
  }

  #whole() {
    return this.#film?.whole(this.text.value) ?? this.text.value;
  }

  async #measure() {
    const film = this.#film;
    const { measureSchedule } = this.app.api;
    if (!film || !measureSchedule) return;
    this.apply.disabled = true;
    this.result.classList.remove("error");
    this.result.textContent = "Building and running both schedules…";
    try {
      const { before, after, equal, error } = await measureSchedule(film.number, this.#whole());
      const faster = before >= after ? `${(before / after).toFixed(2)} times faster` : `${(after / before).toFixed(2)} times slower`;
      const same = equal ? `results equal${error > 0 ? ` (largest difference ${error.toExponential(1)})` : ""}` : `results differ by up to ${error.toPrecision(3)}`;
      this.result.textContent = `${duration(before)} before, ${duration(after)} now: ${faster}; ${same}.`;
      this.result.classList.toggle("error", !equal);
    } catch (error) {
      this.#fail(error);
    } finally {
      this.apply.disabled = false;
    }
  }
}

/** @param {NextPrimitive} primitive @param {number} seconds */
function told({ cost }, seconds) {
  if (!cost) return "";
  const part = seconds > 0 ? ` (${Math.round((100 * cost.seconds) / seconds)} %)` : "";
  return `≈ ${duration(cost.seconds)}${part}`;
}
