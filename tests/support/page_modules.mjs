// Has node find the page's modules under the names by which they import each other: `whence/graph/layout`.
import { registerHooks } from "node:module";

const PAGE = new URL("../../explorer/page/", import.meta.url);

registerHooks({
  resolve(name, context, next) {
    const own = name.startsWith("whence/") ? new URL(`${name.slice("whence/".length)}.js`, PAGE).href : name;
    return next(own, context);
  },
  load(url, context, next) {
    return next(url, url.startsWith(PAGE.href) ? { ...context, format: "module" } : context);
  },
});
