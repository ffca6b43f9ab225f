// Texts and columns of stages: each is loaded once, when it is asked for first.

import { columnsOf, edited } from "whence/body";
import { StageLinks } from "whence/links";

/** @typedef {import("whence/types").Api} Api */
/** @typedef {import("whence/types").Body} Body */
/** @typedef {import("whence/types").Columns} Columns */
/** @typedef {import("whence/types").StageText} StageText */

/** @template Value @param {Map<number, Promise<Value>>} cache @param {number} key @param {() => Promise<Value>} make */
export function once(cache, key, make) {
  let value = cache.get(key);
  if (!value) {
    value = make();
    cache.set(key, value);
    // What failed may be asked for again.
    value.catch(() => cache.delete(key));
  }
  return value;
}

export class Texts {
  /** @type {Map<number, Promise<Body>>} */
  #bodies = new Map();
  /** @type {Map<number, Promise<string[]>>} */
  #lines = new Map();
  /** @type {Map<number, Promise<StageText>>} */
  #texts = new Map();
  /** @type {Map<number, Promise<Columns>>} */
  #columns = new Map();
  /** @type {Map<number, StageLinks>} */
  #links = new Map();

  /** @param {Api} api */
  constructor(api) {
    this.api = api;
    this.document = api.head;
  }

  /** @param {number} number */
  stageRow(number) {
    const stage = this.document.stages[number];
    if (!stage) throw new Error(`The session document has no stage ${number}.`);
    return stage;
  }

  /** @param {number} stage */
  body(stage) {
    return once(this.#bodies, stage, () => this.api.stageBody(stage));
  }

  /**
   * The columns of a stage; they need no other stage's.
   * @param {number} stage
   * @returns {Promise<Columns>}
   */
  columns(stage) {
    return once(this.#columns, stage, async () => {
      const columns = columnsOf(await this.body(stage), this.stageRow(stage).lines);
      this.#links.set(stage, new StageLinks(columns));
      return columns;
    });
  }

  /**
   * The columns and lines of a stage.
   * @param {number} stage
   * @returns {Promise<StageText>}
   */
  stage(stage) {
    return once(this.#texts, stage, async () => {
      const [columns, lines] = await Promise.all([this.columns(stage), this.lines(stage)]);
      return { ...columns, lines };
    });
  }

  /** @param {number} stage @returns {Promise<string[]>} */
  lines(stage) {
    return once(this.#lines, stage, async () => {
      const chain = [];
      for (let at = stage, body; at >= 0; at = body.base) {
        if (chain.length > this.document.stages.length)
          throw new Error("The session document is damaged: texts are edits of each other.");
        if (at !== stage && this.#lines.has(at)) {
          chain.push({ lines: await this.lines(at) });
          break;
        }
        body = await this.body(at);
        chain.push({ edits: body.edits });
      }
      /** @type {string[]} */
      let lines = [];
      for (const step of chain.reverse()) lines = step.lines ?? edited(lines, step.edits ?? []);
      if (lines.length !== this.stageRow(stage).lines)
        throw new Error("The session document is damaged: a text has another number of lines.");
      return lines;
    });
  }

  /**
   * The links of a stage whose columns are there, else undefined.
   * @param {number} stage
   */
  links(stage) {
    return this.#links.get(stage);
  }
}
