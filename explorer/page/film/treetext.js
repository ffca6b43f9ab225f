// A schedule as text, as `print(schedule)` shows it.

import { marksOf } from "whence/film/rows";

/** @typedef {import("whence/document").TreeStage} TreeStage */

const WIDTH = 120;
const LEAST = 40;

/**
 * Return the lines of a frame's stages: of each the place, the loops and the formula. What loops once is left out.
 * @param {TreeStage[]} stages
 * @returns {string[]}
 */
export function treeLines(stages) {
  const heads = stages.map((stage) =>
    stage.place === "inlined"
      ? [`stage ${stage.label}`, "inlined", ""]
      : [`stage ${stage.label}`, `(${stage.scope})`, stage.place === "root" ? "" : stage.place],
  );
  const widths = [0, 1, 2].map((column) => Math.max(0, ...heads.map((head) => head[column]?.length ?? 0)));
  return stages.flatMap((stage, at) => {
    const columns = (heads[at] ?? []).map((text, column) => text.padEnd(widths[column] ?? 0)).filter((_, column) => widths[column]);
    const line = columns.join("  ").trimEnd();
    if (stage.place === "inlined") return [`${line}  ${cut(stage.compute.join("; "), WIDTH - line.length)}`];
    return [line, ...loopLines(stage)];
  });
}

/** @param {TreeStage} stage */
function loopLines(stage) {
  const shown = stage.loops.filter((loop) => loop.extent !== "1" || marksOf(loop) !== "");
  const heads = shown.map((loop, depth) => `${"  ".repeat(depth + 1)}for ${loop.name} in ${loop.extent}`);
  const width = Math.max(0, ...heads.map((head) => head.length));
  const lines = shown.map((loop, at) => {
    const marks = marksOf(loop);
    return marks === "" ? (heads[at] ?? "") : `${(heads[at] ?? "").padEnd(width)}  # ${marks}`;
  });
  const indent = "  ".repeat(shown.length + 1);
  return [...lines, ...stage.compute.map((text) => indent + cut(text, WIDTH - indent.length))];
}

/**
 * @param {string} text
 * @param {number} width
 */
function cut(text, width) {
  const most = Math.max(width, LEAST);
  return text.length <= most ? text : `${text.slice(0, most - 3).trimEnd()}...`;
}
