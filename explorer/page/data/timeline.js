// One run over time: kernel calls on threads.

import { Plot } from "whence/data/plot";
import { perProgram, sentence } from "whence/data/program";
import { count, duration, shortSymbol } from "whence/words";

/** @typedef {import("whence/types").App} App */
/** @typedef {import("whence/document").Times} Times */

const SHARE = 0.84;
const LONGEST = 3;

/** @type {import("whence/types").Dock} */
export const timelineDock = {
  id: "timeline",
  title: "Timeline",
  enabled: (app) => app.model.document.times.some(({ timeline }) => timeline.call.length > 0),
  create: (app, element) =>
    perProgram(app, element, {
      name: "timeline",
      items: app.model.document.times.filter(({ timeline }) => timeline.call.length > 0),
      parts: ({ timeline }) => {
        const threads = Math.max(...timeline.thread) + 1;
        const until = timeline.end.reduce((most, end) => Math.max(most, end), 0);
        const facts = `One run of ${duration(until)} on ${count(threads, "thread")}. Thread 0 calls and was measured; the others are drawn as long as samples met them in the call.`;
        return [sentence(facts), new Plot(app, { ...drawing(app, timeline, threads, until) })];
      },
    }),
};

/**
 * @param {App} app
 * @param {import("whence/document").Timeline} timeline
 * @param {number} threads
 * @param {number} until
 * @returns {import("whence/data/plot").Drawing}
 */
function drawing(app, timeline, threads, until) {
  const { calls, sets, kernels } = app.model.document;
  const boxes = timeline.call.map((number, at) => {
    const call = calls[number];
    const [begin = 0, end = 0, thread = 0] = [timeline.begin[at], timeline.end[at], timeline.thread[at]];
    const rows = sets[call?.set ?? 0] ?? [];
    const about = `${duration(end - begin)} on thread ${thread}, from ${duration(begin)} on; kernel ${shortSymbol(kernels[call?.kernel ?? -1]?.symbol ?? "")}`;
    return { x: begin, until: end, y: thread, top: thread + SHARE, rows, label: app.model.label(rows, call?.name), about, call: number };
  });
  return {
    name: "timeline-plot",
    title: "Kernel calls over time, a row per thread",
    boxes,
    width: until,
    height: threads,
    down: true,
    across: ticks,
    summary: (from, until) => summary(app, timeline, threads, from, until),
    along: Array.from({ length: threads }, (_, thread) => ({ at: thread + SHARE / 2, text: `thread ${thread}` })),
  };
}

/**
 * Say how busy threads are in a part of the run, and which calls take most of it.
 * @param {App} app
 * @param {import("whence/document").Timeline} timeline
 * @param {number} threads
 * @param {number} from
 * @param {number} until
 */
function summary(app, timeline, threads, from, until) {
  const { calls, sets } = app.model.document;
  const busy = Array.from({ length: threads }, () => 0);
  /** @type {[number, number][]} */
  const own = [];
  timeline.call.forEach((number, at) => {
    const [begin = 0, end = 0, thread = 0] = [timeline.begin[at], timeline.end[at], timeline.thread[at]];
    const part = Math.min(end, until) - Math.max(begin, from);
    if (part <= 0) return;
    busy[thread] = (busy[thread] ?? 0) + part;
    if (thread === 0) own.push([number, part]);
  });
  const longest = own.toSorted((a, b) => b[1] - a[1]).slice(0, LONGEST);
  const names = longest.map(([number, part]) => `${app.model.label(sets[calls[number]?.set ?? 0] ?? [], calls[number]?.name)} ${duration(part)}`);
  const shares = busy.map((part, thread) => `thread ${thread} ${Math.round((100 * part) / (until - from || 1))} %`);
  return `${duration(until - from)} from ${duration(from)} on: ${count(own.length, "call")}; at work ${shares.join(", ")}; longest ${names.join("; ")}`;
}

/**
 * Return about eight round times.
 * @param {number} from
 * @param {number} until
 */
function ticks(from, until) {
  const step = roundStep((until - from) / 8);
  const first = Math.ceil(from / step);
  return Array.from({ length: Math.max(0, Math.floor(until / step) - first + 1) }, (_, number) => ({ at: (first + number) * step, text: duration((first + number) * step) }));
}

/**
 * Return the next of 1, 2, 5, 10, 20 ..
 * @param {number} least
 */
export function roundStep(least) {
  const power = 10 ** Math.floor(Math.log10(least || 1));
  return power * ([1, 2, 5].find((factor) => factor * power >= least) ?? 10);
}
