// The facts of a line that its row shows.

/** @typedef {import("whence/session").SessionModel} SessionModel */
/** @typedef {import("whence/types").At} At */
/** @typedef {import("whence/types").Pane} Pane */
/** @typedef {import("whence/types").StageText} StageText */
/** @typedef {import("whence/heat").LineHeat} LineHeat */

/**
 * @param {SessionModel} model
 * @param {Pane} pane
 * @param {StageText} text
 * @param {LineHeat | null} heat
 * @param {number} line
 * @returns {Omit<import("whence/text/row").LineFacts, "units">}
 */
export function lineFacts(model, pane, text, heat, line) {
  const layers = model.layersOfLine(pane.stage, line, pane.call);
  return {
    line,
    text: text.lines[line] ?? "",
    layers,
    exact: text.exact.length === 0 || text.exact[line] === 1,
    output: model.label(text.outputs.get(line) ?? [], ""),
    lost: lostBy(model, pane.stage, text, line, layers),
    heat: heat ? (heat.shares[line] ?? 0) : null,
    signed: heat?.signed ?? false,
    hottest: heat?.hottest ?? 1,
  };
}

/**
 * Return who lost the layers of a line; "" where they are there, or where there is no op.
 * @param {SessionModel} model
 * @param {number} stage
 * @param {StageText} text
 * @param {number} line
 * @param {number[]} layers
 */
function lostBy(model, stage, text, line, layers) {
  const losers = model.losers(layers);
  if (losers.length > 0) return losers.join(", ");
  const relay = model.stageRow(stage).kernel < 0;
  return relay && text.set[line] === 0 ? "no pass says where this comes from" : "";
}

/**
 * Return where a line is, as pins keep it.
 * @param {SessionModel} model
 * @param {Pane} pane
 * @param {number} line
 * @returns {At}
 */
export function lineAt(model, { stage, call }, line) {
  return { stage, line, call, tir: model.tirLine(stage, line) };
}
