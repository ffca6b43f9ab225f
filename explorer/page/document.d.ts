/** The session document: generated from explorer/session/document.py by its tests. */

/** The origin of a document. */
export interface MadeBy {
  /** Version of Whence. */
  whence: string;
  /** The command that makes the document again. */
  command: string;
  model: string;
  /** The hash of the model's bytes; "" for a module in memory. */
  sha256: string;
  target: string;
  opt_level: number;
  threads: number;
  cpu: string;
  /** Library -> version. */
  libraries: Record<string, string>;
  /** Wall time of the compilation that was recorded. */
  compile_seconds: number;
  /** Sentences about what was left out, and why. */
  notes: string[];
}

/** A model file. */
export interface Source {
  file: string;
  /** onnx, tflite, relay, mlir, tar or te. */
  kind: string;
  /** The stage of level model that lists its layers, one per line: `ordinal operator name`. */
  stage: number;
  /** The graph of its layers. */
  graph: number;
}

/** A row for each layer and tensor of the sources, and for each lost mark. */
export interface Layers {
  name: string[];
  /** layer, tensor, model (a function of the source as a whole), lost (the name says by which pass) or unknown. */
  kind: string[];
  /** The source's name of the operator. */
  type: string[];
  /** Index into `Session.sources`. */
  source: number[];
  /** The number of the node in the source; the line for text. */
  ordinal: number[];
  /** The name scope, `layer1/block0`; "" for none. */
  scope: string[];
  /** The row of a tensor's layer; for a layer its own row. */
  owner: number[];
  /** The lines of an exported program that called it, `net.py:12 return self.conv(x)`, the innermost first. */
  code: string[][];
}

/** A compiled program. A model with open sizes, or run by an interpreter, has several. */
export interface Program {
  name: string;
  /** static, sized, specialised, interpreted (the steps around stretches), stretch or exported. */
  kind: string;
  /** The reason for its kind, or its sizes. */
  about: string;
  /** The least sizes that it takes, `batch=1,length=1`; "" where its shapes are fixed. */
  open: string;
  /** The sizes that its times, memory and tensors are of; "" for none. */
  sizes: string;
}

/** The choices of a kernel's schedule, with estimates by rule. */
export interface Knobs {
  /** The number of combinations of choices that were estimated. */
  points: number;
  /** The estimate of the kernel as it is. */
  seconds: number;
  /** The least estimate. */
  best: number;
  /** The choices of the least estimate that are others, `rows = 4, vectors = 2`; "" for none. */
  decisions: string;
}

/** A compiled function; the calls that share it are `Call`s. */
export interface Kernel {
  symbol: string;
  program: number;
  /** The external compiler that runs it; "" for ours. */
  compiler: string;
  /** The distinct slot sets of the kernel's lines: the columns `Stage.sets` of its stages index this list. */
  slots: number[][];
  /** Its stages, from te to asm. */
  stages: number[];
  /** Index into `Session.schedules`. */
  schedule: number;
  /** The bytes of machine code. */
  bytes: number;
  instructions: number;
  /** The decisions of tuning about it, `rows = 4 (exact, ..)`; "" for a kernel made by rule. */
  tuned: string;
  /** The reason why no strategy could schedule it, so that it has the plain schedule; "" where one could. */
  refusal: string;
  /** The choices of its schedule; of kernels that take long, where tuning has not decided. */
  knobs: Knobs | null;
}

/** A call of a kernel. */
export interface Call {
  name: string;
  program: number;
  kernel: number;
  /** Per slot the set of its layers. */
  layers: number[];
  /** The set of the whole call. */
  set: number;
  flops: number;
  /** Read and written, estimated. */
  bytes: number;
}

/** The ops of a stage against those of its `Stage.before`, by identity; of gone ops and others the rows. */
export interface Diff {
  new: number[];
  gone: number[];
  /** The same op with another operand, attribute or type; names of values do not count. */
  changed: number[];
  moved: number[];
}

/** The text of a stage and its columns. */
export interface Body {
  /** The stage that `edits` apply to; -1: the empty text. */
  base: number;
  edits: [number, number, string[]][];
  /** Line -> set, of a kernel's stages index into `Kernel.slots`; -1 for a line of no op. */
  sets: number[];
  /** Line -> op. */
  ops: number[];
  /** Pairs of a line whose op computes a layer's output, and the layer. */
  outputs: [number, number][];
  /** Line of llvm or asm -> line of the kernel's last tir stage, 0 for none; empty for other levels. */
  tir: number[];
  /** Line of asm -> 1 where the object's line table has it and it fits, 0 where inferred; empty for other levels. */
  exact: number[];
}

