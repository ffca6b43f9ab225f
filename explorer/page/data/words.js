// Numbers as the docks of data show them.

const UNITS = ["bytes", "kB", "MB", "GB", "TB"];

/**
 * Return a number of bytes: `3.2 MB`.
 * @param {number} bytes
 */
export function size(bytes) {
  let [value, unit] = [bytes, 0];
  while (value >= 1000 && unit < UNITS.length - 1) [value, unit] = [value / 1000, unit + 1];
  return `${unit === 0 ? value : Number(value.toPrecision(3))} ${UNITS[unit]}`;
}

/**
 * Return a number with as many digits as tell it from others of its kind: `-1.52`, `3.1e-7`, `∞` for the largest.
 * @param {number} value
 */
export function short(value) {
  if (Math.abs(value) >= Number.MAX_VALUE) return value < 0 ? "-∞" : "∞";
  if (value === 0) return "0";
  const magnitude = Math.abs(value);
  return magnitude >= 1e5 || magnitude < 1e-3 ? value.toExponential(1) : String(Number(value.toPrecision(3)));
}
