// Tokens of all the languages that panes show, good enough to read by.

import { h } from "whence/dom";

const TOKEN =
  /(?<comment>\/\/.*|;.*|\/\*.*?\*\/|\bloc\((?:[^()]|\([^()]*\))*\)|# .*)|(?<string>"(?:[^"\\]|\\.)*")|(?<value>[%@$][\w.$-]+)|(?<number>\b(?:0x[\da-f]+|\d+(?:\.\d+)?(?:e[+-]?\d+)?)\b)|(?<keyword>\b(?:def|fn|let|if|else|for|in|while|return|parallel|vectorized|unroll|serial|with|func|module|yield|define|load|store|br|call|ret|phi|alloca)\b)/gi;
const LONGEST = 2000;
const MOST = 20_000;

/**
 * Return the parts of a line: texts, and elements for tokens that have a colour.
 * @param {string} line
 * @returns {(Node | string)[]}
 */
export function tokens(line) {
  if (line.length > MOST)
    return [line.slice(0, MOST), h("span", { class: "comment" }, ` … ${line.length - MOST} more characters`)];
  if (line.length > LONGEST) return [line];
  const parts = [];
  let end = 0;
  for (const match of line.matchAll(TOKEN)) {
    if (match.index > end) parts.push(line.slice(end, match.index));
    const kind = Object.entries(match.groups ?? {}).find(([, text]) => text !== undefined)?.[0];
    parts.push(h("span", { class: kind }, match[0]));
    end = match.index + match[0].length;
  }
  if (end < line.length) parts.push(line.slice(end));
  return parts;
}
