// Shapes of queries: tables as the session's part has them, and plans.

export interface Column {
  name: string;
  /** text, count, number, s, bytes or share. */
  unit: string;
  about: string;
  /** True where the numbers of several rows add up. */
  adds: boolean;
}

/** Texts, of which there may be none or several, or a number, null where it is missing. */
export type Value = string[] | number | null;
/** A stage and a line of it, from 0; line -1 is the stage as a whole. */
export type Place = [number, number];

export interface TableColumn extends Column {
  /** The distinct values of a column of texts; `values` are their numbers. */
  texts?: string[][];
  /** Absent for the table of lines. */
  values?: (number | null)[];
}

export interface Table {
  about: string;
  /** The number of leading columns that tell rows apart. */
  names: number;
  /** The column by which `top` orders. */
  rank: string;
  columns: TableColumn[];
  /** Per row the layers that it stands for. */
  layers?: number[][];
  places?: (Place | null)[];
}

export interface Tables {
  /** Unit after a number -> what it is multiplied by. */
  units: { [name: string]: number };
  changes: string[];
  measures: string[];
  passes: string[];
  /** True where another session is beside this one. */
  compared: boolean;
  /** The last stages of each level. */
  last: number[];
  /** Pass -> the stages after it. */
  after: { [pass: string]: number[] };
  /** Stage -> ops, each with what the step before it did with them. */
  changed: { [stage: number]: [number, ...string[]][] };
  /** Stage -> lines (from 1), their samples and seconds. */
  samples: { [stage: number]: [number, number, number][] };
  tables: { [name: string]: Table };
}

/** A condition: and, or, not, has, or an operator, its column and its value. */
export type Tree = ["and" | "or", Tree, Tree] | ["not", Tree] | ["has", string] | [string, string, string | number | string[]];

/** A query, understood. */
export interface Plan {
  table: string;
  measure: string;
  against: boolean;
  after: string;
  where: Tree | null;
  by: string[];
  show: string[];
  order: string;
  direction: string;
  top: number;
}

/** Rows of a table, by column. */
export interface Rows {
  columns: Map<string, Value[]>;
  layers: readonly (readonly number[])[];
  places: readonly (Place | null)[];
}

export interface AnswerRow {
  cells: Value[];
  layers: number[];
  places: Place[];
}

export interface Answer {
  subject: string;
  columns: Column[];
  rows: AnswerRow[];
  /** The number of rows that fit, before groups and `top`. */
  count: number;
}
