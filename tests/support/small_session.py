"""A session document written by hand: a layer, a kernel, a stage of each kind of text, a schedule; no compiler runs."""

from __future__ import annotations

from whence.explorer.session.document import (
    VERSION,
    Body,
    Call,
    Diff,
    Edges,
    Events,
    Frame,
    Graph,
    Kernel,
    Layers,
    Level,
    LoopRow,
    MadeBy,
    Nodes,
    Ops,
    PassRun,
    Program,
    Schedule,
    Session,
    Source,
    Stage,
    TreeStage,
)


def small_session(name: str = "conv1") -> Session:
    """Return a session in which everything that a model or a user names is called `name`."""
    made = MadeBy("0.1", f"whence explore {name}", name, "", "native", 3, 1, "cpu", {"numpy": "2"}, 1.0, [name])
    layers = Layers([name, f"{name}:0"], ["layer", "tensor"], [name, ""], [0, 0], [0, -1], [name, name], [0, 0])
    tree = TreeStage(
        name, "root", "global", name, [LoopRow(name, "8", "serial", False, [name], [name], 0)], [0], [name]
    )
    film = Schedule(0, name, [Frame(name, "schedule.py:1", [tree], [name], [(0, 0, [name, "}"])], "", None, [])])
    nodes = Nodes([name], [name], ["node"], [name], [1], [0], [0.0], [0.0], [80.0], [20.0], [[(name, name)]], [8], [8])
    return Session(
        VERSION,
        made,
        [Source(name, "onnx", 0, 0)],
        layers,
        [[], [0]],
        [Program("main", "static", name)],
        [Kernel(name, 0, "", [[0]], [2], 0, 64, 8)],
        [Call(name, 0, 0, [1], 1, 8, 8)],
        [_stage("model", [name]), _stage("relay", [f"%0 = {name}"]), _stage("tir", [name, "}"], kernel=0)],
        [PassRun("relay-fuse-ops", "relay-fuse-ops", 0, -1, 1, True, 0.1, "passes/relay/fuse_ops.py:1")],
        Ops([name], [1], [-1], [-1]),
        Events([0], ["relay-fuse-ops"], [name], [""], [name], [name], [[0]], [[0]], [1], [1]),
        [Graph(name, "model", 0, nodes, Edges())],
        [film],
    )


def _stage(level: Level, lines: list[str], kernel: int = -1) -> Stage:
    count = len(lines)
    body = Body(-1, [(0, 0, lines)], [0 if kernel >= 0 else 1, count], [0, count], [(1, 0)], [], [])
    return Stage("imported", level, 0, kernel, -1, count, Diff([0], [], [], []), body)
