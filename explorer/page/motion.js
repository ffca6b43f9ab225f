// Motion: what stays slides to its new place, what is new fades in, what is gone fades out.

const TIME = { duration: 240, easing: "cubic-bezier(0.2, 0, 0.1, 1)" };

/** True where the user asked for no motion. */
export function calm() {
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}

/**
 * Move an element from elsewhere to its place.
 * @param {Element} element
 * @param {number} x pixels from its place to where it comes from
 * @param {number} y
 * @param {boolean} fresh whether it fades in as well
 */
export function arrive(element, x, y, fresh) {
  const first = { transform: `translate(${x}px, ${y}px)`, ...(fresh ? { opacity: 0 } : {}) };
  element.animate([first, { transform: "none" }], TIME);
}

/**
 * Move an element away from its place, fade it out, and take it off the page.
 * @param {Element} element
 * @param {number} x
 * @param {number} y
 * @param {Element} whole what is taken off with it
 */
export function leave(element, x, y, whole = element) {
  whole.setAttribute("aria-hidden", "true");
  whole.setAttribute("data-leaving", "");
  const last = { transform: `translate(${x}px, ${y}px)`, opacity: 0 };
  const animation = element.animate([{ transform: "none" }, last], { ...TIME, fill: "forwards" });
  const off = () => whole.remove();
  animation.finished.then(off, off);
}

/** End at once all motion at and below an element. @param {Element} element */
export function settle(element) {
  for (const animation of element.getAnimations({ subtree: true })) animation.finish();
  for (const gone of element.querySelectorAll("[data-leaving]")) gone.remove();
}
