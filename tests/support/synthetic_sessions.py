"""Session documents of any size, made without compiling: long texts in every pane, and graphs of many nodes."""

from __future__ import annotations

import random
from collections.abc import Iterator

from whence.explorer.session.document import (
    VERSION,
    Body,
    Call,
    Edges,
    Events,
    Graph,
    Kernel,
    Layers,
    Level,
    MadeBy,
    Nodes,
    Ops,
    Program,
    Session,
    Source,
    Stage,
)
from whence.explorer.session.leads import add_leads

_LAYERS_OF_A_LINE = 2
_RUN = 7
"""Lines, at most, of one set in a row."""
_TEXTS: dict[Level, str] = {
    "model": "{0:>6} Conv layer{0}",
    "relay": "  %{0} = relay.nn.conv2d %{1}, %w{0} {{padding = [1, 1]}} : tensor<1x64x56x56xf32>",
    "tir": "      for i{0} in vectorized(16) {{ conv[i{0}] = conv[i{0}] + data[i{1}] * weight[i{0}] }}",
    "llvm": "  %{0} = call <16 x float> @llvm.fma.v16f32(<16 x float> %{1}, <16 x float> %w, <16 x float> %c)",
    "asm": "  {0:6x}:  vfmadd231ps zmm{1}, zmm1, dword ptr [rdi + {0}]",
}


def session(lines: int, layers: int = 1000, seed: int = 0) -> Session:
    """Return a session of a kernel with one call, and `lines` lines at each of the levels relay, tir, llvm and asm."""
    rng = random.Random(seed)
    rows = list(range(layers))
    sets = [list[int](), *([row] for row in rows), *(sorted(rng.sample(rows, _LAYERS_OF_A_LINE)) for _ in rows)]
    slots = [[slot] for slot in range(layers)]
    stages = [
        _stage("model", layers, runs=[number for row in rows for number in (row + 1, 1)], ops=[-1, layers], kernel=-1),
        _stage("relay", lines, [*_runs(rng, lines, len(sets))], _ops(lines), kernel=-1),
        *(_stage(level, lines, [*_runs(rng, lines, layers)], _ops(lines), 0) for level in _KERNEL_LEVELS),
    ]
    everything = sets.index([0])
    result = Session(
        whence_session=VERSION,
        made_by=MadeBy("0", "", "synthetic.onnx", "", "x86_64", 3, 1, "", {}, 1.0, []),
        sources=[Source("synthetic.onnx", "onnx", 0, -1)],
        layers=_layers(layers),
        sets=sets,
        programs=[Program("main", "static", "")],
        kernels=[Kernel("fused_0", 0, "", slots, [2, 3, 4], -1, lines, lines, "")],
        calls=[Call("fused_0", 0, 0, [row + 1 for row in rows], everything, 1, 1)],
        stages=stages,
        passes=[],
        ops=Ops(["nn.conv2d"] * lines, [everything] * lines, [-1] * lines, [0] * lines),
        events=Events(),
        graphs=[],
        schedules=[],
    )
    add_leads(result, {})
    return result


def with_graph(nodes: int, seed: int = 0) -> Session:
    """Return a session whose model is a graph of that many nodes, each a layer: blocks with branches that join."""
    result = session(nodes, nodes, seed)
    result.graphs.append(graph(nodes, seed))
    result.sources[0].graph = 0
    return result


def graph(nodes: int, seed: int = 0) -> Graph:
    """Return a graph without positions: a chain in which every fourth node reads an earlier one, too."""
    rng = random.Random(seed)
    edges = [(number - 1, number) for number in range(1, nodes)]
    edges += [(max(0, number - rng.randint(2, 12)), number) for number in range(2, nodes, 4)]
    scopes = [f"stage{number // 300}/block{number // 30}" for number in range(nodes)]
    table = Nodes(
        label=["Conv" if number % 2 else "Relu" for number in range(nodes)],
        about=["64x64x3x3"] * nodes,
        kind=["node"] * nodes,
        scope=scopes,
        set=[number + 1 for number in range(nodes)],
        call=[-1] * nodes,
        attributes=[[] for _ in range(nodes)],
        flops=[rng.randint(0, 1 << 30) for _ in range(nodes)],
        bytes=[rng.randint(0, 1 << 20) for _ in range(nodes)],
    )
    edges.sort()
    sources, targets = [source for source, _ in edges], [target for _, target in edges]
    paths, outputs = [list[float]() for _ in edges], [0] * len(edges)
    columns = Edges(sources, targets, ["float32[1, 64, 56, 56]"] * len(edges), paths, outputs, [""] * len(edges))
    return Graph("model", "model", 0, table, columns)


_KERNEL_LEVELS: tuple[Level, ...] = ("tir", "llvm", "asm")


def _layers(count: int) -> Layers:
    rows = list(range(count))
    scopes = [f"stage{row // 300}/block{row // 30}" for row in rows]
    names = [f"{scope}/conv{row}" for row, scope in enumerate(scopes)]
    return Layers(
        names, ["layer"] * count, ["Conv"] * count, [0] * count, rows, scopes, rows.copy(), [[] for _ in rows]
    )


def _runs(rng: random.Random, lines: int, values: int) -> Iterator[int]:
    left = lines
    while left:
        count = min(left, rng.randint(1, _RUN))
        left -= count
        yield from (rng.randrange(values), count)


def _ops(lines: int) -> list[int]:
    return [number for line in range(lines) for number in (line, 1)]


def _stage(level: Level, lines: int, runs: list[int], ops: list[int], kernel: int) -> Stage:
    text = [_TEXTS[level].format(line, line // 2) for line in range(lines)]
    tir = [1, lines] if level in ("llvm", "asm") else []
    exact = [1, lines // 2, 0, lines - lines // 2] if level == "asm" else []
    body = Body(-1, [(0, 0, text)], runs, ops, [(1, 0)] if level == "relay" else [], tir, exact)
    return Stage("lowered", level, 0, kernel, -1, lines, None, body)
