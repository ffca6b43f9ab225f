// Tours: a row with a step of the one that is under way, or with those that there are; none where there are none.

import { visit } from "whence/address";
import { fill, h } from "whence/dom";
import { count } from "whence/words";

/** @typedef {import("whence/types").App} App */

/** @param {App} app @param {HTMLElement} element */
export function showTours(app, element) {
  const { model, state } = app;
  const { tours } = model.document;
  element.hidden = tours.length === 0;
  if (element.hidden) return;
  const at = () => state.get("tour") ?? [0, -1];
  /** @param {1 | -1} way @returns {boolean} */
  const leads = (way) => Boolean(tours[at()[0]]?.steps[at()[1] + way]);
  /** @param {1 | -1} way */
  const go = (way) => visit(model, at()[0], at()[1] + way);
  const group = "Page";
  app.actions.add({ id: "tour-next", title: "Next step of the tour", key: ">", group, enabled: () => leads(1), run: () => go(1) });
  app.actions.add({ id: "tour-back", title: "Back in the tour", key: "<", group, enabled: () => leads(-1), run: () => go(-1) });
  app.actions.add({ id: "tour-end", title: "End the tour", group, enabled: () => state.get("tour") !== null, run: () => state.set({ tour: null }) });
  /** @param {string} id @param {string} text */
  const button = (id, text) => {
    const { title, key } = app.actions.get(id);
    return h("button", { type: "button", title: key ? `${title} (${key})` : title, "data-test": id, onclick: () => app.actions.run(id, app) }, text);
  };
  const back = button("tour-back", "Back");
  const next = button("tour-next", "Next");
  const end = button("tour-end", "×");
  end.setAttribute("aria-label", "End the tour");
  const number = h("b", { "data-test": "tour-step" });
  const text = h("p", { role: "status", "aria-live": "polite", "data-test": "tour-text" });
  const under = h("div", { class: "tour" }, number, text, back, next, end);
  const starts = tours.map(({ title, steps }, tour) =>
    h("button", { type: "button", title: count(steps.length, "step"), "data-test": "tour-start", onclick: () => visit(model, tour, 0) }, title, " ▸"),
  );
  const choice = h("div", { class: "tour" }, h("b", {}, starts.length > 1 ? "Tours" : "Tour"), ...starts);
  fill(element, choice, under);
  function update() {
    const [tour, step] = at();
    const steps = tours[tour]?.steps ?? [];
    choice.hidden = step >= 0;
    under.hidden = step < 0;
    if (step < 0) return;
    number.textContent = `${step + 1} of ${steps.length}`;
    number.title = tours[tour]?.title ?? "";
    text.textContent = steps[step]?.text ?? "";
    back.disabled = !leads(-1);
    next.disabled = !leads(1);
  }
  state.on("tour", update);
  update();
}
