// Numbers and words as the page shows them.

/**
 * Return a time: `3.21 ms`.
 * @param {number} seconds
 */
export function duration(seconds) {
  if (seconds >= 1) return `${seconds.toFixed(2)} s`;
  if (seconds >= 1e-3) return `${(1e3 * seconds).toFixed(2)} ms`;
  return `${(1e6 * seconds).toFixed(1)} µs`;
}

/**
 * Return a number of things: `1 line`, `3 lines`.
 * @param {number} number
 * @param {string} noun
 */
export function count(number, noun) {
  return `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
}

/**
 * Return the first of some names: `a, b and 3 more`.
 * @param {readonly string[]} names
 * @param {number} [most]
 */
export function some(names, most = 3) {
  const first = names.slice(0, most).join(", ");
  return names.length > most ? `${first} and ${names.length - most} more` : first;
}

/**
 * Return the name of an op without its dialect: `nn.conv2d` of `relay.nn.conv2d`.
 * @param {string} name
 */
export function opName(name) {
  return name.replace(/^relay\./, "");
}

/**
 * Return the symbol of a kernel without the prefix that all have.
 * @param {string} symbol
 */
export function shortSymbol(symbol) {
  return symbol.replace(/^tvmgen_default_/, "");
}

/** Ops that say how others hang together, and compute nothing. */
const FRAME_OPS = new Set(["func", "call", "constant", "return", "tuple", "builtin.module"]);

/**
 * Return whether an op computes nothing: calls, constants and the like.
 * @param {string} name
 */
export function isFrameOp(name) {
  return FRAME_OPS.has(opName(name));
}
