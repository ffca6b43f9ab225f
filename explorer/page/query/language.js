// The language of queries, as explorer/session/query/language.py has it: a text becomes a plan, or an error at a place.

import { outputs } from "whence/query/columns";
import { QueryError, near, tokensOf } from "whence/query/tokens";

/** @typedef {import("whence/query/tokens").Token} Token */
/** @typedef {import("whence/query/types").Plan} Plan */
/** @typedef {import("whence/query/types").Tables} Tables */
/** @typedef {import("whence/query/types").Column} Column */
/** @typedef {import("whence/query/types").Tree} Tree */

const DEEPEST = 40;
const NUMBER = /^([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)([A-Za-z%]*)$/;
const CLAUSES = ["where", "by", "order", "top", "show", "after", "against"];
const OPERATORS = ["=", "!=", "<", "<=", ">", ">=", "~"];

/**
 * Return the plan of a query; throws QueryError.
 * @param {string} text
 * @param {Tables} tables
 * @returns {Plan}
 */
export function parsed(text, tables) {
  return new Parser(text, tables).query();
}

class Parser {
  #next = 0;
  #depth = 0;

  /** @param {string} text @param {Tables} tables */
  constructor(text, tables) {
    this.text = text;
    this.tables = tables;
    this.tokens = [...tokensOf(text)];
  }

  /** @param {Token} token @param {string} expected @param {readonly string[]} [names] @param {string} [about] @returns {never} */
  #fail(token, expected, names = [], about = "") {
    throw new QueryError(this.text, token.at, token.length, expected, [near(token.text, names), about].filter(Boolean).join(" "));
  }

  #token() {
    return /** @type {Token} */ (this.tokens[this.#next]);
  }

  #take() {
    const token = this.#token();
    if (token.kind !== "end") this.#next += 1;
    return token;
  }

  /** Take a word or mark if it is one of these; return it, else "". @param {string[]} words */
  #taken(...words) {
    const { kind, low } = this.#token();
    if ((kind !== "word" && kind !== "mark") || !words.includes(low)) return "";
    this.#next += 1;
    return low;
  }

  /** @param {string} table */
  #adding(table) {
    return this.tables.tables[table].columns.filter(({ adds }) => adds).map(({ name }) => name);
  }

  /** @returns {Plan} */
  query() {
    const { measures } = this.tables;
    const tables = Object.keys(this.tables.tables).filter((table) => table !== "compared");
    const subject = this.#take();
    /** @type {Plan} */
    const plan = { table: "layers", measure: "", against: false, after: "", where: null, by: [], show: [], order: "", direction: "", top: 0 };
    const of = this.#taken("of");
    if (!of && subject.kind === "word" && tables.includes(subject.low)) plan.table = subject.low;
    else {
      plan.measure = subject.low;
      if (of) {
        const table = this.#take();
        if (!tables.includes(table.low)) this.#fail(table, "a table", tables, `tables: ${tables.join(", ")}`);
        plan.table = table.low;
      } else if (!measures.includes(subject.low)) {
        const all = [...tables, ...measures];
        this.#fail(subject, "a subject", all, `subjects: ${all.join(", ")}`);
      }
      const adding = this.#adding(plan.table);
      if (!adding.includes(plan.measure)) this.#fail(subject, `a number that ${plan.table} add up`, [], `these are ${adding.join(", ")}`);
    }
    this.#clauses(plan);
    return plan;
  }

  /** @param {Plan} plan */
  #clauses(plan) {
    // What columns there are depends on `against`, wherever that stands.
    const versus = this.tokens.find(({ kind, low }, k) => k > 0 && kind === "word" && low === "against" && !OPERATORS.includes(this.tokens[k - 1].text));
    if (versus) this.#against(plan, versus);
    const seen = new Set();
    /** @type {Token | null} */
    let order = null;
    while (this.#token().kind !== "end") {
      const token = this.#take();
      const word = token.kind === "word" ? token.low : "";
      const change = this.tables.changes.includes(word);
      if (seen.has(change ? "change" : word)) this.#fail(token, `${word} once`);
      seen.add(change ? "change" : word);
      if (change) {
        if (plan.table !== "ops" && plan.table !== "lines") this.#fail(token, `ops or lines before ${word}`);
        plan.where = both(plan.where, ["=", "change", word]);
      } else if (word === "where") plan.where = both(plan.where, this.#either(plan));
      else if (word === "by" || word === "show") plan[word] = this.#columns(plan);
      else if (word === "order") {
        this.#taken("by");
        order = this.#take();
        plan.order = order.low;
        plan.direction = this.#taken("up", "down");
      } else if (word === "top") {
        const number = this.#take();
        if (!/^[1-9][0-9]{0,8}$/.test(number.text)) this.#fail(number, "a number of rows");
        plan.top = Number(number.text);
      } else if (word === "after") this.#after(plan, token);
      else if (word === "against") {
        const old = this.#take();
        if (old.low !== "old" && old.low !== "other") this.#fail(old, "old");
      } else {
        const clauses = [...CLAUSES, ...this.tables.changes];
        this.#fail(token, "a clause", clauses, `clauses: ${clauses.join(", ")}`);
      }
    }
    /** @type {(expected: string) => never} */
    const fail = (expected) => {
      throw new QueryError(this.text, 0, this.text.length, expected);
    };
    const key = plan.measure && plan.by.find((name) => name.replace("old_", "") === plan.measure);
    if (key) fail(`another column than ${key} after by`);
    if (plan.show.length && (plan.by.length || plan.measure)) fail("show without by and without a measure");
    const names = outputs(plan, this.tables).map(({ name }) => name);
    if (order && !names.includes(plan.order)) this.#fail(order, "a column of the answer", names, `columns: ${names.join(", ")}`);
  }

  /** @param {Plan} plan @param {Token} token */
  #against(plan, token) {
    if (!this.tables.compared) this.#fail(token, "no against, as this document has no other session beside it (--compare OTHER)");
    if (plan.table !== "layers" || (plan.measure && !this.#adding("compared").includes(plan.measure)))
      this.#fail(token, "layers, time, instructions or code before against");
    plan.table = "compared";
    plan.against = true;
  }

  /** @param {Plan} plan @param {Token} token */
  #after(plan, token) {
    const { passes } = this.tables;
    const name = this.#take();
    if (plan.table !== "ops" && plan.table !== "lines") this.#fail(token, "ops or lines before after");
    /** @type {(pass: string) => string} */
    const short = (pass) => (pass.includes("-") ? pass.slice(pass.indexOf("-") + 1) : "");
    plan.after = (name.low && (passes.findLast((pass) => pass.toLowerCase() === name.low) ?? passes.findLast((pass) => short(pass).toLowerCase() === name.low))) || "";
    if (!plan.after) this.#fail(name, "a pass that ran", passes);
  }

  /** @param {Plan} plan */
  #columns(plan) {
    const names = [this.#column(plan, this.#take()).name];
    while (this.#taken(",")) {
      const token = this.#take();
      const { name } = this.#column(plan, token);
      if (names.includes(name)) this.#fail(token, `${name} once`);
      names.push(name);
    }
    return names;
  }

  /** @param {Plan} plan @param {Token} token @returns {Column} */
  #column(plan, token) {
    const { columns } = this.tables.tables[plan.table];
    const found = token.kind === "word" ? columns.find(({ name }) => name === token.low) : undefined;
    const names = columns.map(({ name }) => name);
    return found ?? this.#fail(token, `a column of ${plan.table}`, names, `columns of ${plan.table}: ${names.join(", ")}`);
  }

  /** @param {Plan} plan @returns {Tree} */
  #either(plan) {
    let tree = this.#both(plan);
    while (this.#taken("or")) tree = ["or", tree, this.#both(plan)];
    return tree;
  }

  /** @param {Plan} plan @returns {Tree} */
  #both(plan) {
    let tree = this.#one(plan);
    while (this.#taken("and")) tree = ["and", tree, this.#one(plan)];
    return tree;
  }

  /** @param {Plan} plan @returns {Tree} */
  #one(plan) {
    const token = this.#take();
    const nested = (token.kind === "word" || token.kind === "mark") && (token.low === "not" || token.low === "(");
    if (!nested) return this.#comparison(this.#column(plan, token));
    this.#depth += 1;
    if (this.#depth > DEEPEST) this.#fail(token, `at most ${DEEPEST} parentheses in each other`);
    const tree = token.low === "(" ? this.#either(plan) : /** @type {Tree} */ (["not", this.#one(plan)]);
    if (token.low === "(" && !this.#taken(")")) this.#fail(this.#token(), "a )");
    this.#depth -= 1;
    return tree;
  }

  /** @param {Column} column @returns {Tree} */
  #comparison({ name, unit }) {
    const sign = this.#token();
    const operator = this.#taken(...OPERATORS);
    if (!operator) return ["has", name];
    const isText = unit === "text";
    if (isText && !["=", "!=", "~"].includes(operator)) this.#fail(sign, `=, != or ~ after ${name}, which is text`);
    if (!isText && operator === "~") this.#fail(sign, `=, !=, <, <=, > or >= after ${name}, which is a number`);
    const value = this.#take();
    if (value.kind !== "word" && value.kind !== "text") this.#fail(value, "a value");
    if (operator === "~") return ["~", name, value.low.split("*").filter(Boolean)];
    const wanted = isText ? value.low : this.#number(value);
    return operator === "!=" ? ["not", ["=", name, wanted]] : [operator, name, wanted];
  }

  /** @param {Token} token */
  #number(token) {
    const { units } = this.tables;
    const [, digits = "", unit = ""] = NUMBER.exec(token.text) ?? [];
    if (!digits || (unit && !Object.hasOwn(units, unit))) this.#fail(token, "a number", Object.keys(units), `units: ${Object.keys(units).join(", ")}`);
    return Number(digits) * (units[unit] ?? 1);
  }
}

/** @param {Tree | null} first @param {Tree} second @returns {Tree} */
function both(first, second) {
  return first ? ["and", first, second] : second;
}
