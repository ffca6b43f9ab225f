// The theme: light or dark, as the system has it or as a person chose.

/** @typedef {import("whence/types").App} App */

const dark = matchMedia("(prefers-color-scheme: dark)");

/** @param {App} app */
export function keepTheme(app) {
  const { state } = app;
  const show = () => {
    document.documentElement.dataset["theme"] = current(app);
  };
  state.on("theme", show);
  dark.addEventListener("change", show);
  show();
}

/**
 * Take the other theme; that of the system is no choice.
 * @param {App} app
 */
export function toggleTheme(app) {
  const theme = current(app) === "dark" ? "light" : "dark";
  app.state.set({ theme: theme === (dark.matches ? "dark" : "light") ? "auto" : theme });
}

/** @param {App} app */
function current(app) {
  const theme = app.state.get("theme");
  return theme === "auto" ? (dark.matches ? "dark" : "light") : theme;
}
