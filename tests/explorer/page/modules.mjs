// Names like "whence/dom" are modules of the page, as its import map has it.
import { registerHooks } from "node:module";

const PAGE = new URL("../../../explorer/page/", import.meta.url);

registerHooks({
  resolve(name, context, next) {
    if (!name.startsWith("whence/")) return next(name, context);
    return { url: new URL(`${name.slice("whence/".length)}.js`, PAGE).href, format: "module", shortCircuit: true };
  },
});
