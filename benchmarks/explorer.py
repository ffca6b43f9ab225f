"""What the Explorer costs: recording a model, the document, and the page in a real browser.

`python benchmarks/explorer.py [NAME ..]` measures these networks only: `light_resnet50`, `light_densenet121`, `bert` (a
BERT-base at 128 tokens whose twelve layers share their weights) and `graph` (3,000 nodes in 1,000 residual blocks).
`page` measures the page alone, with texts of 100,000 lines in four panes, and layouts of 3,000 and 50,000 nodes.

Recording and compiling are measured in turns, each in a process of its own, on one thread, as seconds of CPU; memory is
the peak of the process. Times of the page are those of the clock on the wall.
"""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median, quantiles
from typing import TYPE_CHECKING, Any, cast

from browser import launched, missing
from explored_models import bert, blocks
from onnx import ModelProto
from synthetic_sessions import session, with_graph

from whence.explorer.report_file import write_report
from whence.explorer.session.document import Session
from whence.explorer.session.file import read

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

MIB = 1 << 20
ROUNDS = 2
LINES, PANES = 100_000, ("relay", "tir", "llvm", "asm")
HOVERS = 100
LAYOUTS = (3_000, 50_000)
_COMPILE = "whence.compile(sys.argv[1], threads=1)"
_RECORD = "write(sys.argv[2], record(sys.argv[1], threads=1))"
_CHILD = """
import resource, sys, time
import whence
from whence.explorer.session.file import write
from whence.exploring.record import record
before = time.process_time()
{}
print(time.process_time() - before, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""
_READY = """() => {
  const { marks = [], app } = globalThis.whence ?? {};
  const shown = marks.filter(mark => mark.name === "pane" || mark.name === "graph");
  const wanted = app?.state.get("panes").length ?? Infinity;
  return shown.length < wanted ? -1 : shown[wanted - 1].at;
}"""
"""When all panes of the page had their content, in milliseconds since the beginning."""
_HOVER = """async ([pane, row]) => {
  const grid = document.querySelectorAll("[data-test=text]")[pane];
  const seen = ({ top, bottom }) => top > 60 && bottom < innerHeight;
  const rows = [...grid.querySelectorAll("[data-row]")].filter(row => seen(row.getBoundingClientRect()));
  const { left, top } = rows[row % rows.length].getBoundingClientRect();
  const where = { bubbles: true, clientX: left + 120, clientY: top + 9 };
  return new Promise((resolve, reject) => {
    let frame = 0;
    requestAnimationFrame(() => (frame = performance.now()));
    const begin = performance.now();
    const under = document.elementFromPoint(where.clientX, where.clientY);
    for (const event of ["pointerover", "pointermove"]) under.dispatchEvent(new PointerEvent(event, where));
    const sync = performance.now() - begin;
    requestAnimationFrame(() => {
      document.body.getBoundingClientRect();
      const took = sync + performance.now() - frame;
      if (document.querySelector("[data-kin]")) resolve(took);
      else reject(new Error("nothing is lit up"));
    });
  });
}"""
"""Milliseconds of script, style and layout after a move of the pointer."""
_UNFOLD = """async () => {
  let longest = 0, last = performance.now(), going = true;
  const watch = () => {
    const now = performance.now();
    longest = Math.max(longest, now - last), last = now;
    if (going) setTimeout(watch);
  };
  watch();
  const count = () => whence.marks.filter(mark => mark.name === "graph").length;
  const next = async press => {
    const before = count();
    press();
    while (count() === before) await new Promise(resolve => setTimeout(resolve, 5));
  };
  await next(() => whence.app.setPane(whence.app.pane().id, { level: "graph", stage: -1 }));
  longest = 0;
  const begin = performance.now();
  await next(() => document.querySelector("[data-test=graph-unfold-all]").click());
  going = false;
  return [performance.now() - begin, longest];
}"""
"""Milliseconds until a graph is laid out with all its groups open, and the longest that the page did not answer."""
_PANES = "count => document.querySelectorAll('[data-test=text]:has([data-row])').length === count"
_ERROR = "() => document.querySelector('[data-test=failure]')?.textContent ?? ''"


NETWORKS: dict[str, Callable[[], ModelProto] | None] = {
    "light_resnet50": None,
    "light_densenet121": None,
    "bert": bert,
    "graph": blocks,
}
"""Name -> what makes it; None: it is shipped."""


def child(code: str, cache: Path, *arguments: str | Path) -> tuple[float, float]:
    """Seconds of CPU, and MiB at the peak, of a fresh interpreter that runs `code`."""
    command = [sys.executable, "-c", _CHILD.format(code), *map(str, arguments)]
    environment = {**os.environ, "WHENCE_CACHE_DIR": str(cache)}
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    seconds, kilobytes = done.stdout.split()
    return float(seconds), int(kilobytes) / 1024


def recording(name: str, model: str, folder: Path) -> Path:
    """Print what recording costs; return the document."""
    path = folder / f"{name}.json"
    for what in ("cold", "from the cache"):
        plain: list[tuple[float, float]] = []
        recorded: list[tuple[float, float]] = []
        for number in range(ROUNDS):
            one, two = (folder / f"{name}-{part}-{number}" for part in ("compile", "record"))
            plain.append(child(_COMPILE, one, model))
            recorded.append(child(_RECORD, two, model, path))
        seconds, memory = zip(*plain, strict=True)
        more, peak = zip(*recorded, strict=True)
        print(
            f"{name}, {what}: compiled in {median(seconds):.2f} s, recorded in {median(more):.2f} s, "
            f"{median(more) / median(seconds):.2f}x; "
            f"memory {median(memory):.0f} MiB, {median(peak) - median(memory):+.0f} MiB"
        )
    data = path.read_bytes()
    print(f"{name}, document: {len(data) / MIB:.1f} MiB, {len(gzip.compress(data, 6)) / MIB:.1f} MiB in gzip")
    return path


def shown(browser: Browser, document: Session, folder: Path, name: str) -> Page:
    """Open the report of a session; print its size, and when the page can be used."""
    path = folder / f"{name}.html"
    write_report(document, path)
    page = browser.new_page(viewport={"width": 1600, "height": 900})
    page.goto(path.as_uri())
    while (at := cast(float, page.evaluate(_READY))) < 0:
        if failure := page.evaluate(_ERROR):
            raise RuntimeError(f"{name}: {failure}")
        page.wait_for_timeout(20)
    size = path.stat().st_size / MIB
    print(f"{name}, page: report of {size:.1f} MiB, interactive after {at / 1000:.2f} s, {heap(page):.0f} MiB of heap")
    return page


def heap(page: Page) -> float:
    """MiB of the page's objects."""
    tools: Any = page.context.new_cdp_session(page)
    return tools.send("Runtime.getHeapUsage")["usedSize"] / MIB