/** A text of one level: of a whole program, or of a kernel. */
export interface Stage {
  /** The step that the text is from: `imported`, a pass, `lowered`. */
  name: string;
  level: "python" | "model" | "relay" | "te" | "schedule" | "tir" | "llvm" | "asm";
  program: number;
  kernel: number;
  /** The stage that this one came of at the same level; -1 for the first. */
  before: number;
  lines: number;
  diff: Diff | null;
  body: Body;
}

/** A run of a pass over a program or a kernel. */
export interface PassRun {
  name: string;
  /** The pass as `whence-opt -p` takes it, options included. */
  spec: string;
  program: number;
  kernel: number;
  /** The stage after it; that before it where it changed nothing. */
  stage: number;
  changed: boolean;
  /** Wall time; -1.0 where it was not measured. */
  seconds: number;
  /** file:line of the pass. */
  source: string;
}

/** A row for each op that a stage or an event names. */
export interface Ops {
  name: string[];
  /** The set of its layers when it was last met; of kernels' ops -1. */
  set: number[];
  /** The op that it is a copy of. */
  copied_from: number[];
  /** The number of events that had made the original by then. */
  copied_at: number[];
}

/** The ledger, in order: a row for each event. */
export interface Events {
  /** Index into `Session.passes`; -1 for the import and what is no pass. */
  run: number[];
  pass_name: string[];
  pattern: string[];
  /** file:line of the pattern; "" where it has none. */
  pattern_at: string[];
  reason: string[];
  /** `nn.batch_norm -> 9 ops`, as `why` shows it. */
  what: string[];
  sources: number[][];
  targets: number[][];
  /** The set of the layers of what went, changed or died. */
  before: number[];
  after: number[];
}

/** The nodes of a graph, in an order in which edges point forwards. */
export interface Nodes {
  label: string[];
  /** A second line: types, or weights. */
  about: string[];
  /** input, output, node, constant or group. */
  kind: string[];
  scope: string[];
  set: number[];
  /** Index into `Session.calls` of a graph of calls. */
  call: number[];
  /** Middle, in pixels; empty columns where nothing was laid out. */
  x: number[];
  /** Top. */
  y: number[];
  width: number[];
  height: number[];
  attributes: [string, string][][];
  flops: number[];
  bytes: number[];
}

/** The edges of a graph. */
export interface Edges {
  source: number[];
  target: number[];
  /** The type of the tensor. */
  text: string[];
  /** The points between its ends, x and y in turn: curves from row to row, and straight lines down a row, in turn. */
  path: number[][];
  /** The number of the source's output that it carries. */
  output: number[];
  /** The name that the target's operator has for it, `filter`; "" for none. */
  role: string[];
}

/** A graph with positions. */
export interface Graph {
  title: string;
  level: "model" | "calls";
  program: number;
  nodes: Nodes;
  edges: Edges;
}

/** A loop of a scheduled stage, outermost first. */
export interface LoopRow {
  name: string;
  extent: string;
  /** TVM's word for how it runs: serial, parallel, vectorized, unrolled, tensorized, .. */
  kind: string;
  /** TVM's name of its iteration type: kDataPar, kCommReduce, kVectorized, .. */
  type: string;
  reduce: boolean;
  /** The stages that are computed in it. */
  computes: string[];
  notes: string[];
  /** The number of loops around it. */
  depth: number;
  /** Index into `TreeStage.variables`. */
  variable: number;
}

/** An iteration variable: an axis, or what primitives made of others. */
export interface Variable {
  name: string;
  extent: string;
  type: string;
}

/** The making of iteration variables, indexes into `TreeStage.variables`, from others. */
export interface Relation {
  /** split, fuse, singleton or transform. */
  kind: string;
  parents: number[];
  children: number[];
}

/** A stage of a schedule tree. */
export interface TreeStage {
  label: string;
  /** root, inlined, or `@ dense.i.outer`. */
  place: string;
  scope: string;
  /** The layout and the like of its buffer; "" for the plain one. */
  storage: string;
  /** Its formula, line by line. */
  compute: string[];
  loops: LoopRow[];
  variables: Variable[];
  relations: Relation[];
  slots: number[];
  /** The labels of the stages and tensors that it reads. */
  reads: string[];
  /** The types of its tensors. */
  outputs: string[];
}

/** An estimate by rule; no measurement. */
export interface Cost {
  seconds: number;
  flops: number;
  /** Read and written beyond the second level of the cache. */
  bytes: number;
  /** The seconds of its instructions alone; those of its bytes alone are `seconds` where these are more. */
  computing: number;
}

