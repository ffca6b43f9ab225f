// Prints what the page answers to queries: `asked_queries.mjs SESSION TABLES QUERIES`, each a file of JSON.
import { readFileSync } from "node:fs";
import { answer } from "whence/query/answer";
import { QueryError } from "whence/query/tokens";
import { SessionModel } from "whence/session";

const [session, tables, queries] = process.argv.slice(2).map((path) => JSON.parse(readFileSync(path, "utf8")));
const model = new SessionModel({ head: session, stageBody: async (number) => session.stages[number].body });
const parts = (rows, name) => rows.map((row) => row[name]);
const answers = [];
for (const query of queries) {
  try {
    const { subject, columns, rows, count } = await answer(model, tables, query);
    answers.push({ query, subject, count, columns: parts(columns, "name"), rows: parts(rows, "cells"), layers: parts(rows, "layers"), places: parts(rows, "places") });
  } catch (error) {
    if (!(error instanceof QueryError)) throw error;
    answers.push({ query, error: error.message, at: error.at });
  }
}
process.stdout.write(JSON.stringify(answers));
