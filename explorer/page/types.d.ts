// Shapes that modules of the page share.

import type { Body, Frame, NextPrimitive, Session, Stage, Verdict } from "whence/document";
import type { Actions } from "whence/actions";
import type { SessionModel } from "whence/session";
import type { Tables } from "whence/query/types";
import type { State } from "whence/state";

/** What the page reads a session through; the same for an offline file and for a server. */
export interface Api {
  /** The document, in which the body of each stage and the frames of each schedule are null. */
  head: Head;
  /** True where jobs can be run. */
  served: boolean;
  /** The number of the session among those of the server; 0 in a report. */
  session: number;
  stageBody(stage: number): Promise<Body>;
  schedule(schedule: number): Promise<Frame[]>;
  /** What queries ask. */
  tables(): Promise<Tables>;
  /** The loops of a text of a kernel's schedule; a server makes them. */
  scheduleLoops?(schedule: number, text: string): Promise<ScheduleLoops>;
  /** The primitives that may come after it; this takes longer. */
  scheduleNext?(schedule: number, text: string): Promise<{ next: NextPrimitive[] }>;
  /** Build a text of a kernel's schedule, and run it beside the default one. */
  measureSchedule?(schedule: number, text: string): Promise<ScheduleComparison>;
}

/** The loops of a schedule. */
export interface ScheduleLoops {
  /** Their lines; none where there is an error. */
  tir: string[];
  error: string;
}

/** Two schedules of one function on the same inputs. */
export interface ScheduleComparison {
  /** Seconds of a call with the default schedule. */
  before: number;
  after: number;
  /** True where results differ by no more than sums in another order may. */
  equal: boolean;
  /** The largest difference of an element. */
  error: number;
}

/** The columns of a stage, one element per line; lines count from 0 here. */
export interface Columns {
  /** Line -> set, or index into `Kernel.slots`; -1 for none. */
  set: Int32Array;
  /** Line -> op; -1 for none. */
  op: Int32Array;
  /** Line -> line of the last tir stage, from 1; 0 for none. */
  tir: Int32Array;
  /** Line -> 1 where its link is exact. */
  exact: Uint8Array;
  /** Line -> layers whose output it computes. */
  outputs: Map<number, number[]>;
}

export interface StageText extends Columns {
  lines: string[];
}

/** A line of a stage; lines count from 0. */
export interface At {
  stage: number;
  line: number;
  /** Index into `Session.calls`, or -1 for all calls of the kernel. */
  call: number;
  /** The line of the kernel's last tir stage that it belongs to, from 1; 0 for none. */
  tir: number;
}

/** Layers that are marked, and the line where somebody marked them. */
export interface Mark {
  /** Rows of `Session.layers`. */
  rows: number[];
  label: string;
  at: At | null;
  /** Stage -> the very lines that are marked, ascending; other stages show the lines of the layers. */
  lines?: Map<number, Int32Array>;
}

/** A pane; `level` names the kind of view that it holds. */
export interface Pane {
  id: number;
  level: string;
  /** Index into `Session.stages`; -1 for views that need none. */
  stage: number;
  /** The stage that `stage` is compared with, in panes that compare. */
  from?: number;
  /** Index into `Session.calls`, or -1 for all calls of the kernel. */
  call: number;
  /** The first line that is in view. */
  top: number;
  wrap: boolean;
  /** True where a graph goes from left to right. */
  sideways?: boolean;
  /** Share of the width, relative to the other panes. */
  grow: number;
}

export type Heat = "off" | "time" | "flops" | "bytes" | "change";
export type Slot = 0 | 1;

export interface Values {
  program: number;
  panes: Pane[];
  /** The id of the pane that keys act on. */
  focus: number;
  pins: [Mark | null, Mark | null];
  /** The pin that panes bring into view. */
  newest: Slot;
  hover: Mark | null;
  heat: Heat;
  /** The id of the tab that is open; "" for none. */
  dock: string;
  /** The dock's share of the height of the page. */
  dockShare: number;
  theme: "auto" | "light" | "dark";
  /** True where panes show pinned lines only. */
  filter: boolean;
  /** The query that the tab of answers shows; "" for none. */
  query: string;
  /** The tour that is under way, and its step, both from 0. */
  tour: [number, number] | null;
}

export interface PaneView {
  /** Show the state of the pane, which may have another stage or call now. */
  update(pane: Pane): void;
  focus(): void;
  destroy(): void;
  /** Bring a line into view and put the cursor on it. */
  reveal?(line: number): void;
  /** Whether the newest pin is wholly in view. */
  sees?(): boolean;
  /** The line that keys act on. */
  cursor?(): Mark | null;
  /** Open the search, or go to its next (1) or previous (-1) hit. */
  search?(step: 0 | 1 | -1): void;
}

export interface DockView {
  update(): void;
  destroy(): void;
}

export interface Dock {
  id: string;
  title: string;
  create(app: App, element: HTMLElement): DockView;
  /** False where the session has nothing for it. */
  enabled?(app: App): boolean;
}

export interface App {
  api: Api;
  model: SessionModel;
  state: State;
  actions: Actions;
  /** Pin layers as A (slot 0) or B (slot 1). */
  pin(rows: readonly number[], slot?: Slot, at?: At | null): void;
  /** Pin the layers of a call, in that call. */
  pinCall(call: number, slot?: Slot): void;
  /** The pin that was set last. */
  newest(): Mark | null;
  unpin(): void;
  /** Light up the kin of layers, or of nothing. */
  hover(rows: readonly number[] | null, at?: At | null): void;
  /** Show a stage, and a line (from 0) of it, in a pane of its level; returns once it is shown. */
  open(stage: number, line?: number, call?: number): void;
  openDock(id: string): void;
  copy(text: string): Promise<void>;
  /** Say something to screen readers, and show it for a while. */
  announce(text: string): void;
  /** The pane that keys act on. */
  pane(): Pane;
  setPane(id: number, changes: Partial<Pane>): void;
  addPane(pane: Partial<Pane>): void;
  removePane(id: number): void;
  /** The view of a pane, where it is shown. */
  view(id: number): PaneView | undefined;
}

export interface Action {
  id: string;
  title: string;
  /** `w`, `J`, `Ctrl+K`, `Escape`; "" for none. */
  key?: string;
  group?: string;
  run(app: App): void;
  enabled?(app: App): boolean;
}

/** The document as the page loads it: with the verdicts on it, without what is loaded on demand. */
export interface Head extends Session {
  verdicts: Verdict[];
}

export type { Body, Session, Stage };
