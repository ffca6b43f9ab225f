"""The tours of the gallery: each answers the question that is its title, with the names and times of the session."""

from __future__ import annotations

from collections.abc import Sequence

from gallery.facts import layers, needs, slowest, time_of
from whence.explorer.session.document import Session
from whence.explorer.session.places import Step


def batch_norms(session: Session) -> Sequence[Step]:
    """ResNet: from the model to one kernel."""
    norms, convolutions = layers(session, "BatchNormalization"), layers(session, "Conv")
    norm, convolution = norms[1], convolutions[1]
    return (
        (
            f"The model has {len(norms)} batch norms. This is the second one, in the graph and in Relay as imported.",
            {"panes": ("graph", "relay:imported"), "layer": norm},
        ),
        (
            "A pass unpacks each into multiplications and additions. Green lines are new, and si= names their layer.",
            {"panes": ("diff:simplify-inference",), "layer": norm},
        ),
        (
            "Where did it go? Later passes fold its scale into the weights of the convolution before it.",
            {"panes": ("relay:imported", "relay"), "layer": norm, "beside": convolution, "dock": "where"},
        ),
        (
            "At last one kernel computes the convolution (A), and what is left of the batch norm (B) is an addition.",
            {"panes": ("relay", "tir", "asm"), "layer": convolution, "beside": norm},
        ),
    )


def slow_end(session: Session) -> Sequence[Step]:
    """MobileNet: the last layers, and what bounds them."""
    convolution, dense = [name for name in layers(session, "Conv", "Gemm") if not name.startswith("/features")][-2:]
    early = slowest(session, [name for name in layers(session, "Conv") if "features.24" in name])[0]
    return (
        (
            "The graph is coloured by time. The end (A) is hot, though its image has 3 x 3 pixels.",
            {"panes": ("graph", "relay:imported"), "heat": "time", "layer": convolution},
        ),
        (
            "The table sums the layers of each block. The end has no scope: its row has no name.",
            {"panes": ("graph", "tir"), "heat": "time", "query": "time by scope"},
        ),
        (
            f"This 1x1 convolution takes {time_of(session, convolution)}. {_needs(session, convolution)} "
            "It has 410,000 weights, and each is read for 9 pixels.",
            {"panes": ("graph", "tir", "asm"), "layer": convolution, "dock": "verdict"},
        ),
        (
            f"The dense layer takes {time_of(session, dense)}. {_needs(session, dense)} It reads 5 MB of weights, and "
            "uses each once.",
            {"panes": ("graph", "tir", "asm"), "layer": dense, "dock": "verdict"},
        ),
        (
            f"A 1x1 convolution of an early block (B) takes {time_of(session, early)}. {_needs(session, early)} "
            "Hundreds of pixels share each of its weights, so the core mostly multiplies.",
            {"panes": ("graph", "tir"), "layer": dense, "beside": early, "dock": "verdict"},
        ),
        (
            "So the end is slow because few pixels share many weights. The last line of the verdict says what another "
            "schedule would gain; fewer bytes gain more: int8, fewer channels, or a batch that shares the weights.",
            {"panes": ("graph", "asm"), "layer": dense, "dock": "verdict", "heat": "bytes"},
        ),
    )


def _needs(session: Session, name: str) -> str:
    products, moved = needs(session, name)
    return f"Of that its products need {products:.0f} % at least, and its bytes {moved:.0f} %."


def encoder(session: Session) -> Sequence[Step]:
    """BERT: time by operator, the slowest product, its calls."""
    product = slowest(session, layers(session, "MatMul"))[0]
    softmax = layers(session, "Softmax")[0]
    return (
        ("Twelve equal layers, folded by their names and coloured by time.", {"panes": ("graph",), "heat": "time"}),
        (
            "Time by operator: nearly all of it is in matrix products.",
            {"panes": ("graph", "relay"), "query": "time by op"},
        ),
        (
            f"The slowest product takes {time_of(session, product)}. The verdict says what bounds it, and which lines.",
            {"panes": ("relay", "tir", "asm"), "layer": product, "dock": "verdict"},
        ),
        (
            "Equal layers share a kernel: the lists above its text choose one of its calls. This is the first softmax.",
            {"panes": ("relay", "tir"), "layer": softmax, "dock": "verdict"},
        ),
        ("Kernel calls on two threads. Arrow keys go from call to call.", {"panes": ("calls",), "dock": "timeline"}),
    )


def token(session: Session) -> Sequence[Step]:
    """Llama: weights are read once per token."""
    product = slowest(session, layers(session, "MatMul"))[0]
    cache = layers(session, "Concat")[1]
    return (
        ("One token goes through four layers. Weights are lines in the boxes.", {"panes": ("graph", "relay:imported")}),
        (
            f"The slowest layer takes {time_of(session, product)}: one row times a matrix. {_needs(session, product)}",
            {"panes": ("graph", "tir", "asm"), "layer": product, "dock": "verdict"},
        ),
        (
            "The cache of keys grows by a concatenation.",
            {"panes": ("graph", "relay", "tir"), "layer": cache, "dock": "where"},
        ),
        ("What the run has in memory, call by call.", {"panes": ("calls",), "dock": "memory"}),
    )


def integers(session: Session) -> Sequence[Step]:
    """int8: from quantised layers to the instructions."""
    convolution = slowest(session, layers(session, "CONV_2D"))[0]
    return (
        (
            "Every layer reads and writes int8. The graph has the scale of each tensor.",
            {"panes": ("graph", "relay:imported"), "layer": convolution},
        ),
        (
            "Passes make integer arithmetic of the quantised operators.",
            {"panes": ("relay:imported", "relay"), "layer": convolution},
        ),
        (
            "Its machine code by opcode: look for products of integers (vpmaddwd, vpdpbusd).",
            {"panes": ("tir", "asm"), "layer": convolution, "query": "lines where opcode~vp by opcode order time"},
        ),
        (
            "The values of each tensor in one run, as the integers that they are.",
            {"panes": ("graph",), "dock": "tensors"},
        ),
    )


