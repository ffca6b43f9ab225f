// Where the session comes from: blocks of this very file, or a server.

import { ask, post } from "whence/run/client";
import { wantedSession } from "whence/run/waiting";

/** @typedef {import("whence/types").Api} Api */
/** @typedef {import("whence/types").Body} Body */
/** @typedef {import("whence/types").Head} Head */

/**
 * Return the session of the page: embedded where the page has an element `session-head`, else the server's.
 * @returns {Promise<Api>}
 */
export async function openSession() {
  const head = document.getElementById("session-head");
  return head ? embedded(head) : served();
}

/**
 * A report: the head, the body of each stage, `stage-3`, each schedule and the tables that queries ask are blocks of
 * their own, in gzip and base64.
 * @param {HTMLElement} element
 * @returns {Promise<Api>}
 */
async function embedded(element) {
  return {
    head: parse(await unpacked(element.textContent ?? "")),
    served: false,
    session: 0,
    stageBody: async (stage) => JSON.parse(await block(`stage-${stage}`)),
    schedule: async (schedule) => JSON.parse(await block(`schedule-${schedule}`)),
    tables: async () => JSON.parse(await block("tables")),
  };
}

/** @returns {Promise<Api>} */
async function served() {
  const session = await wantedSession();
  return {
    head: await ask(`/session/${session}/head`),
    served: true,
    session,
    stageBody: (stage) => ask(`/session/${session}/stage/${stage}`),
    schedule: (schedule) => ask(`/session/${session}/schedule/${schedule}`),
    tables: () => ask(`/session/${session}/tables`),
    scheduleLoops: (schedule, text) => post("/schedule/loops", { session, schedule, text }),
    scheduleNext: (schedule, text) => post("/schedule/next", { session, schedule, text }),
    measureSchedule: (schedule, text) => post("/schedule/measure", { session, schedule, text }),
  };
}

/** @param {string} text @returns {Head} */
function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error("This is no session document: it is no JSON.");
  }
}

/** @param {string} id */
async function block(id) {
  const element = document.getElementById(id);
  if (!element) throw new Error(`The session document is damaged: it lacks its part ${id}.`);
  return unpacked(element.textContent ?? "");
}

/**
 * Return the text that gzip in base64 holds.
 * @param {string} base64
 */
export async function unpacked(base64) {
  const stream = new Blob([bytes(base64.trim())]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}

/** @param {string} base64 @returns {Uint8Array<ArrayBuffer>} */
function bytes(base64) {
  const native = /** @type {{fromBase64?: (text: string) => Uint8Array<ArrayBuffer>}} */ (
    /** @type {unknown} */ (Uint8Array)
  );
  if (native.fromBase64) return native.fromBase64(base64);
  const letters = atob(base64);
  const result = new Uint8Array(letters.length);
  for (let index = 0; index < letters.length; index++) result[index] = letters.charCodeAt(index);
  return result;
}
