// What the palette finds: actions, views, layers, kernels, calls, passes, and the lines of all levels.

import { allDocks } from "whence/dock";
import { letters, match } from "whence/fuzzy";
import { heaviestCall, positionOf } from "whence/navigate";
import { goToRun } from "whence/passes/current";
import { ask, tablesOf } from "whence/query/ask";
import { parsed } from "whence/query/language";
import { QueryError } from "whence/query/tokens";

/** @typedef {import("whence/types").App} App */
/** @typedef {{kind: string, text: string, detail: string, run: (second: boolean) => void}} Entry */
/** @typedef {{entry: Entry, at: number[], score: number}} Hit */

const LONGEST = 160;
const LOOP = /^\s*((?:tir\.)?for\b.*)/;
const SYMBOL = /^(?!\.L)([\w.$]+):|(?:llvm\.func|^define) .*?@([\w.$]+)\(/;
const COMMANDS = ">";
const QUERY = "?";
/** Kinds whose hits come first where they match as well. @type {Record<string, number>} */
const BONUS = { query: 1e6, command: 6, view: 6, layer: 5, kernel: 4, pass: 3, call: 3, loop: 1, symbol: 1, op: 0 };

export class Entries {
  /** @type {Entry[]} */
  #entries = [];
  /** @type {number[]} */
  #bits = [];
  /** @type {string[]} */
  #small = [];
  /** @type {import("whence/query/types").Tables | null} */
  #queried = null;
  /** The last query and what matched it. @type {{query: string, size: number, list: number[]}} */
  #last = { query: "", size: 0, list: [] };

  /** @param {App} app */
  constructor(app) {
    this.app = app;
    this.#tables();
  }

  get size() {
    return this.#entries.length;
  }

  /** @param {Entry} entry */
  #add(entry) {
    this.#entries.push(entry);
    this.#small.push(entry.text.toLowerCase());
    this.#bits.push(letters(this.#small[this.#small.length - 1]));
  }

  /** What the head of the session has. */
  #tables() {
    const { app } = this;
    const { layers, kernels, calls, passes, sets, programs } = app.model.document;
    for (const dock of allDocks()) {
      if (dock.enabled?.(app) ?? true) this.#add({ kind: "view", text: dock.title, detail: "dock", run: () => app.openDock(dock.id) });
    }
    layers.name.forEach((name, row) =>
      this.#add({ kind: "layer", text: name || `layer ${row}`, detail: layers.type[row] || layers.kind[row], run: (second) => app.pin([row], second ? 1 : 0) }));
    kernels.forEach((kernel, row) => this.#add({ kind: "kernel", text: kernel.symbol, detail: kernel.compiler, run: () => this.#openKernel(row) }));
    calls.forEach((call, row) => this.#add({ kind: "call", text: call.name, detail: app.model.label(sets[call.set] ?? [], ""), run: (second) => app.pinCall(row, second ? 1 : 0) }));
    passes.forEach(({ name, program, kernel, changed }, run) => {
      const over = kernel >= 0 ? kernels[kernel].symbol : programs.length > 1 ? programs[program].name : "program";
      this.#add({ kind: "pass", text: name, detail: `${changed ? "" : "changed nothing, "}${over}`, run: () => goToRun(app, run) });
    });
  }

  /** @param {number} kernel */
  #openKernel(kernel) {
    const { app } = this;
    const call = heaviestCall(app.model, kernel);
    const at = positionOf(app.model, call);
    if (at) app.open(at.stage, at.line, call);
  }

  /**
   * Add the lines of all levels: ops where they were last in relay, loops, and symbols of machine code.
   * @param {() => void} more is called when there are more
   */
  async load(more) {
    const { stages, programs, kernels } = this.app.model.document;
    for (let program = 0; program < programs.length; program++) await this.#ops(this.app.model.stagesOf("relay", -1, program).reverse());
    more();
    for (let kernel = 0; kernel < kernels.length; kernel++) {
      await this.#lines(this.app.model.lastStage("tir", kernel), "loop", LOOP);
      for (const level of /** @type {const} */ (["llvm", "asm"])) await this.#lines(kernels[kernel].stages.findLast((k) => stages[k].level === level) ?? -1, "symbol", SYMBOL);
      if (kernel % 8 === 7 || kernel === kernels.length - 1) more();
    }
    this.#queried = await tablesOf(this.app);
    more();
  }

  /** The hit that answers a query; what is no query is one only behind a `?`, with what is wrong. @param {string} text @returns {Hit[]} */
  #question(text) {
    const query = text.replace(QUERY, "").trim();
    if (!this.#queried || !(text.startsWith(QUERY) ? query : /\S\s+\S/.test(query))) return [];
    /** @type {(detail: string, at: number[]) => Hit[]} */
    const hit = (detail, at) => [{ entry: { kind: "query", text: query, detail, run: () => void ask(this.app, query) }, at, score: BONUS.query }];
    try {
      const { table } = parsed(query, this.#queried);
      return hit(this.#queried.tables[table]?.about ?? "", []);
    } catch (error) {
      if (!(error instanceof QueryError)) throw error;
      return text.startsWith(QUERY) ? hit(error.message, Array.from({ length: error.length }, (_, k) => error.at + k)) : [];
    }
  }

  /** @param {number[]} stages the last first */
  async #ops(stages) {
    const { app } = this;
    const seen = new Set();
    for (const stage of stages) {
      const { lines, op } = await app.model.stage(stage);
      const { name } = app.model.stageRow(stage);
      lines.forEach((text, line) => {
        if (op[line] < 0 || seen.has(op[line])) return;
        seen.add(op[line]);
        this.#add({ kind: "op", text: text.trim().slice(0, LONGEST), detail: name, run: () => app.open(stage, line) });
      });
    }
  }

  /** @param {number} stage @param {string} kind @param {RegExp} pattern */
  async #lines(stage, kind, pattern) {
    if (stage < 0) return;
    const { app } = this;
    const lines = await app.model.lines(stage);
    const { kernel, level } = app.model.stageRow(stage);
    const { symbol } = app.model.document.kernels[kernel];
    lines.forEach((text, line) => {
      const found = pattern.exec(text);
      if (found) this.#add({ kind, text: (found[1] ?? found[2]).slice(0, LONGEST), detail: `${level} of ${symbol}`, run: () => app.open(stage, line) });
    });
  }

  /** The actions as they are enabled now. @returns {Entry[]} */
  #commands() {
    const { app } = this;
    return app.actions.list().filter(({ id, enabled }) => id !== "palette" && (enabled?.(app) ?? true))
      .map(({ id, title, key }) => ({ kind: "command", text: title, detail: key ?? "", run: () => void app.actions.run(id, app) }));
  }

  /**
   * Return the best hits of a query; one that begins with `>` is for commands only, with `?` for the tables.
   * @param {string} text @param {number} most
   * @returns {{hits: Hit[], count: number}}
   */
  search(text, most) {
    const query = text.replace(COMMANDS, "").trim().toLowerCase();
    const asked = this.#question(text);
    if (text.startsWith(QUERY)) return { hits: asked, count: asked.length };
    const all = !text.startsWith(COMMANDS);
    const commands = this.#commands();
    if (!query) return { hits: commands.slice(0, most).map((entry) => ({ entry, at: [], score: 0 })), count: commands.length + (all ? this.size : 0) };
    /** @type {Hit[]} */
    const hits = [...asked];
    const look = (/** @type {Entry} */ entry, /** @type {string} */ small) => {
      const hit = match(query, entry.text, small);
      if (hit) hits.push({ entry, at: hit.at, score: hit.score + (BONUS[entry.kind] ?? 0) });
      return hit !== null;
    };
    for (const entry of commands) look(entry, entry.text.toLowerCase());
    if (!all) return best(hits, most);
    const bits = letters(query.replaceAll(" ", ""));
    const { query: before, size, list } = this.#last;
    // What did not match a part of the query cannot match all of it.
    const narrowed = before && query.startsWith(before) && size === this.size;
    const kept = [];
    const count = narrowed ? list.length : this.size;
    for (let i = 0; i < count; i++) {
      const k = narrowed ? list[i] : i;
      if ((bits & ~this.#bits[k]) === 0 && look(this.#entries[k], this.#small[k])) kept.push(k);
    }
    this.#last = { query, size: this.size, list: kept };
    return best(hits, most);
  }
}

/** @param {Hit[]} hits @param {number} most */
function best(hits, most) {
  hits.sort((a, b) => b.score - a.score);
  return { hits: hits.slice(0, most), count: hits.length };
}