def detector(session: Session) -> Sequence[Step]:
    """YOLO: the share of all that is no convolution."""
    rest = slowest(session, {name for name in layers(session) if name not in layers(session, "Conv")})[0]
    last = layers(session)[-1]
    return (
        ("Three scales of features meet at the end.", {"panes": ("graph",), "heat": "time"}),
        ("Time by operator: convolutions come first.", {"panes": ("graph", "relay"), "query": "time by op"}),
        (
            f"The slowest layer that is none takes {time_of(session, rest)}.",
            {"panes": ("graph", "relay", "tir"), "layer": rest, "dock": "verdict"},
        ),
        (
            "The last layer joins boxes and classes.",
            {"panes": ("graph", "relay", "tir"), "layer": last, "dock": "where"},
        ),
    )


def recurrent(session: Session) -> Sequence[Step]:
    """Deep Speech: a step waits for the one before it."""
    gru = slowest(session, layers(session, "GRU"))[0]
    return (
        ("Convolutions of the spectrogram, then GRUs in both directions.", {"panes": ("graph",), "heat": "time"}),
        (
            f"A GRU takes {time_of(session, gru)}.",
            {"panes": ("graph", "relay", "tir"), "layer": gru, "dock": "verdict"},
        ),
        (
            "Each step needs the state of the step before, so its loop over time stays in order.",
            {"panes": ("te", "tir"), "layer": gru},
        ),
        ("On the timeline the second thread has gaps, where a GRU steps.", {"panes": ("calls",), "dock": "timeline"}),
    )


def trees(session: Session) -> Sequence[Step]:
    """A forest: one layer, one kernel."""
    (ensemble,) = layers(session, "TreeEnsembleRegressor")
    return (
        ("The model is one node, whose attributes are the trees.", {"panes": ("graph", "relay:imported")}),
        ("Trees are tables, and a row of features walks down each.", {"panes": ("te", "tir"), "layer": ensemble}),
        (
            f"It takes {time_of(session, ensemble)}; these are its hottest instructions.",
            {"panes": ("tir", "asm"), "layer": ensemble, "dock": "verdict"},
        ),
    )


_PRODUCT = {
    "naive": "The plain triple loop: each step down a column of B touches another cache line.",
    "tiled": "Tiles of 8 x 32 are finished one by one. Alone this gains little.",
    "vectorized": "The reduction moves outside, and the innermost loop is vectors.",
    "cached": "The tile has a buffer of its own, which is written back once.",
    "registers": "Its loops are unrolled, so the buffer becomes registers.",
    "packed": "B is packed in the order in which it is read.",
    "unrolled": "Four steps of the reduction are unrolled, too.",
    "parallel": "Threads share the outer loop; here there is one.",
}


def product(session: Session) -> Sequence[Step]:
    """Eight schedules: each with its time."""
    steps: list[Step] = []
    for number, (program, times) in enumerate(zip(session.programs, session.times, strict=True)):
        taken = sum(times.calls)
        speed = f"{2 * 128**3 / taken / 1e9:.1f} GFLOP/s" if taken else "no time was measured"
        panes = ("schedule", "tir", "asm") if number else ("te", "tir", "asm")
        text = f"{program.name}: {speed}. {_PRODUCT[program.name.split()[1]]}"
        steps.append((text, {"program": program.name, "panes": panes, "dock": "schedule" if number else ""}))
    return steps


def python(session: Session) -> Sequence[Step]:
    """torch: from Python to machine code."""
    slow = slowest(session)[0]
    return (
        (
            "The Python of the network. Bars show the layers that each line called.",
            {"panes": ("python:networks.py", "graph")},
        ),
        (
            f"The slowest layer takes {time_of(session, slow)}; its lines are lit up from Python down.",
            {"panes": ("python:networks.py", "relay", "tir"), "layer": slow},
        ),
        (
            "The same layer as instructions, and the verdict on it.",
            {"panes": ("python:networks.py", "asm"), "layer": slow, "dock": "verdict"},
        ),
    )


def control_flow(session: Session) -> Sequence[Step]:
    """A loop: steps around compiled stretches."""
    product = layers(session, "MatMul")[0]
    return (
        ("The body of the loop is a group of the graph.", {"program": "main", "panes": ("graph",)}),
        (
            "The product of the body is in a stretch that is compiled; the steps around it are interpreted.",
            {"panes": ("graph", "relay", "tir"), "layer": product},
        ),
        (
            "Each stretch is a program of its own: the list above chooses one.",
            {"panes": ("relay", "asm"), "layer": product, "dock": "time"},
        ),
    )


def open_sizes(session: Session) -> Sequence[Step]:
    """BERT of open sizes: symbols from the model to loops."""
    product = slowest(session, layers(session, "MatMul"))[0]
    return (
        ("Shapes have the names of the model: batch and seq.", {"panes": ("graph", "relay:imported")}),
        (
            "Sizes are arguments of the kernel: s0 and s1 bound its loops.",
            {"panes": ("relay", "tir"), "layer": product},
        ),
        (
            "Times are those of a batch of 4 with 64 tokens. The tab says so, and has the command for other sizes.",
            {"panes": ("graph", "tir"), "dock": "time"},
        ),
        ("So is the plan of memory.", {"panes": ("calls",), "dock": "memory"}),
    )
