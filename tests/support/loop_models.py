"""Loops as converters write them, whose lengths are values: models, and what they are called with at a length."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import onnx
import onnx.parser
from numpy.typing import NDArray

Array = NDArray[Any]
RNG = np.random.default_rng(11)
WIDTH, HIDDEN = 4, 8
CODES = {"float": 1, "int32": 6, "int64": 7}
DTYPES = {"float": np.float32, "int32": np.int32, "int64": np.int64}


@dataclass(frozen=True)
class CallableModel:
    """A model, and its inputs for a number: of steps, or of a call."""

    model: onnx.ModelProto
    inputs: Callable[[int], dict[str, Array]]


def parsed(text: str) -> onnx.ModelProto:
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 17]> {text}')
    cast(Any, onnx.checker).check_model(model)
    return model


def floats(*shape: int) -> Array:
    return (0.4 * RNG.standard_normal(shape)).astype(np.float32)


def rows(steps: int) -> dict[str, Array]:
    return {"x": floats(steps, WIDTH)}


def lstm(counter: str = "int32", compared: str = "float", stored: str = "scan") -> CallableModel:
    """A layer of TensorFlow: the body gathers a row by the time, and compares the next time with the length.

    counter: the type of time. compared: that of the comparison. stored: whether what a step gives is `scan`ned, or
    written into a state, `scatter`.
    """
    scatters = stored == "scatter"
    weight = ", ".join(map(str, floats((WIDTH + HIDDEN) * 4 * HIDDEN).tolist()))
    state = f"float[b, {HIDDEN}]"
    array = f"float[n, b, {HIDDEN}]"
    more = ", y0" if scatters else ""
    carried = f", {array} left" if scatters else ""
    leaving = f"{array} written" if scatters else f"{state} row"
    store = "long = Cast <to = 7> (time) at = Reshape (long, pair) new = Unsqueeze (h1, zeros)" if scatters else ""
    store += " written = ScatterND (left, at, new)" if scatters else "row = Identity (h1)"
    empty = "extents = Slice (shape, zeros, twos) all = Concat <axis = 0> (extents, width) y0 = ConstantOfShape (all)"
    model = parsed(f"""
    lstm (float[n, b, {WIDTH}] x) => ({state} last, {array} y, {counter} end)
    <float[{WIDTH + HIDDEN}, {4 * HIDDEN}] weight = {{{weight}}}, int64 first = {{0}}, int64[1] zeros = {{0}},
     int64[1] ones = {{1}}, int64[1] twos = {{2}}, int64[2] pair = {{1, 1}}, int64[1] width = {{{HIDDEN}}},
     {counter} start = {{0}}, {counter} one = {{1}}, int64 trips = {{2147483647}}> {{
        shape = Shape (x)
        count = Gather (shape, first)
        n0 = Cast <to = {CODES[counter]}> (count)
        begin = Cast <to = {CODES[compared]}> (start)
        limit = Cast <to = {CODES[compared]}> (n0)
        some = Less (begin, limit)
        batch = Slice (shape, ones, twos)
        extent = Concat <axis = 0> (batch, width)
        h0 = ConstantOfShape (extent)
        {empty if scatters else ""}
        [loop] end, n_end, last, c_end, y = Loop (trips, some, start, n0, h0, h0{more}) <body = step
        (int64 i, bool on, {counter} time, {counter} n, {state} h, {state} c{carried})
        => (bool going, {counter} next, {counter} n1, {state} h1, {state} c1, {leaving}) {{
            place = Cast <to = 7> (time)
            now = Gather (x, place)
            joined = Concat <axis = 1> (now, h)
            gates = MatMul (joined, weight)
            a, j, f, o = Split <axis = 1> (gates)
            sa = Sigmoid (a) tj = Tanh (j) sf = Sigmoid (f) so = Sigmoid (o)
            kept = Mul (sf, c) added = Mul (sa, tj) c1 = Add (kept, added)
            tc = Tanh (c1) h1 = Mul (tc, so)
            next = Add (time, one)
            n1 = Identity (n)
            left_side = Cast <to = {CODES[compared]}> (next)
            right_side = Cast <to = {CODES[compared]}> (n)
            going = Less (left_side, right_side)
            {store}
        }}>
    }}""")
    return CallableModel(model, lambda steps: {"x": floats(steps, 2, WIDTH)})


def counted() -> CallableModel:
    """A loop of as many steps as an input says."""
    model = parsed(f"""
    counted (float[m, {WIDTH}] x, int64 n) => (float[{WIDTH}] last, float[k, {WIDTH}] y)
    <float half = {{0.5}}, float[{WIDTH}] zeros = {{0, 0, 0, 0}}> {{
        last, y = Loop (n, , zeros) <body = step (int64 i, bool on, float[{WIDTH}] s)
        => (bool going, float[{WIDTH}] s1, float[{WIDTH}] row) {{
            now = Gather (x, i)
            less = Mul (s, half)
            s1 = Add (less, now)
            row = Identity (s1)
            going = Identity (on)
        }}>
    }}""")
    return CallableModel(model, lambda steps: {**rows(steps), "n": np.asarray(steps)})


def until(counter: str) -> CallableModel:
    """A loop without a trip count, whose own counter is compared with an input."""
    model = parsed(f"""
    until (float[{WIDTH}] x, {counter} n) => ({counter} end, float[{WIDTH}] y)
    <float half = {{0.5}}, {counter} zero = {{0}}, {counter} one = {{1}}> {{
        some = Less (zero, n)
        end, y = Loop (, some, zero, x) <body = step (int64 i, bool on, {counter} k, float[{WIDTH}] s)
        => (bool going, {counter} k1, float[{WIDTH}] s1) {{
            k1 = Add (k, one)
            going = Less (k1, n)
            less = Mul (s, half)
            s1 = Add (less, x)
        }}>
    }}""")
    return CallableModel(model, lambda steps: {"x": floats(WIDTH), "n": np.asarray(steps, DTYPES[counter])})


def nested() -> CallableModel:
    """A loop over rows, and in it one over columns."""
    model = parsed("""
    nested (float[n, m] x) => (int64 end, float[k] y)
    <int64 zero = {0}, int64 one = {1}, float nothing = {0}> {
        shape = Shape (x)
        n0 = Gather (shape, zero)
        m0 = Gather (shape, one)
        some = Less (zero, n0)
        end, y = Loop (, some, zero) <body = outer (int64 i, bool on, int64 t) => (bool going, int64 t1, float row) {
            xi = Gather (x, t)
            more = Less (zero, m0)
            j_end, row = Loop (, more, zero, nothing) <body = inner (int64 q, bool in, int64 j, float a)
            => (bool again, int64 j1, float a1) {
                v = Gather (xi, j)
                a1 = Add (a, v)
                j1 = Add (j, one)
                again = Less (j1, m0)
            }>
            t1 = Add (t, one)
            going = Less (t1, n0)
        }>
    }""")
    return CallableModel(model, lambda steps: {"x": floats(steps, steps + 2)})


def sliced() -> CallableModel:
    """A loop whose counter says how much is sliced, and how far a range goes."""
    model = parsed(f"""
    sliced (float[m, {WIDTH}] x) => (float sum, float[k, {WIDTH}] y)
    <int64 zero = {{0}}, int64 one = {{1}}, int64[1] first = {{0}}, float nothing = {{0}}> {{
        shape = Shape (x)
        n = Gather (shape, zero)
        some = Less (zero, n)
        sum, y = Loop (, some, nothing) <body = step (int64 i, bool on, float s)
        => (bool going, float s1, float[{WIDTH}] row) {{
            i1 = Add (i, one)
            stop = Unsqueeze (i1, first)
            part = Slice (x, first, stop, first)
            row = ReduceMax <axes = [0], keepdims = 0> (part)
            numbers = Range (zero, i1, one)
            total = ReduceSum <keepdims = 0> (numbers)
            real = Cast <to = 1> (total)
            s1 = Add (s, real)
            going = Less (i1, n)
        }}>
    }}""")
    return CallableModel(model, rows)


def grown() -> CallableModel:
    """A loop that adds a row to what it carries."""
    model = parsed(f"""
    grown (float[m, {WIDTH}] x) => (float[k, {WIDTH}] all, float[k, {WIDTH}] y)
    <int64 zero = {{0}}, int64[1] first = {{0}}> {{
        shape = Shape (x)
        n = Gather (shape, zero)
        nothing = Slice (x, first, first, first)
        all, y = Loop (n, , nothing) <body = step (int64 i, bool on, float[a, {WIDTH}] s)
        => (bool going, float[b, {WIDTH}] s1, float[{WIDTH}] row) {{
            now = Gather (x, i)
            one_row = Unsqueeze (now, first)
            s1 = Concat <axis = 0> (s, one_row)
            row = ReduceSum <keepdims = 0> (s1, first)
            going = Identity (on)
        }}>
    }}""")
    return CallableModel(model, rows)


def choosing() -> CallableModel:
    """A loop that does one thing in even steps, another in odd ones."""
    row = f"float[{WIDTH}]"
    model = parsed(f"""
    choosing (float[m, {WIDTH}] x) => ({row} last, float[k, {WIDTH}] y)
    <int64 zero = {{0}}, int64 one = {{1}}, int64 two = {{2}}, {row} ones = {{1, 1, 1, 1}}> {{
        shape = Shape (x)
        n = Gather (shape, zero)
        some = Less (zero, n)
        end, last, y = Loop (, some, zero, ones) <body = step (int64 i, bool on, int64 t, {row} s)
        => (bool going, int64 t1, {row} s1, {row} left) {{
            now = Gather (x, t)
            rest = Mod (t, two)
            even = Equal (rest, zero)
            s1 = If (even) <then_branch = yes () => ({row} a) {{ a = Add (s, now) }},
                            else_branch = no () => ({row} b) {{ b = Mul (s, now) }}>
            t1 = Add (t, one)
            going = Less (t1, n)
            left = Identity (s1)
        }}>
    }}""")
    return CallableModel(model, rows)


def scanned() -> CallableModel:
    """A Scan that also counts its steps, with 32 bits."""
    model = parsed(f"""
    scanned (float[m, {WIDTH}] x) => (float[{WIDTH}] last, int32 end, float[k, {WIDTH}] y)
    <float half = {{0.5}}, int32 zero = {{0}}, int32 one = {{1}}, float[{WIDTH}] ones = {{1, 1, 1, 1}}> {{
        last, end, y = Scan <num_scan_inputs = 1, body = step (float[{WIDTH}] s, int32 t, float[{WIDTH}] now)
        => (float[{WIDTH}] s1, int32 t1, float[{WIDTH}] row) {{
            less = Mul (s, half)
            s1 = Add (less, now)
            t1 = Add (t, one)
            real = Cast <to = 1> (t)
            row = Add (s1, real)
        }}> (ones, zero, x)
    }}""")
    return CallableModel(model, rows)


def appended() -> CallableModel:
    """A loop that appends to a sequence, and replaces its first item; the parts become one tensor behind it."""
    model = parsed(f"""
    appended (float[m, {WIDTH}] x) => (float[k, {WIDTH}] y, int64 n, float[1, {WIDTH}] first)
    <int64 zero = {{0}}, int64[1] axis = {{0}}, int64[1] ones = {{1}}> {{
        shape = Shape (x)
        m = Gather (shape, zero)
        now0 = Slice (x, axis, ones, axis)
        parts0 = SequenceConstruct (now0)
        parts = Loop (m, , parts0) <body = step (int64 i, bool on, seq(float[a, {WIDTH}]) p)
        => (bool going, seq(float[b, {WIDTH}]) p1) {{
            now = Gather (x, i)
            row = Unsqueeze (now, axis)
            root = Tanh (row)
            old = SequenceAt (p, zero)
            sum = Add (old, root)
            rest = SequenceErase (p, zero)
            more = SequenceInsert (rest, sum, zero)
            p1 = SequenceInsert (more, root)
            going = Identity (on)
        }}>
        all = ConcatFromSequence <axis = 0> (parts)
        y = Neg (all)
        n = SequenceLength (parts)
        first = SequenceAt (parts, zero)
    }}""")
    return CallableModel(model, rows)


LOOPS: dict[str, Callable[[], CallableModel]] = {
    "counted": counted,
    "nested": nested,
    "sliced": sliced,
    "grown": grown,
    "choosing": choosing,
    "scanned": scanned,
    "appended": appended,
    **{f"until {counter}": lambda counter=counter: until(counter) for counter in CODES},
    **{
        f"lstm {counter} {compared} {stored}": lambda counter=counter, compared=compared, stored=stored: lstm(
            counter, compared, stored
        )
        for counter in CODES
        for compared in CODES
        for stored in ("scan", "scatter")
        if counter != "float" or compared == "float"
    },
}
"""By name; of "lstm" the types of the time and of the comparison, and where rows go."""
