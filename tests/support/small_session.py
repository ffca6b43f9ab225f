"""A session document written by hand: a row or more in every table, small enough to be read."""

from __future__ import annotations

from dataclasses import replace

from whence.explorer.session import document as d
from whence.explorer.session import films as f
from whence.explorer.session.leads import add_leads
from whence.explorer.session.places import with_tour


def below(name: str, level: d.Level, texts: list[str], sets: d.Runs, ops: d.Runs | None = None) -> d.Stage:
    """A stage of the kernel."""
    return d.Stage(name, level, 0, 0, -1, len(texts), None, body(texts, sets, ops or [-1, len(texts)]))


def body(texts: list[str], sets: d.Runs, ops: d.Runs) -> d.Body:
    """A text that is no edit of another."""
    return d.Body(-1, [(0, 0, texts)], sets, ops, [], [], [])


def named_session(name: str) -> d.Session:
    """Return the small session with this name wherever a name of a model or a user can be."""
    session = small_session()
    layers, nodes, kernel, film = session.layers, session.graphs[0].nodes, session.kernels[0], session.schedules[0]
    session.made_by = replace(session.made_by, command=f"whence explore {name}", model=name, notes=[name])
    session.sources[0].file = session.graphs[0].title = kernel.symbol = film.text = name
    layers.name[0] = layers.type[0] = layers.scope[0] = session.calls[0].name = session.stages[0].name = name
    nodes.label[1] = nodes.about[1] = nodes.scope[1] = session.graphs[0].edges.text[0] = name
    nodes.attributes[1] = [(name, name)]
    film.arguments[0] = (name, name)
    film.stages[0] = replace(film.stages[0], label=name, compute=[name], reads=[name])
    film.frames[0] = replace(film.frames[0], lines=1, error=name, changed=[name])
    film.frames[1].lines = 1
    session.stages[0].body.edits = [(0, 0, [name] * 4)]
    session.ops.name[0] = session.events.what[0] = session.events.reason[0] = session.tensors[0].name[0] = name
    session.programs[0].about = session.memory[0].name[0] = name
    session.tours[0].title = session.tours[0].steps[0].text = name
    return session


