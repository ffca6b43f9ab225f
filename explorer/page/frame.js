// The frame of the page: header, panes, lineage, dock, and the place where it speaks.

import { h } from "whence/dom";

const SHOWN = 4000;

/** Build the frame into the document and return its parts. */
export function buildFrame() {
  const header = h("header", { id: "header", role: "banner" });
  const tour = h("nav", { id: "tour", "aria-label": "Tour", hidden: true });
  const panes = h("main", { id: "panes", "aria-label": "Panes" });
  const lineage = h("nav", { id: "lineage", "aria-label": "Lineage" });
  const dock = h("section", { id: "dock", "aria-label": "Dock" });
  const said = h("p", { id: "said", role: "status", "aria-live": "polite", "data-test": "said" });
  document.body.append(h("div", { id: "page" }, header, tour, panes, lineage, dock), said);
  let timer = 0;
  /** @param {string} text */
  const announce = (text) => {
    said.textContent = text;
    said.classList.add("shown");
    clearTimeout(timer);
    timer = setTimeout(() => said.classList.remove("shown"), SHOWN);
  };
  return { header, tour, panes, lineage, dock, announce };
}
