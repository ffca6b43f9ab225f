"""Random primitives on random kernels of blocks: the accepted keep all values, the refused change nothing.

python tests/support/random_blocks.py 1000 [first seed]: of so many kernels, four sequences each
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from random import Random
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp

from whence.dialects.sizes.kernel import known
from whence.dialects.tir import BlockOp, ForOp, PrimFuncOp, buffer_of, prim_funcs
from whence.kernels import build_prim_func
from whence.kernels.building import parsed_prim_func
from whence.support.errors import InternalError, WhenceError
from whence.te.blocks.schedule import BlockSchedule
from whence.te.blocks.state import LoopRV
from whence.te.blocks.tensorize import is_registered, register

Shape: TypeAlias = tuple[int, ...]
Read: TypeAlias = tuple[str, Shape, list[str], str]
"""A buffer, its shape, the indices, and the condition with what is read where it does not hold."""


def _buffer(shape: Shape) -> str:
    return f"!tir.buffer<{'x'.join(map(str, shape))}xf32>"


class Maker:
    """The text of a random kernel: a few blocks, each of which reads what those before it wrote."""

    def __init__(self, random: Random):
        self.random = random
        self.buffers: list[tuple[str, Shape]] = []
        self.lines: list[str] = []
        self.count = 0

    def text(self) -> str:
        """Return the text of the kernel `@main` of one or two inputs and one output."""
        inputs = [(f"in{n}", self._shape()) for n in range(self.random.choice((1, 2)))]
        self.buffers = list(inputs)
        stages = self.random.choice((1, 2, 2, 3, 3))
        for number in range(stages):
            self._stage(f"b{number}")
        name, shape = self.buffers.pop()
        own = [buffer for buffer in self.buffers if buffer not in inputs]
        head = ", ".join(f"%{each}: {_buffer(its)}" for each, its in [*inputs, (name, shape)])
        allocs = [f"%{each} = tir.alloc : {_buffer(its)}" for each, its in own]
        constants = ["%zero = arith.constant 0.0 : f32", "%two = arith.constant 2.0 : f32"]
        body = "\n".join([*allocs, *constants, *self.lines])
        return f"tir.prim_func @main({head}) outputs 1 {{\n{body}\n}}\n"

    def _shape(self) -> Shape:
        return tuple(self.random.choice((1, 2, 3, 4, 6, 8)) for _ in range(self.random.choice((1, 2, 2))))

    def _value(self) -> str:
        self.count += 1
        return f"%x{self.count}"

    def _stage(self, name: str) -> None:
        """Add a block: of a point each, of neighbours, transposed, or a sum."""
        sources = [self.buffers[-1], self.random.choice(self.buffers)]
        source, shape = sources[0]
        kind = self.random.choice(("point", "point", "neighbours", "turned", "sum", "sum", "twice", "padded"))
        axes: list[tuple[str, int]]
        reads: list[Read]
        variables = [f"%{name}v{n}" for n in range(len(shape))]
        if kind == "neighbours" and shape[-1] > 2:
            reach = self.random.choice((1, 2))
            out = (*shape[:-1], shape[-1] - reach)
            reads = [(source, shape, [*variables[:-1], f"{variables[-1]} + {step}"], "") for step in range(reach + 1)]
            axes = [("spatial", extent) for extent in out]
            point = variables
        elif kind == "padded":
            out = (*shape[:-1], shape[-1] + 2)
            last = variables[-1]
            guard = f" if [{last} - 1, {last} * -1 + {shape[-1]}] >= 0 else 1.0 : f32"
            reads = [(source, shape, [*variables[:-1], f"{last} - 1"], guard)]
            axes = [("spatial", extent) for extent in out]
            point = variables
        elif kind == "turned" and len(shape) == 2:
            out = shape[::-1]
            reads = [(source, shape, variables[::-1], "")]
            axes = [("spatial", extent) for extent in out]
            point = variables
        elif kind == "sum":
            out = shape[:-1] if len(shape) == 2 else (self.random.choice((2, 3)),)
            if len(shape) == 2:
                axes = [("spatial", shape[0]), ("reduce", shape[1])]
                reads, point = [(source, shape, variables, "")], variables[:1]
            else:
                axes = [("spatial", out[0]), ("reduce", shape[0])]
                variables = [f"%{name}v0", f"%{name}v1"]
                reads, point = [(source, shape, variables[1:], "")], variables[:1]
        else:
            out = shape
            axes = [("spatial", extent) for extent in shape]
            reads, point = [(source, shape, variables, "")], variables
        other, its = sources[1]
        if (
            kind in ("point", "sum")
            and other != source
            and all(extent <= axis for extent, (_, axis) in zip(its, axes, strict=False))
            and len(its) <= len(axes)
            and all(its[n] == axes[n][1] for n in range(len(its)))
        ):
            reads = [*reads, (other, its, variables[: len(its)], "")]
        self._emit(name, axes, variables, reads, (name + "_out", out, point), reduce=kind == "sum")
        self.buffers.append((name + "_out", out))

    def _emit(
        self,
        name: str,
        axes: list[tuple[str, int]],
        variables: list[str],
        reads: list[Read],
        target: tuple[str, Shape, list[str]],
        *,
        reduce: bool,
    ) -> None:
        loops = [f"%{name}l{n}" for n in range(len(axes))]
        for loop, (_, extent) in zip(loops, axes, strict=True):
            self.lines.append(f"tir.for {loop} in {extent} {{")
        heads = ", ".join(f"{v} : {kind} {extent}" for v, (kind, extent) in zip(variables, axes, strict=True))
        self.lines.append(f'tir.block "{name}" ({heads}) at [{", ".join(loops)}] {{')
        buffer, shape, point = target
        place = f"%{buffer}[{', '.join(point)}]"
        if reduce:
            self.lines += ["tir.init {", f"tir.store %zero, {place} : f32, {_buffer(shape)}", "}"]
        values: list[str] = []
        if reduce:
            values.append(self._value())
            self.lines.append(f"{values[-1]} = tir.load {place} : {_buffer(shape)} -> f32")
        terms: list[str] = []
        for source, its, indices, guard in reads:
            terms.append(self._value())
            read = f"tir.load %{source}[{', '.join(indices)}]{guard} : {_buffer(its)} -> f32"
            self.lines.append(f"{terms[-1]} = {read}")
        total = terms[0]
        for term in terms[1:]:
            made = self._value()
            self.lines.append(f"{made} = arith.{self.random.choice(('addf', 'subf'))} {total}, {term} : f32")
            total = made
        if not reduce and self.random.random() < 0.5:
            made = self._value()
            self.lines.append(f"{made} = arith.{self.random.choice(('addf', 'maximumf'))} {total}, %two : f32")
            total = made
        if reduce:
            made = self._value()
            self.lines.append(f"{made} = arith.addf {values[0]}, {total} : f32")
            total = made
        self.lines.append(f"tir.store {total}, {place} : f32, {_buffer(shape)}")
        self.lines += ["}"] * (len(axes) + 1)


def _loops(schedule: BlockSchedule, random: Random) -> list[LoopRV]:
    """The loops around a random block."""
    return schedule.get_loops(random.choice(_blocks(schedule)))


def _blocks(schedule: BlockSchedule) -> list[str]:
    return [op.label.data for op in schedule.module.walk() if isinstance(op, BlockOp)]


def _any_loop(schedule: BlockSchedule, random: Random) -> LoopRV:
    ops = [op for op in schedule.module.walk() if isinstance(op, ForOp)]
    block = random.choice(_blocks(schedule))
    loops = schedule.get_loops(block)
    if not loops:
        raise WhenceError(f"{len(ops)} loops, none around {block}")
    return random.choice(loops)


def _split(s: BlockSchedule, r: Random) -> object:
    factor = r.choice((1, 2, 3, 4, 5))
    return s.split(_any_loop(s, r), r.choice(([None, factor], [factor, None], [2, None, 2])))


def _fuse(s: BlockSchedule, r: Random) -> object:
    loops = _loops(s, r)
    first = r.randrange(max(1, len(loops) - 1))
    return s.fuse(*loops[first : first + r.choice((2, 2, 3))])


def _reorder(s: BlockSchedule, r: Random) -> object:
    loops = _loops(s, r)
    r.shuffle(loops)
    return s.reorder(*loops[: r.randrange(1, len(loops) + 1)] if loops else loops)


def _map(indices: list[Any], r: Random) -> list[Any]:
    """A layout of indices: turned, cut or joined."""
    result = list(indices)
    r.shuffle(result)
    if r.random() < 0.7:
        number, step = r.randrange(len(result)), r.choice((2, 2, 3, 4))
        index = result.pop(number)
        result += [index % step]
        result.insert(number, index // step)
    return result


def _mapping(r: Random) -> Callable[..., list[Any]]:
    seed = r.randrange(1 << 30)

    def mapping(*indices: Any) -> list[Any]:
        return _map(list(indices), Random(seed))

    return mapping


def _layout(s: BlockSchedule, r: Random) -> object:
    pad = r.choice((None, None, 0, 1.5))
    side = r.choice((("write", 0), ("write", 0), ("read", 0)))
    return s.transform_layout(r.choice(_blocks(s)), side, _mapping(r), pad)


def _block_layout(s: BlockSchedule, r: Random) -> object:
    return s.transform_block_layout(r.choice(_blocks(s)), _mapping(r))


def _pad(s: BlockSchedule, r: Random) -> object:
    block = r.choice(_blocks(s))
    count = next(len(op.domain) for op in s.module.walk() if isinstance(op, BlockOp) and op.label.data == block)
    return s.pad_einsum(block, [r.choice((1, 2, 3, 4, 5)) for _ in range(count)])


def _sampled_place(s: BlockSchedule, r: Random) -> object:
    block = r.choice(_blocks(s))
    return s.compute_at(block, s.sample_compute_location(block, r.choice((None, -2, -1, 0, 1, 2))), r.random() < 0.3)


def _sampled_tile(s: BlockSchedule, r: Random) -> object:
    loop = _any_loop(s, r)
    return s.split(loop, s.sample_perfect_tile(loop, r.choice((2, 3)), r.choice((-1, 2, 4))))


_EXTENTS = (2, 3, 4, 6, 8)
_COMPUTED = {
    "copied": "",
    "raised": "%y = arith.addf %x, %two : f32",
    "clamped": "%y = arith.maximumf %x, %two : f32",
    "summed": "%s = tir.load %T[0] : !tir.buffer<1xf32> -> f32\n%x = LOAD\n%y = arith.addf %s, %x : f32",
}
"""What intrinsics compute of the elements of a row."""


def _intrinsic(kind: str, extent: int) -> str:
    """The name of an intrinsic, which is registered if it is not: a row from the last to the first."""
    name = f"random.{kind}.{extent}"
    if not is_registered(name):
        is_sum = kind == "summed"
        target = _buffer((1,) if is_sum else (extent,))
        kernels: list[str] = []
        for point in ("%i", f"%i * -1 + {extent - 1}"):
            load = f"tir.load %S[{point}] : {_buffer((extent,))} -> f32"
            body = _COMPUTED[kind].replace("LOAD", load) if is_sum else f"%x = {load}\n{_COMPUTED[kind]}"
            store = f"tir.store %{'x' if kind == 'copied' else 'y'}, %T[{'0' if is_sum else point}] : f32, {target}"
            head = f"tir.prim_func @main(%S: {_buffer((extent,))}, %T: {target}) outputs 1"
            two = "%two = arith.constant 2.0 : f32"
            kernels.append(f"{head} {{\n{two}\ntir.for %i in {extent} {{\n{body}\n{store}\n}}\n}}\n")
        desc, impl = (parsed_prim_func(text) for text in kernels)
        register(name, desc, impl)
    return name


def _tensorize(s: BlockSchedule, r: Random) -> object:
    loop = _any_loop(s, r)
    op = s.state.loop("tensorize", loop)
    extent = next((number for number in _EXTENTS if number == op.trip_count), None) or r.choice(_EXTENTS)
    refused: list[str] = []
    for kind in r.sample(sorted(_COMPUTED), len(_COMPUTED)):
        try:
            return s.tensorize(loop, _intrinsic(kind, extent))
        except WhenceError as error:
            refused.append(str(error))
    raise WhenceError("; ".join(refused))


PRIMITIVES: dict[str, Callable[[BlockSchedule, Random], object]] = {
    "split": _split,
    "fuse": _fuse,
    "reorder": _reorder,
    "merge": lambda s, r: s.merge(_any_loop(s, r), _any_loop(s, r)),
    "loop_partition": lambda s, r: s.loop_partition(_any_loop(s, r), r.choice(([1, None], [2, None], [1, 1, None]))),
    "parallel": lambda s, r: s.parallel(_any_loop(s, r)),
    "vectorize": lambda s, r: s.vectorize(_any_loop(s, r)),
    "unroll": lambda s, r: s.unroll(_any_loop(s, r)),
    "add_unit_loop": lambda s, r: s.add_unit_loop(r.choice(_blocks(s))),
    "compute_inline": lambda s, r: s.compute_inline(r.choice(_blocks(s))),
    "reverse_compute_inline": lambda s, r: s.reverse_compute_inline(r.choice(_blocks(s))),
    "compute_at": lambda s, r: s.compute_at(r.choice(_blocks(s)), _any_loop(s, r), r.random() < 0.3),
    "reverse_compute_at": lambda s, r: s.reverse_compute_at(r.choice(_blocks(s)), _any_loop(s, r)),
    "compute_at a sampled place": _sampled_place,
    "split by a sampled tile": _sampled_tile,
    "annotate": lambda s, r: s.annotate(_any_loop(s, r), "note", r.randrange(9)),
    "cache_read": lambda s, r: s.cache_read(r.choice(_blocks(s)), r.choice((0, 0, 1)), "local"),
    "cache_write": lambda s, r: s.cache_write(r.choice(_blocks(s)), 0, "local"),
    "reindex": lambda s, r: s.reindex(r.choice(_blocks(s)), r.choice((("read", 0), ("read", 1), ("write", 0)))),
    "set_scope": lambda s, r: s.set_scope(r.choice(_blocks(s)), 0, "shared"),
    "rfactor": lambda s, r: s.rfactor(_any_loop(s, r), r.choice((0, 0, 1, -1))),
    "transform_layout": _layout,
    "transform_block_layout": _block_layout,
    "pad_einsum": _pad,
    "decompose_padding": lambda s, r: s.decompose_padding(r.choice(_blocks(s)), _any_loop(s, r)),
    "tensorize": _tensorize,
    "blockize": lambda s, r: s.blockize(_any_loop(s, r)),
    "decompose_reduction": lambda s, r: s.decompose_reduction(r.choice(_blocks(s)), _any_loop(s, r)),
}
"""A random call of each primitive."""


def _run(module: ModuleOp, arrays: list[NDArray[Any]]) -> NDArray[Any]:
    (func,) = prim_funcs(module)
    return np.asarray(build_prim_func(func, threads=2)(*arrays))


def sample(seed: int, names: Sequence[str], steps: int) -> tuple[PrimFuncOp, list[NDArray[Any]]]:
    """Return a random kernel after some random primitives of these names, and arrays for its inputs."""
    random, draw = Random(seed), np.random.default_rng(seed)
    schedule = BlockSchedule(ModuleOp([parsed_prim_func(Maker(random).text()).clone()]))
    schedule.explains = False
    for _ in range(steps):
        try:
            PRIMITIVES[random.choice(names)](schedule, random)
        except WhenceError:
            continue
    (func,) = prim_funcs(schedule.module)
    shapes = [[known(extent) for extent in buffer_of(argument).get_shape()] for argument in func.block.args[:-1]]
    return func, [draw.standard_normal(shape).astype(np.float32) for shape in shapes]


PER_KERNEL = 4
"""The sequences that are tried on each kernel."""


def check(seed: int, counts: Counter[str]) -> None:
    """Apply up to eight primitives to a kernel, several times, and compare with it unscheduled.

    Raises AssertionError for other values, for a refused primitive that changes something, for a replay that makes
    another kernel, and for an op without a location.
    """
    random = Random(seed)
    text = Maker(random).text()
    module = ModuleOp([parsed_prim_func(text).clone()])
    draw = np.random.default_rng(seed)
    (origin,) = prim_funcs(module)
    shapes = [[known(extent) for extent in buffer_of(argument).get_shape()] for argument in origin.block.args[:-1]]
    arrays: list[NDArray[Any]] = [draw.integers(-4, 5, shape).astype(np.float32) for shape in shapes]
    expected = _run(module, arrays)
    for number in range(PER_KERNEL):
        schedule = BlockSchedule(module)
        schedule.seed(random.randrange(1, 1 << 30))
        schedule.explains = random.random() < 0.05
        for _ in range(random.randrange(2, 9)):
            _step(schedule, random, counts, seed)
        func = next(iter(schedule.module.ops))
        assert not [op for op in func.walk() if str(op.location) == "loc(unknown)"], seed
        if not number:
            assert str(schedule.snapshot().module) == str(schedule.module), f"{seed}: replayed to another kernel"
        actual = _run(schedule.module, arrays)
        assert np.array_equal(expected, actual), f"{seed}: other values\n{schedule.sequence}\n{text}"
        counts["sequences"] += 1


def _step(schedule: BlockSchedule, random: Random, counts: Counter[str], seed: int) -> None:
    """Apply a primitive, with arguments with which it fits, if some of four random ones are such."""
    name = random.choice(list(PRIMITIVES))
    before, done = str(schedule.module), len(schedule.primitives)
    for _ in range(4):
        try:
            PRIMITIVES[name](schedule, random)
            counts[name] += 1
            return
        except InternalError:
            raise
        except WhenceError:
            counts[f"{name} refused"] += 1
            assert str(schedule.module) == before, f"{seed}: {name} was refused and changed the kernel"
            assert len(schedule.primitives) == done


def main() -> None:
    """Check as many kernels as the first argument says, from the second on, and print the counts."""
    counts: Counter[str] = Counter()
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    failures = 0
    for seed in range(first, first + int(sys.argv[1])):
        try:
            check(seed, counts)
        except Exception as error:
            failures += 1
            print(f"seed {seed}: {type(error).__name__}: {error}")
    for name, count in sorted(counts.items()):
        print(f"{count:6} {name}")
    print(f"{failures} failures")
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
