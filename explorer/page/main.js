// The page: opens the session and puts the parts together.

import { keepAddress, readAddress } from "whence/address";
import { createApp, firstPanes } from "whence/app";
import { checkHead } from "whence/check";
import { DockBar } from "whence/dock";
import { openWithPins } from "whence/dock/verdict";
import { h } from "whence/dom";
import { followPins, followProgram } from "whence/follow";
import { buildFrame } from "whence/frame";
import { showHeader } from "whence/header";
import { Lineage } from "whence/lineage";
import { marks, note } from "whence/marks";
import { Panes } from "whence/panes";
import { jobs } from "whence/run/watch";
import { SessionModel } from "whence/session";
import { shellActions } from "whence/shell";
import { keepTheme } from "whence/theme";
import { showTours } from "whence/tour";
import { openSession } from "whence/transport";
import { viewActions } from "whence/views";

const root = /** @type {{whence?: object}} */ (window);
root.whence = { marks };

/** @param {unknown} error */
function fail(error) {
  const text = error instanceof Error ? error.message : String(error);
  document.body.replaceChildren(h("p", { class: "failure", role: "alert", "data-test": "failure" }, text));
}

async function start() {
  const api = await openSession();
  checkHead(api.head);
  note("head");
  const model = new SessionModel(api);
  const frame = buildFrame();
  /** @type {Panes | null} */
  let panes = null;
  const app = createApp(model, {
    announce: frame.announce,
    view: (id) => panes?.view(id),
  });
  panes = new Panes(app, frame.panes);
  shellActions(app);
  viewActions(app);
  const kept = readAddress(location.hash, model);
  if (kept.panes?.length) app.state.restore(kept);
  else app.state.set({ ...kept, panes: firstPanes(app, innerWidth), focus: 1 });
  followPins(app);
  followProgram(app);
  openWithPins(app);
  keepTheme(app);
  showTours(app, frame.tour);
  showHeader(app, frame.header);
  new Lineage(app, frame.lineage);
  new DockBar(app, frame.dock);
  keepAddress(app.state, model);
  if (api.served) jobs.follow(app);
  document.addEventListener("keydown", (event) => app.actions.press(event, app));
  document.title = `${model.document.made_by.model} - Whence`;
  root.whence = { marks, app };
  note("interactive");
}

start().catch(fail);
