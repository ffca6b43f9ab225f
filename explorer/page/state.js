// The state of the page: values by name, and listeners that hear of changes.

/** @typedef {import("whence/types").Values} Values */
/** @typedef {keyof Values} Key */

/** @returns {Values} */
export function initialValues() {
  return {
    program: 0,
    panes: [],
    focus: 0,
    pins: [null, null],
    newest: 0,
    hover: null,
    heat: "off",
    dock: "",
    dockShare: 0.36,
    theme: "auto",
    filter: false,
    query: "",
    tour: null,
  };
}

export class State {
  /** @type {Values} */
  #values = initialValues();
  /** @type {Set<{keys: Key[], callback: () => void}>} */
  #listeners = new Set();
  /** True while the state of an address is put back: nothing follows the changes. */
  restoring = false;

  /**
   * @template {Key} Name
   * @param {Name} key
   * @returns {Values[Name]}
   */
  get(key) {
    return this.#values[key];
  }

  /**
   * Change values and call, once each, the listeners of those that differ.
   * @param {Partial<Values>} changes
   */
  set(changes) {
    const keys = /** @type {Key[]} */ (Object.keys(changes)).filter((key) => changes[key] !== this.#values[key]);
    if (keys.length === 0) return;
    this.#values = { ...this.#values, ...changes };
    for (const listener of [...this.#listeners]) {
      // One before it may have ended it.
      if (this.#listeners.has(listener) && listener.keys.some((key) => keys.includes(key))) listener.callback();
    }
  }

  /**
   * Put values back as they were before.
   * @param {Partial<Values>} values
   */
  restore(values) {
    this.restoring = true;
    try {
      this.set(values);
    } finally {
      this.restoring = false;
    }
  }

  /**
   * Call back after each change of one of the keys; returns a function that ends this.
   * @param {Key | Key[]} keys
   * @param {() => void} callback
   * @returns {() => void}
   */
  on(keys, callback) {
    const listener = { keys: Array.isArray(keys) ? keys : [keys], callback };
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }
}
