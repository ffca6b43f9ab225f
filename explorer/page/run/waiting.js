// The page before there is a session: it shows how far the first job is.

import { fill, h } from "whence/dom";
import { listen, login, sessions } from "whence/run/client";
import { failureView } from "whence/run/failure";
import { progressBar } from "whence/run/progress";

/**
 * Log in, and return the number of the session that the address asks for, or of the last one; waits for the first.
 * @returns {Promise<number>}
 */
export async function wantedSession() {
  await login();
  const rows = await sessions();
  const wanted = Number(new URLSearchParams(location.search).get("session"));
  if (rows.some((row) => row.number === wanted)) return wanted;
  return rows.at(-1)?.number ?? firstSession();
}

/** @returns {Promise<number>} */
function firstSession() {
  const { element, show } = progressBar();
  const place = h("main", { class: "waiting", "data-test": "waiting" }, h("h1", {}, "Compiling"), element);
  document.body.append(place);
  return new Promise((resolve) => {
    const off = listen((state) => {
      show(state);
      if (state.session) {
        off();
        place.remove();
        resolve(state.session);
      } else if (state.status === "failed") fill(place, failureView(null, state, 0));
      else if (state.status === "cancelled") fill(place, h("p", { role: "status" }, "Cancelled: there is nothing to show."));
    });
  });
}
