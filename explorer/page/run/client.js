// The server, as the page speaks to it.

/** @typedef {{number: number, model: string, about: string, pipeline: string[], runnable: boolean}} SessionRow */
/** @typedef {{name: string, help: string}} PassRow */
/** @typedef {{message: string, op?: string, layer?: string, pass?: string, command: string}} Failure */

/**
 * The state of the jobs.
 * @typedef {object} JobState
 * @property {"idle" | "running" | "finished" | "failed" | "cancelled"} status
 * @property {number} [job]
 * @property {string} [about] what is new about it
 * @property {string} [what] the work in hand
 * @property {number} [done]
 * @property {number} [of]
 * @property {number} [seconds]
 * @property {number} [session] what it left; 0 for nothing
 * @property {Failure} [failure]
 */

const STATES = /** @type {const} */ (["idle", "running", "finished", "failed", "cancelled"]);

/** A request that the server refused. */
export class Refused extends Error {
  /**
   * @param {string} message
   * @param {number} column where in a text it is wrong, from 0; -1 for nowhere
   */
  constructor(message, column) {
    super(message);
    this.column = column;
  }
}

/**
 * Ask, and return the JSON of the answer; throws `Refused`.
 * @param {string} path
 * @param {RequestInit} [how]
 */
export async function ask(path, how = {}) {
  const answer = await fetch(path, { credentials: "same-origin", ...how });
  const type = answer.headers.get("Content-Type") ?? "";
  const value = type.startsWith("application/json") ? await answer.json() : {};
  if (!answer.ok) throw new Refused(value.error ?? `the server answered ${answer.status}`, value.column ?? -1);
  return value;
}

/**
 * @param {string} path
 * @param {object} body
 */
export function post(path, body) {
  const headers = { "Content-Type": "application/json" };
  return ask(path, { method: "POST", headers, body: JSON.stringify(body) });
}

/** Exchange the token of the address for a cookie, and take it out of the address. */
export async function login() {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (token === null) return;
  await post("/login", { token });
  history.replaceState(null, "", location.pathname + location.search);
}

/**
 * Send a model; returns the number of the upload.
 * @param {File} file
 * @returns {Promise<number>}
 */
export async function upload(file) {
  // Headers hold ASCII alone; the server asks for the ending only.
  const name = `model${file.name.slice(file.name.lastIndexOf(".")).replace(/[^.\w]/g, "")}`;
  const headers = { "Content-Type": "application/octet-stream", "X-Whence-Name": name };
  return (await ask("/upload", { method: "POST", headers, body: file })).upload;
}

/** @param {number} job */
export function cancel(job) {
  return ask(`/run/${job}`, { method: "DELETE" });
}

/** @returns {Promise<SessionRow[]>} */
export async function sessions() {
  return (await ask("/sessions")).sessions;
}

/**
 * Call back with the state of the jobs, now and whenever it changes; returns a function that ends this.
 * @param {(state: JobState) => void} callback
 */
export function listen(callback) {
  const source = new EventSource("/events");
  for (const status of STATES) {
    source.addEventListener(status, (event) => callback({ ...JSON.parse(event.data), status }));
  }
  return () => source.close();
}