def small_session() -> d.Session:
    """Return the session of `relu(conv(x))` and the same once more on its result: two calls of one kernel."""
    made_by = d.MadeBy(
        "0.1", "whence explore m.onnx", "m.onnx", "ab" * 32, "llvm", 3, 2, "cpu", {"xdsl": "0.74"}, 1.5, []
    )
    layers = d.Layers(
        ["block/conv1", "block/relu1", "conv2", "relu2", "weight", "lost in tidy"],
        ["layer"] * 4 + ["tensor", "lost"],
        ["Conv", "Relu", "Conv", "Relu", "", ""],
        [0, 0, 0, 0, 0, -1],
        [0, 1, 2, 3, 4, -1],
        ["block", "block", "", "", "", ""],
        [0, 1, 2, 3, 0, 5],
        [["net.py:7  return relu(self.conv(x))", "net.py:12  x = self.block(x)"], [], [], [], [], []],
    )
    sets = [[], [0], [1], [2], [3], [0, 1], [2, 3], [0, 4], [5]]
    slots = [[0], [1], [0, 1]]
    tir = ["for i in range(64):", "    T[i] = conv", "    R[i] = max(T[i], 0)"]
    listing = d.Stage(
        "m.onnx",
        "model",
        -1,
        -1,
        -1,
        4,
        None,
        body(
            ["0 Conv block/conv1", "1 Relu block/relu1", "2 Conv conv2", "3 Relu relu2"],
            [1, 1, 2, 1, 3, 1, 4, 1],
            [-1, 4],
        ),
    )
    imported = d.Stage(
        "imported",
        "relay",
        0,
        -1,
        -1,
        4,
        None,
        body(
            ["%0 = nn.conv2d(%x)", "%1 = nn.relu(%0)", "%2 = nn.conv2d(%1)", "%3 = nn.relu(%2)"],
            [7, 1, 2, 1, 3, 1, 4, 1],
            [0, 1, 1, 1, 2, 1, 3, 1],
        ),
    )
    imported.body.outputs = [(1, 0), (2, 1), (3, 2), (4, 3)]
    fused = d.Stage(
        "fuse-ops",
        "relay",
        0,
        -1,
        1,
        2,
        d.Diff([4, 5], [0, 1, 2, 3], [], []),
        d.Body(1, [(0, 4, ["%0 = fused(%x)", "%1 = fused(%0)"])], [5, 1, 6, 1], [4, 1, 5, 1], [(1, 1), (2, 3)], [], []),
    )
    stages = [
        listing,
        imported,
        fused,
        below("lowered", "te", ["T = conv", "R = relu"], [0, 1, 1, 1]),
        below("schedule", "schedule", ["s[R].vectorize(i)"], [1, 1]),
        below("tir-simplify", "tir", tir, [2, 1, 0, 1, 1, 1], [6, 1, 7, 1, 8, 1]),
        below("llvm", "llvm", ["%v = fmul", "%w = fmax"], [0, 1, 1, 1]),
        below("asm", "asm", ["vmulps", "vmaxps", "ret"], [0, 1, 1, 1, -1, 1]),
    ]
    stages[6].body.tir = [2, 1, 3, 1]
    stages[7].body.tir = [2, 1, 3, 1, 0, 1]
    stages[7].body.exact = [1, 1, 0, 2]
    passes = [
        d.PassRun("fuse-ops", "fuse-ops", 0, -1, 2, True, 0.25, "passes/relay/fuse_ops.py:30"),
        d.PassRun("infer-type", "infer-type", 0, -1, 2, False, 0.01, "passes/relay/infer_type.py:9"),
        d.PassRun("tidy", "tidy", 0, -1, 2, False, -1.0, ""),
    ]
    ops = d.Ops(
        ["nn.conv2d", "nn.relu", "nn.conv2d", "nn.relu", "call", "call", "for", "store", "store"],
        [7, 2, 3, 4, 5, 6, -1, -1, -1],
        [-1] * 9,
        [-1] * 9,
    )
    events = d.Events(
        [-1, 0, 0, 2],
        ["import", "fuse-ops", "fuse-ops", "tidy"],
        ["", "FuseGroup", "FuseGroup", ""],
        ["", "passes/relay/fuse_ops.py:41", "passes/relay/fuse_ops.py:41", ""],
        ["", "an elementwise op follows", "an elementwise op follows", "laundered"],
        ["Conv -> nn.conv2d", "nn.conv2d, nn.relu -> call", "nn.conv2d, nn.relu -> call", "call -> nothing"],
        [[], [0, 1], [2, 3], [5]],
        [[0], [4], [5], []],
        [1, 5, 6, 6],
        [1, 5, 6, 8],
    )
    nodes = d.Nodes(
        ["x", "Conv", "Relu", "Conv", "Relu"],
        ["float32[64]", "", "", "", ""],
        ["input", "node", "node", "node", "output"],
        ["", "block", "block", "", ""],
        [0, 1, 2, 3, 4],
        [-1] * 5,
        [10.0, 10.5, 11, 12, 13],
        [0.0, 40, 80, 120, 160],
        [60.0] * 5,
        [30.0] * 5,
        [[], [("kernel_shape", "[3, 3]")], [], [], []],
        [0, 128, 64, 128, 64],
        [0, 512, 512, 512, 512],
    )
    paths = [[], [], [10.0, 80.0, 10.0, 110.0], []]
    edges = d.Edges([0, 1, 2, 3], [1, 2, 3, 4], ["float32[64]"] * 4, paths, [0] * 4, ["X", "X", "X", ""])
    loop = f.LoopRow("i", "64", "serial", "kDataPar", False, ["R"], [], 0, 0)
    variables = [f.Variable("i", "64", "kDataPar")]
    tree = f.TreeStage("R", "root", "", "", ["max(T[i], 0)"], [loop], variables, [], [1], ["T"], ["float32[64]"])
    vectors = replace(tree, loops=[replace(loop, kind="vectorized", type="kVectorized")])
    cost = f.Cost(1e-6, 192, 1024, 1e-6)
    more = [f.NextPrimitive('s["R"].vectorize(i)', ["s[R].vectorize(i)"], cost)]
    edits: list[d.Edit] = [(0, 1, ["for i in vectorized(64):"])]
    frames = [
        f.Frame("", "", 1, [0], [], True, [(0, 0, tir)], "", cost, more),
        f.Frame("s[R].vectorize(i)", "schedules/x.py:8", 2, [1], ["R"], True, edits, "", None, []),
    ]
    film = d.Schedule(0, "sequence {\ns[R].vectorize(i)\n}", [("x", "float32[64]")], [tree, vectors], frames)
    times = d.Times(
        0,
        10,
        [0.002, 0.001],
        [(0, 0.0015, True), (1, 0.0005, True), (2, 0.001, False), (-1, 0.0, False)],
        [[(0, 0.0015), (1, 0.0005)], [(2, 0.001)]],
        [d.LineTimes(0, 5, [2, 3], [30, 10])],
        d.Timeline([0.0, 0.002], [0.002, 0.003], [0, 0], [0, 1]),
        [
            d.Roof(d.Term("products", 1e8, 1e11), [d.Term("L2", 1e6, 1e10)]),
            d.Roof(d.Term("products", 1e6, 1e11), [d.Term("memory", 9e6, 1e10)], 1e-6),
        ],
        [0.0031, 0.003, 0.004],
        0.25,
        [60, 20],
        10,
        "onnxruntime",
        [0.0015, -1.0],
    )
    knobs = d.Knobs(12, 0.002, 0.0015, "rows = 4")
    memory = d.Memory(
        0, 512, 256, 128, ["fused_0", "fused_1"], ["tensor", "workspace"], [0, 256], [256, 256], [0, 1], [1, 1], [5, 6]
    )
    counts = [1] * 32
    tensors = d.Tensors(
        0,
        "6f1d",
        "onnxruntime",
        [1, 3],
        ["relu1:0", "relu2:0"],
        ["float32"] * 2,
        [[64], [64]],
        [0.0, -1.5],
        [2.0, 3.0],
        [0.5, 0.25],
        [0, 2],
        [0, 0],
        [counts, counts],
        [[0.0, 1.0] * 16, [-1.5, 3.0] * 16],
        [1e-6, 0.5],
        [1e-4, 1e-4],
        [0.0, 0.25],
    )
    compared = d.ComparedLayer("block/conv1", 0, 0, (0.0015, 0.003), (2, 4), (16, 32), -1.0, "name", "other loops")
    departs = d.Departure("fuse-ops", "relay", "both", "ran as fuse-ops, and as fuse-ops{n=1}", 0, 2, ["a"], ["b"])
    session = d.Session(
        d.VERSION,
        made_by,
        [d.Source("m.onnx", "onnx", 0, 0)],
        layers,
        sets,
        [d.Program("main", "static", "all sizes are numbers")],
        [d.Kernel("fused_conv_relu", 0, "", slots, [3, 4, 5, 6, 7], 0, 96, 3, "", "", knobs)],
        [d.Call("fused_0", 0, 0, [7, 2], 5, 192, 1024), d.Call("fused_1", 0, 0, [3, 4], 6, 192, 1024)],
        stages,
        passes,
        ops,
        events,
        [d.Graph("m.onnx", "model", -1, nodes, edges)],
        [film],
        d.Leads(),
        [times],
        [memory],
        [tensors],
        d.Comparison(made_by, [compared], (0.003, 0.004), 0.0005, "25.0 % faster.", "", departs),
    )
    add_leads(session, {})
    conv2: dict[str, object] = {"panes": ("relay", "tir"), "layer": "conv2", "dock": "verdict"}
    return with_tour(session, "Two calls", [("All of it.", {}), ("The second one.", conv2)])
