// The table of actions: keys, buttons and the palette all run what stands here.

/** @typedef {import("whence/types").Action} Action */
/** @typedef {import("whence/types").App} App */

export class Actions {
  /** @type {Map<string, Action>} */
  #actions = new Map();

  /** @param {Action} action */
  add(action) {
    this.#actions.set(action.id, action);
  }

  /** @returns {Action[]} */
  list() {
    return [...this.#actions.values()];
  }

  /**
   * Return an action, which has to be there.
   * @param {string} id
   * @returns {Action}
   */
  get(id) {
    const action = this.#actions.get(id);
    if (!action) throw new Error(`no action ${id}`);
    return action;
  }

  /**
   * Run an action where it is enabled; returns whether it was.
   * @param {string} id
   * @param {App} app
   */
  run(id, app) {
    const action = this.get(id);
    if (action.enabled && !action.enabled(app)) return false;
    action.run(app);
    return true;
  }

  /**
   * Run the action of a key; keys that are typed into a field stay there, but for those with Ctrl and Escape.
   * @param {KeyboardEvent} event
   * @param {App} app
   */
  press(event, app) {
    if (event.defaultPrevented || event.isComposing || document.querySelector("dialog[open]")) return;
    const key = nameOfKey(event);
    const typing =
      event.target instanceof HTMLElement && event.target.matches("input, textarea, select, [contenteditable]");
    if (typing && !key.startsWith("Ctrl+")) return;
    const action = this.list().find((candidate) => candidate.key === key && (candidate.enabled?.(app) ?? true));
    if (!action) return;
    event.preventDefault();
    action.run(app);
  }
}

/**
 * Return the name of the key of an event, as actions have it: `w`, `J`, `Ctrl+K`, `Escape`.
 * @param {KeyboardEvent} event
 */
export function nameOfKey(event) {
  const control = event.ctrlKey || event.metaKey;
  const key = control && event.key.length === 1 ? event.key.toUpperCase() : event.key;
  return `${control ? "Ctrl+" : ""}${event.altKey ? "Alt+" : ""}${key}`;
}
