// What is shown, as a command or a program that shows it again.

import { history } from "whence/diff/compose";

/** @typedef {import("whence/types").Session} Session */
/** @typedef {{id: "why" | "show" | "opt" | "where" | "python", text: string}} Command */
/**
 * What a command is about.
 * @typedef {object} Subject
 * @property {number} stage -1 for none
 * @property {number} line the line of the kernel's last tir stage, from 1; 0 for none
 * @property {string} layer "" for none
 */

const EXPLORE = "whence explore ";
const PLAIN = /^[\w@%+=:,.\/][\w@%+=:,.\/-]*$/;
const EXPORTED = /\.(?:tar|so|o)$/;
const LEVEL = 3;
const TARGET = "native";
const LOWERING = ["convert-relay-to-te", "convert-te-to-tir"];
/** Levels as `whence tir --emit` calls them. */
const FORMATS = { te: "te", schedule: "schedule", tir: "tir", llvm: "ll", asm: "s" };

/** A word of a command as shells read it. @param {string} word */
export function quoted(word) {
  return PLAIN.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** The model as the user named it. @param {Session} session */
export function modelOf({ made_by: made }) {
  return made.command.startsWith(EXPLORE) ? made.command.slice(EXPLORE.length) : made.model;
}

/** Whether the model is a file, or a folder that a command was given, which commands can read. @param {Session} session */
function isFile({ made_by: made }) {
  return made.command.startsWith(EXPLORE) || /\.\w+$/.test(made.model);
}

/** The model and the options that it was compiled with. @param {Session} session */
function compiled(session) {
  const { opt_level: level, target } = session.made_by;
  const options = [level === LEVEL ? "" : ` -O ${level}`, target === TARGET ? "" : ` --target ${quoted(target)}`];
  return quoted(modelOf(session)) + options.join("");
}

/**
 * Return the passes that made a stage, as `whence-opt -p` takes them: those over the program, and for a kernel's loops
 * the lowering and those over the kernel; null where passes do not lead there.
 * @param {Session} session @param {number} stage
 * @returns {string[] | null}
 */
export function pipelineOf(session, stage) {
  const { stages, passes } = session;
  const { program, kernel, level } = stages[stage];
  if (level !== "relay" && level !== "tir") return null;
  const relay = passes.filter((run) => run.program === program && run.kernel < 0);
  if (level === "relay") return relay.slice(0, position(session, stage)).map(({ spec }) => spec);
  const own = passes.filter((run) => run.program === program && run.kernel === kernel);
  return [...relay.map(({ spec }) => spec), ...LOWERING, ...own.slice(0, position(session, stage)).map(({ spec }) => spec)];
}

/** How many passes had run over the program or the kernel when a stage was there first. @param {Session} session @param {number} stage */
function position({ stages, passes }, stage) {
  const { program, kernel } = stages[stage];
  const runs = passes.filter((run) => run.program === program && run.kernel === kernel);
  return runs.findIndex((run) => run.changed && run.stage === stage) + 1;
}

/**
 * Return the commands about what is shown, the most fitting first.
 * @param {Session} session @param {Subject} subject
 * @returns {Command[]}
 */
export function commandsOf(session, { stage, line, layer }) {
  const row = session.stages[stage];
  const kernel = session.kernels[row?.kernel ?? -1];
  /** @type {Command[]} */
  const commands = [];
  const file = isFile(session);
  const add = (/** @type {Command["id"]} */ id, /** @type {string} */ text) => (file || id === "python") && commands.push({ id, text });
  if (row && kernel && line > 0) add("why", `whence why ${compiled(session)} --kernel ${quoted(kernel.symbol)} --line ${line}`);
  const pipeline = row ? pipelineOf(session, stage) : null;
  const last = row && session.stages.findLastIndex((other) => other.kernel === row.kernel && other.level === "tir");
  if (row && kernel && !kernel.compiler && (row.level !== "tir" || stage === last))
    add("show", `whence tir ${compiled(session)} --kernel ${quoted(kernel.symbol)} --emit ${FORMATS[/** @type {keyof FORMATS} */ (row.level)]}`);
  if (pipeline && !EXPORTED.test(session.made_by.model)) add("opt", `whence-opt ${quoted(modelOf(session))} -p ${quoted(pipeline.join(","))}`);
  add("where", `whence where ${compiled(session)} ${layer ? `--layer ${quoted(layer)}` : "--all"}`);
  if (row && row.program >= 0 && !EXPORTED.test(session.made_by.model)) add("python", python(session, stage));
  return commands;
}

/** A program that prints a stage. @param {Session} session @param {number} stage */
function python(session, stage) {
  const { opt_level: level, target } = session.made_by;
  const { level: kind, kernel } = session.stages[stage];
  const symbol = session.kernels[kernel]?.symbol ?? "";
  const options = [level === LEVEL ? "" : `, opt_level=${level}`, target === TARGET ? "" : `, target=${literal(target)}`].join("");
  const model = isFile(session) ? literal(modelOf(session)) : "model";
  const begin = `import whence\n\ncompiled = whence.compile(${model}${options}`;
  if (kind !== "relay" && kind !== "tir")
    return `${begin})\nprint(compiled.get_source(${literal(symbol)}, ${literal(FORMATS[/** @type {keyof FORMATS} */ (kind)])}))\n`;
  const lines = [
    `${begin}, snapshots=True)`,
    `stages = [stage for stage in compiled.snapshots if stage.kernel == ${literal(symbol)}]`,
    `print(stages[${position(session, stage)}].text)`,
  ];
  return `${lines.join("\n")}\n`;
}

/** A text as a literal of Python. @param {string} text */
function literal(text) {
  return JSON.stringify(text).replace(/[\u007f-\uffff]/g, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/**
 * Return a FileCheck test of the pass that made a stage: the text before it, and a check for each line that is new.
 * @param {Session} session @param {number} stage
 * @param {string[]} before the lines of the stage before @param {string[]} added the lines that the pass made
 */
export function fileCheck(session, stage, before, added) {
  const run = session.passes.find((candidate) => candidate.changed && candidate.stage === stage);
  const checks = added.map((line) => `// CHECK: ${checked(line.trim())}`);
  return [`// RUN: whence-opt %s -p ${quoted(run?.spec ?? "")} | filecheck %s`, "", ...before, "", ...checks, ""].join("\n");
}

/** A line as FileCheck matches it, whatever its values are called. @param {string} line */
function checked(line) {
  return line
    .split(/(%[\w.$]+)/)
    .map((part, k) => (k % 2 ? "{{%[^ ,:)\\[]+}}" : part.replaceAll("{{", "{{[{][{]}}").replaceAll("[[", "{{[[][[]}}")))
    .join("");
}

/** The stage before one, which a FileCheck test begins with; -1 for none. @param {Session} session @param {number} stage */
export function stageBefore({ stages }, stage) {
  return stage < 0 ? -1 : (history(stages, stage).at(-2) ?? -1);
}