/** A primitive that is legal after a frame. */
export interface NextPrimitive {
  /** The primitive as a call in Python: `s["C"].split(i, 16)`. */
  call: string;
  /** The lines of text that are appended to those of the frame to choose it. */
  lines: string[];
  cost: Cost | null;
}

/** A schedule after one more primitive; the first frame is that before any. */
export interface Frame {
  /** The primitive in the text; "" for the first frame. */
  primitive: string;
  /** file:line that issued it. */
  at: string;
  /** The lines of `Schedule.text` up to it. */
  lines: number;
  /** Its stages, producers first: indexes into `Schedule.stages`. */
  tree: number[];
  /** Labels of the stages that the primitive changed. */
  changed: string[];
  /** False where `tir` and `next` were left out: `explorer.session.schedules` makes them of the text. */
  loaded: boolean;
  /** The loops, as edits to those of the frame before; where there is an error, none. */
  tir: [number, number, string[]][];
  /** The reason why there are no loops; "" where there are. */
  error: string;
  cost: Cost | null;
  next: NextPrimitive[];
}

/** The film of a kernel's schedule. */
export interface Schedule {
  kernel: number;
  /** All of it, from which it can be made again: intrinsics, function, and the sequence of primitives, that comes last and is closed by the last line, `}`. */
  text: string;
  /** Name and type of the function's arguments. */
  arguments: [string, string][];
  /** The distinct stages of all frames. */
  stages: TreeStage[];
  frames: Frame[];
}

/** The calls that serve each layer, those with most of it first, and the line of each level to begin at. Lines are those of the last stage of a level in the call's kernel. */
export interface Leads {
  layer: number[];
  call: number[];
  /** Seconds of a run; where these were not measured, operations and bytes, estimated. */
  weight: number[];
  te: number[];
  schedule: number[];
  tir: number[];
  llvm: number[];
  asm: number[];
}

/** The samples of a stage's lines, per call. */
export interface LineTimes {
  call: number;
  stage: number;
  /** Numbers of the lines that have samples; 0: no line is known. */
  line: number[];
  samples: number[];
}

/** One run: calls on threads, in seconds of the wall's clock from its beginning. Thread 0, which calls, is measured. The others are drawn from the beginning of a call on, as long as the part of it in which samples met them in its code. */
export interface Timeline {
  begin: number[];
  end: number[];
  thread: number[];
  call: number[];
}

/** A part of a call's work, and the most that a core does of it. */
export interface Term {
  /** Operations by the name of the products, `products` for floats; bytes by the cache that has them: L1, L2, L3 or memory. */
  name: string;
  /** Operations or bytes. */
  amount: number;
  /** Operations or bytes that a core does in a second. */
  rate: number;
}

/** The least CPU seconds of a call; data that is in a nearer cache than thought may take less. */
export interface Roof {
  operations: Term;
  bytes: Term[];
  /** The CPU seconds that a call takes before any work: to begin, and to wake threads. */
  start: number;
}

/** CPU seconds of all threads per run, as `whence profile` has them: layers add up to calls, in each and in all. */
export interface Times {
  program: number;
  /** The number of sampled runs. */
  runs: number;
  /** Per call of the program, in order. */
  calls: number[];
  /** Row of a layer (-1: of none), seconds, and whether a part of them is an estimate. */
  layers: [number, number, boolean][];
  /** Per call: row of a layer, and its seconds in the call. */
  parts: [number, number][][];
  lines: LineTimes[];
  timeline: Timeline;
  /** Per call the least time of its work on this machine; empty where the machine was not measured. */
  roofs: Roof[];
  /** Seconds of some runs on the wall's clock. */
  walls: number[];
  /** The part of the processors' time that other processes used meanwhile; -1.0 where the system does not say. */
  taken: number;
  /** The samples of each thread in the code of kernels; that of thread 0 first, which calls them. */
  threads: number[];
  /** The samples of thread 0 elsewhere: in the thread pool, where it waits for others, and in functions of C. */
  outside: number;
  /** The runtime that was measured beside it; "" for none. */
  peer: string;
  /** Per call the peer's seconds for the same layers, on one thread, -1.0 for none; empty without a peer. */
  peers: number[];
}

/** The memory plan of a program. */
export interface Memory {
  program: number;
  /** Bytes of tensors and workspaces, one arena per concurrent run. */
  arena: number;
  parameters: number;
  /** The most that a kernel takes of the arena for itself. */
  workspace: number;
  /** Column of blocks, as those below: the node that writes it. */
  name: string[];
  /** tensor or workspace. */
  kind: string[];
  offset: number[];
  size: number[];
  /** The call, of the program's calls, that writes the block. */
  first: number[];
  /** The last call that reads it. */
  last: number[];
  set: number[];
}

