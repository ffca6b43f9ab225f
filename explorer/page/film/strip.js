// The strip of frames: one per primitive, stepped through with arrows, played with space.

import { fill, h, mark } from "whence/dom";
import { calm } from "whence/motion";
import { duration } from "whence/words";

/** @typedef {import("whence/film/film").Film} Film */

const PAUSE = 900;

export class Strip {
  #timer = 0;
  #at = 0;

  /**
   * @param {(frame: number) => void} show
   * @param {(text: string) => void} announce
   */
  constructor(show, announce) {
    this.show = show;
    this.announce = announce;
    this.list = h("div", {
      class: "film-strip",
      role: "listbox",
      "aria-label": "Frames",
      "aria-orientation": "horizontal",
      tabindex: 0,
      "data-test": "film-strip",
      onkeydown: (/** @type {KeyboardEvent} */ event) => this.#key(event),
    });
    this.button = h("button", { type: "button", title: "play the film (Space)", "data-test": "film-play", onclick: () => this.play() }, "Play");
  }

  /** @param {Film} film */
  load(film) {
    this.stop();
    this.film = film;
    fill(this.list, ...film.frames.map((_, number) => this.#frame(film, number)));
  }

  /** Mark a frame as the one that is shown. @param {number} number */
  select(number) {
    this.#at = number;
    [...this.list.children].forEach((child, at) => mark(child, "aria-selected", String(at === number)));
    const frame = this.list.children[number];
    if (!(frame instanceof HTMLElement)) return;
    mark(this.list, "aria-activedescendant", frame.id);
    // Not scrollIntoView: it would scroll the page as well.
    const { offsetLeft, offsetWidth } = frame;
    const { scrollLeft, clientWidth } = this.list;
    if (offsetLeft < scrollLeft) this.list.scrollLeft = offsetLeft;
    else if (offsetLeft + offsetWidth > scrollLeft + clientWidth) this.list.scrollLeft = offsetLeft + offsetWidth - clientWidth;
  }

  /** Step through the frames from here on, or from the first where this is the last; or stop that. */
  play() {
    if (this.#timer) {
      this.stop();
      return;
    }
    const count = this.film?.frames.length ?? 0;
    if (calm()) {
      this.show((this.#at + 1) % Math.max(count, 1));
      this.announce("One frame at a time, as reduced motion is asked for.");
      return;
    }
    if (this.#at === count - 1) this.show(0);
    this.button.textContent = "Stop";
    this.#timer = setInterval(() => {
      if (this.#at + 1 >= count) this.stop();
      else this.show(this.#at + 1);
    }, PAUSE);
  }

  stop() {
    clearInterval(this.#timer);
    this.#timer = 0;
    this.button.textContent = "Play";
  }

  /** @param {Film} film @param {number} number */
  #frame(film, number) {
    const { primitive, at, cost, error, changed } = film.frame(number);
    const title = primitive.replaceAll("schedule.", "") || "as it is written";
    return h(
      "div",
      {
        role: "option",
        id: `film-frame-${number}`,
        class: "film-frame",
        "data-test": "film-frame",
        "data-error": error ? "" : null,
        title: [primitive, at, changed.length > 0 ? `changes ${changed.join(", ")}` : "", error].filter(Boolean).join("\n"),
        onclick: () => {
          this.stop();
          this.show(number);
        },
      },
      h("b", {}, String(number)),
      h("span", { class: "film-primitive" }, title),
      h("span", { class: "dim" }, cost ? `≈ ${duration(cost.seconds)}` : error ? "no loops" : ""),
    );
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const last = (this.film?.frames.length ?? 1) - 1;
    /** @type {{[key: string]: number}} */
    const steps = { ArrowLeft: this.#at - 1, ArrowRight: this.#at + 1, Home: 0, End: last };
    if (event.key === " ") this.play();
    else if (event.key in steps) {
      this.stop();
      this.show(Math.min(last, Math.max(0, steps[event.key] ?? 0)));
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }
}
