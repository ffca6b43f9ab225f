// A job that runs: a bar, what it does, and a button that ends it.

import { fill, h } from "whence/dom";
import { cancel } from "whence/run/client";

/** @typedef {import("whence/run/client").JobState} JobState */

/**
 * Return an element that shows the state of a job, and the function that changes it.
 * @returns {{element: HTMLElement, show: (state: JobState) => void}}
 */
export function progressBar() {
  const bar = h("progress", { "aria-label": "Progress", "data-test": "progress" });
  const words = h("span", { "data-test": "progress-words" });
  let job = 0;
  const stop = h(
    "button",
    {
      type: "button",
      "data-test": "cancel",
      onclick: () => {
        stop.disabled = true;
        cancel(job).catch(() => undefined);
      },
    },
    "Cancel",
  );
  const element = h("div", { class: "progress", hidden: true }, bar, words, stop);
  return {
    element,
    show(state) {
      element.hidden = state.status !== "running";
      if (state.status !== "running") return;
      if (job !== state.job) stop.disabled = false;
      job = state.job ?? 0;
      const { what = "", done = 0, of = 0, seconds = 0 } = state;
      if (of > 0) {
        bar.max = of;
        bar.value = done;
      } else bar.removeAttribute("value");
      fill(words, `${what}${of > 0 ? ` ${done} of ${of}` : ""}, ${seconds.toFixed(0)} s`);
    },
  };
}