/** Statistics of the values of layers in one run, in the order of execution. */
export interface Tensors {
  program: number;
  /** The hash of the run's inputs. */
  inputs: string;
  /** The origin of the values that those of the run are held against; "" without any. */
  reference: string;
  layer: number[];
  name: string[];
  dtype: string[];
  shape: number[][];
  /** The minimum of the finite values, like maximum and mean; 0.0 if there are none. */
  minimum: number[];
  maximum: number[];
  mean: number[];
  nan: number[];
  infinite: number[];
  /** Counts of finite values in 32 bins of equal width from minimum to maximum. */
  histogram: number[][];
  /** Up to 32 values, evenly spread over the tensor as the model has it; 0.0 for what is not finite. */
  sample: number[][];
  /** Largest difference from the reference, the largest float where only one is finite; -1.0 without one. */
  error: number[];
  /** The difference from which on a layer departs; -1.0 without a reference. */
  tolerance: number[];
  /** The difference that is one step of a quantised tensor's scale: 1.0 for integers of at most 16 bits, the scale for floats that were dequantised or are quantised next; 0.0 for others. */
  step: number[];
}

/** A layer in two sessions; -1 and -1.0 on the side that lacks it. */
export interface ComparedLayer {
  name: string;
  first: number;
  /** Rows of the layer in both sessions. */
  second: number;
  seconds: [number, number];
  instructions: [number, number];
  /** The bytes of machine code. */
  bytes: [number, number];
  /** Largest difference between the values, where both have them; else -1.0. */
  error: number;
  /** The ground for taking the two for one layer: their name, else a guess by position or by shapes. */
  matched: "" | "name" | "position" | "shape";
  /** The difference in its code: fusion, schedule or loops; "" where there is none, or none is known. */
  reason: string;
}

/** The first step at which two compilations differ. */
export interface Departure {
  /** The pass, or another step: `imported`, `scheduled`. */
  name: string;
  level: string;
  /** The session in which the step changed something. */
  side: "both" | "here" | "there";
  about: string;
  /** The first layer that it treats otherwise. */
  layer: number;
  /** The stage after it; for a step of the other session the last stage that both have. */
  stage: number;
  /** The first lines that differ, of this session. */
  here: string[];
  there: string[];
}

/** Another session beside this one, the largest difference first. */
export interface Comparison {
  other: MadeBy;
  layers: ComparedLayer[];
  /** CPU seconds per run of all kernels. */
  seconds: [number, number];
  /** Seconds by which the two may differ by chance; -1.0 if unknown. */
  noise: number;
  headline: string;
  /** A sentence where few layers have a common name. */
  doubt: string;
  departure: Departure | null;
}

/** A place of a tour. */
export interface TourStep {
  /** The part of the page's address from `#` on that shows it: panes, pins, tab, heat and query. */
  address: string;
  /** A sentence about what is to be seen there. */
  text: string;
}

/** Places to be seen one after the other. */
export interface Tour {
  title: string;
  steps: TourStep[];
}

/** The document. */
export interface Session {
  whence_session: number;
  made_by: MadeBy;
  sources: Source[];
  layers: Layers;
  /** Distinct sets of layers, in order; set 0 is empty: lost. */
  sets: number[][];
  programs: Program[];
  kernels: Kernel[];
  calls: Call[];
  stages: Stage[];
  passes: PassRun[];
  ops: Ops;
  events: Events;
  graphs: Graph[];
  schedules: Schedule[];
  leads: Leads;
  times: Times[];
  memory: Memory[];
  tensors: Tensors[];
  comparison: Comparison | null;
  tours: Tour[];
}

/** The answer to one question. */
export interface Answer {
  about: "time" | "where" | "bound by" | "lines" | "threads" | "memory" | "to try";
  phrases: [string, number, number, number, number][];
}

/** The verdict on a layer of a program, or on a run of all of it. */
export interface Verdict {
  program: number;
  /** The row of the layer; -1: the whole run. */
  layer: number;
  /** CPU seconds per run; -1.0 where nothing was measured. */
  seconds: number;
  /** The part of the run's time. */
  share: number;
  /** True where a part of the seconds is an estimate. */
  estimated: boolean;
  /** The bound of the call that most of the time is in: a term of its roof, overhead or neither; "" where unknown. */
  bound: string;
  /** The part of the time that is below the roof. */
  reached: number;
  answers: Answer[];
}
