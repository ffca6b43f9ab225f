// Colours of layers: eight hues that the colour-blind can tell apart, each solid and hatched.

const HUES = 8;
const TEXTURES = 2;

/** @type {Map<number, number>} */
const order = new Map();

/**
 * Return the number of the colour of a layer, 0 to 15; the order in which layers came into view decides.
 * @param {number} row
 */
export function colourOf(row) {
  let number = order.get(row);
  if (number === undefined) {
    number = order.size % (HUES * TEXTURES);
    order.set(row, number);
  }
  return number;
}

/**
 * Return the classes of an element that has the colour of a layer: `hue-3 hatched`.
 * @param {number} row
 */
export function classOf(row) {
  const number = colourOf(row);
  return number < HUES ? `hue-${number}` : `hue-${number - HUES} hatched`;
}

/**
 * Return the colour of a layer as CSS for canvases: what `--hue-3` is in the theme of the page.
 * @param {number} row
 */
export function cssOf(row) {
  return getComputedStyle(document.documentElement)
    .getPropertyValue(`--hue-${colourOf(row) % HUES}`)
    .trim();
}
