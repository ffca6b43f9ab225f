// The tab of answers: a field for a query, what is wrong with it, and the table that answers it.

import { RowTable } from "whence/data/table";
import { short, size } from "whence/data/words";
import { fill, h } from "whence/dom";
import { answerOf, ask, light, pinRow } from "whence/query/ask";
import { QueryError } from "whence/query/tokens";
import { count, duration, shortSymbol } from "whence/words";

/** @typedef {import("whence/query/types").Answer} Answer */
/** @typedef {import("whence/query/types").AnswerRow} AnswerRow */
/** @typedef {import("whence/query/types").Column} Column */
/** @typedef {import("whence/query/types").Value} Value */
/** @typedef {import("whence/types").App} App */

const EXAMPLE = "time where op=Conv by scope";

/** @type {import("whence/types").Dock} */
export const answerDock = {
  id: "answer",
  title: "Answer",
  create(app, element) {
    const field = h("input", {
      type: "text", class: "query-field", "aria-label": "Query", placeholder: EXAMPLE, spellcheck: "false", autocomplete: "off", "data-test": "query-field",
      onkeydown: (/** @type {KeyboardEvent} */ event) => {
        if (event.key !== "Enter") return;
        event.stopPropagation();
        void ask(app, field.value.trim());
      },
    });
    const error = h("pre", { class: "query-error", role: "alert", hidden: true, "data-test": "query-error" });
    const body = h("div", { class: "data-parts" });
    fill(element, h("div", { class: "data-dock", "data-test": "answer" }, field, error, body));
    /** @type {RowTable<AnswerRow> | null} */
    let table = null;
    let turn = 0;

    /** @param {unknown} reason */
    const complain = (reason) => {
      error.textContent = reason instanceof QueryError ? reason.picture : reason instanceof Error ? reason.message : String(reason);
    };
    const update = async () => {
      const [mine, text] = [++turn, app.state.get("query")];
      if (field.value.trim() !== text) field.value = text;
      error.textContent = "";
      let found = null;
      if (text) found = await answerOf(app, text).catch((reason) => void (mine === turn && complain(reason)));
      if (mine !== turn) return;
      error.hidden = !error.textContent;
      table?.destroy();
      table = found ? tableOf(app, found) : null;
      fill(body, ...(table ? [table.element] : []));
      if (found) light(app, found);
    };
    const offs = [
      app.state.on("query", () => void update()),
      // Back and Forward bring the layers of a pin, and the answer its lines.
      app.state.on("pins", () => void (app.state.restoring && update())),
    ];
    void update();
    return {
      update: () => void update(),
      destroy() {
        turn = -1;
        for (const off of offs) off();
        table?.destroy();
      },
    };
  },
};

/** @param {App} app @param {Answer} found */
function tableOf(app, { subject, columns, rows, count: all }) {
  return new RowTable(app, {
    name: "answer-table",
    caption: `${count(rows.length, "row")} of ${all.toLocaleString("en")} ${subject === "compared" ? "layers" : subject}`,
    rows,
    layers: ({ layers }) => layers,
    pin: (row, slot) => pinRow(app, row, slot),
    columns: columns.map(({ name, unit, about }, k) => ({
      title: name.replace("_", " "),
      about,
      number: unit !== "text",
      cell: ({ cells }) => shown(cells[k] ?? null, name === "kernel" ? "kernel" : unit),
      key: ({ cells }) => keyOf(cells[k] ?? null, unit),
    })),
  });
}

/** @param {Value} value @param {string} unit */
function keyOf(value, unit) {
  if (unit === "text") return Array.isArray(value) ? value.join(", ") : "";
  return typeof value === "number" ? value : -Infinity;
}

/** @param {Value} value @param {string} unit */
function shown(value, unit) {
  if (Array.isArray(value)) return (unit === "kernel" ? value.map(shortSymbol) : value).join(", ");
  if (value === null) return "";
  const [sign, amount] = [value < 0 ? "−" : "", Math.abs(value)];
  if (unit === "s") return `${sign}${duration(amount)}`;
  if (unit === "share") return `${(100 * value).toFixed(1)} %`;
  if (unit === "bytes") return `${sign}${size(Math.round(amount))}`;
  return unit === "count" ? Math.round(value).toLocaleString("en") : short(value);
}
