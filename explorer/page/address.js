// The address: what can be shared of the state is kept behind the `#`, so that reload and links restore it.

/** @typedef {import("whence/types").Values} Values */
/** @typedef {import("whence/types").At} At */
/** @typedef {import("whence/types").Mark} Mark */
/** @typedef {import("whence/types").Pane} Pane */
/** @typedef {import("whence/state").State} State */
/** @typedef {import("whence/session").SessionModel} SessionModel */

const DELAY = 150;
const MOST_ROWS = 60;

/**
 * Return the values that an address holds; nothing for one that is no address of this page.
 * @param {string} hash
 * @param {SessionModel} model
 * @returns {Partial<Values>}
 */
export function readAddress(hash, model) {
  let kept;
  try {
    kept = JSON.parse(decode(hash.replace(/^#/, "")));
  } catch {
    return {};
  }
  if (kept === null || typeof kept !== "object") return {};
  const { stages, calls, layers, programs } = model.document;
  /** @type {(value: unknown, size: number) => boolean} */
  const index = (value, size) => Number.isInteger(value) && Number(value) >= -1 && Number(value) < size;
  /** @type {Partial<Values>} */
  const values = {};
  if (Array.isArray(kept.panes)) {
    values.panes = kept.panes
      .filter(
        (/** @type {unknown} */ row) =>
          Array.isArray(row) && index(row[1], stages.length) && index(row[2], calls.length),
      )
      .map((/** @type {any[]} */ row, /** @type {number} */ at, /** @type {any[][]} */ rows) => ({
        id: rows.every((other, k) => Number(other[7]) > 0 && (k === at || other[7] !== row[7])) ? Number(row[7]) : at + 1,
        level: String(row[0]),
        stage: row[1],
        call: row[2],
        top: Number(row[3]) || 0,
        wrap: row[4] === 1,
        grow: Number(row[5]) || 1,
        from: index(row[6], stages.length) ? row[6] : -1,
        sideways: row[8] === 1,
      }));
    values.focus = (values.panes?.[kept.focus] ?? values.panes?.[0])?.id ?? 1;
  }
  if (Array.isArray(kept.pins)) {
    const pins = kept.pins.map((/** @type {any} */ pin) => {
      if (!Array.isArray(pin?.rows) || !pin.rows.every((/** @type {unknown} */ row) => index(row, layers.name.length)))
        return null;
      const [stage, line, call, tir] = pin.at ?? [-1];
      const at =
        index(stage, stages.length) && stage >= 0 && index(call, calls.length)
          ? { stage, line: Number(line), call, tir: Number(tir) }
          : null;
      return { rows: pin.rows, label: model.label(pin.rows), at };
    });
    values.pins = [pins[0] ?? null, pins[1] ?? null];
  }
  if (index(kept.program, programs.length) && kept.program >= 0) values.program = kept.program;
  if (["off", "time", "flops", "bytes", "change"].includes(kept.heat)) values.heat = kept.heat;
  if (["auto", "light", "dark"].includes(kept.theme)) values.theme = kept.theme;
  if (typeof kept.dock === "string") values.dock = kept.dock;
  if (kept.dockShare > 0 && kept.dockShare < 1) values.dockShare = kept.dockShare;
  values.filter = kept.filter === 1;
  values.query = typeof kept.query === "string" ? kept.query : "";
  const [tour, step] = Array.isArray(kept.tour) ? kept.tour : [-1, -1];
  values.tour = model.document.tours[tour]?.steps[step] ? [tour, step] : null;
  return values;
}

/**
 * Go to a step of a tour, as a link to it would.
 * @param {SessionModel} model
 * @param {number} tour
 * @param {number} step
 */
export function visit(model, tour, step) {
  const { address } = model.document.tours[tour]?.steps[step] ?? {};
  if (address) location.hash = encode(JSON.stringify({ ...JSON.parse(decode(address.slice(1))), tour: [tour, step] }));
}

/**
 * Keep the address as the state is, and the state as Back and Forward want it.
 *
 * Another pin, pane, stage, call or tab is a step of the browser's history; scrolling and sizes are none. In a row of
 * changes the address is written only so often as browsers allow.
 * @param {State} state
 * @param {SessionModel} model
 */
export function keepAddress(state, model) {
  let timer = 0;
  let waiting = false;
  const address = () => `#${encode(JSON.stringify(kept(state)))}`;
  let shown = placeOf(state);
  history.replaceState(null, "", address());
  const write = () => {
    waiting = false;
    const place = placeOf(state);
    if (place === shown) history.replaceState(null, "", address());
    else history.pushState(null, "", address());
    shown = place;
    timer = setTimeout(() => {
      timer = 0;
      if (waiting) write();
    }, DELAY);
  };
  state.on(["program", "panes", "focus", "pins", "heat", "dock", "dockShare", "theme", "filter", "query", "tour"], () => {
    if (state.restoring || waiting) return;
    waiting = true;
    // What one action changes is one step.
    if (timer === 0) queueMicrotask(() => waiting && timer === 0 && write());
  });
  addEventListener("popstate", () => {
    clearTimeout(timer);
    timer = 0;
    waiting = false;
    const values = readAddress(location.hash, model);
    if (values.panes?.length) state.restore(values);
    shown = placeOf(state);
  });
}

/** What makes a state another place than before. @param {State} state */
function placeOf(state) {
  const { program, panes, pins, dock, query, tour } = kept(state);
  return JSON.stringify([program, panes.map(([level, stage, call, , , , from]) => [level, stage, call, from]), pins, dock, query, tour]);
}

/** @param {State} state */
function kept(state) {
  const panes = state.get("panes");
  return {
    program: state.get("program"),
    panes: panes.map((pane) => [
      pane.level,
      pane.stage,
      pane.call,
      pane.top,
      pane.wrap ? 1 : 0,
      Number(pane.grow.toFixed(3)),
      pane.from ?? -1,
      pane.id,
      pane.sideways ? 1 : 0,
    ]),
    focus: panes.findIndex((pane) => pane.id === state.get("focus")),
    pins: state.get("pins").map((pin) => pin && { rows: pin.rows.slice(0, MOST_ROWS), at: pin.at && position(pin.at) }),
    heat: state.get("heat"),
    dock: state.get("dock"),
    dockShare: Number(state.get("dockShare").toFixed(3)),
    theme: state.get("theme"),
    filter: state.get("filter") ? 1 : 0,
    query: state.get("query") || undefined,
    tour: state.get("tour") ?? undefined,
  };
}

/** @param {At} at */
function position(at) {
  return [at.stage, at.line, at.call, at.tir];
}

/** @param {string} text */
function encode(text) {
  const bytes = Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join("");
  return btoa(bytes).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** @param {string} text */
function decode(text) {
  const bytes = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return new TextDecoder().decode(Uint8Array.from(bytes, (letter) => letter.charCodeAt(0)));
}