def hovering(page: Page) -> None:
    """Print how long the page works after moves of the pointer."""
    panes = [{"level": level, "stage": number, "call": 0} for number, level in enumerate(PANES, 1)]
    page.evaluate(
        "panes => { whence.app.state.set({ panes: [] }); panes.forEach(pane => whence.app.addPane(pane)); }", panes
    )
    page.wait_for_function(_PANES, arg=len(PANES))
    took = [cast(float, page.evaluate(_HOVER, [at % len(PANES), 7 * at])) for at in range(HOVERS)]
    slow = quantiles(took, n=20)[-1]
    what = f"hover, {len(PANES)} panes of {LINES:,} lines"
    print(f"{what}: {median(took):.1f} ms, p95 {slow:.1f} ms, {heap(page):.0f} MiB of heap")


def laying_out(page: Page, count: int) -> None:
    """Print how long the layout of a graph with all groups open takes."""
    took, longest = cast("list[float]", page.evaluate(_UNFOLD))
    what = f"layout of {count:,} nodes"
    print(f"{what}: {took / 1000:.2f} s; the page answered within {longest:.0f} ms, {heap(page):.0f} MiB of heap")


def main() -> None:
    names = sys.argv[1:] or [*NETWORKS, "page"]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        documents: dict[str, Path] = {}
        for name in names:
            if name in NETWORKS:
                make, model = NETWORKS[name], name
                if make is not None:
                    model = str(folder / f"{name}.onnx")
                    Path(model).write_bytes(make().SerializeToString())
                documents[name] = recording(name, model, folder)
        if reason := missing():
            print(reason)
            return
        with launched() as browser:
            for name, path in documents.items():
                shown(browser, read(path), folder, name).close()
            if "page" in names:
                page = shown(browser, session(LINES), folder, f"{LINES:,} lines")
                hovering(page)
                page.close()
                for count in LAYOUTS:
                    page = shown(browser, with_graph(count), folder, f"{count:,} nodes")
                    laying_out(page, count)
                    page.close()


if __name__ == "__main__":
    main()
