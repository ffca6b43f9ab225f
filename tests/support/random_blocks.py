"""Random primitives on random kernels of blocks: the accepted keep all values, the refused change nothing.

python tests/support/random_blocks.py 1000 [first seed]: of so many kernels, four sequences each
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from random import Random
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np
from numpy.typing import NDArray
from random_block_kernels import Maker, buffer_type
from random_block_stages import WideMaker
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import AffineMapAttr, ModuleOp
from xdsl.ir import Operation

from whence import te, tir
from whence.dialects.tir import AllocOp, BlockOp, ForOp, LoadOp, PrimFuncOp, StoreOp, buffer_of, prim_funcs
from whence.kernels import build_prim_func
from whence.kernels.building import parsed_prim_func
from whence.provenance.audit import surviving_leaves
from whence.provenance.span import leaves
from whence.support.errors import InternalError, WhenceError
from whence.te.blocks.accesses import block_of
from whence.te.blocks.schedule import BlockSchedule
from whence.te.blocks.state import LoopRV
from whence.te.blocks.tensorize import is_registered, register
from whence.te.blocks.trace import Trace

Shape: TypeAlias = tuple[int, ...]


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
    factor, other = r.choice((1, 2, 3, 4, 5)), r.choice((1, 2, 3, 7))
    return s.split(_any_loop(s, r), r.choice(([None, factor], [factor, None], [2, None, 2], [factor, other])))


def _split_by_a_knob(s: BlockSchedule, r: Random) -> object:
    factor = s.knob(f"factor{len(s.sequence.block.ops)}", (2, 3, 4), r.choice((2, 3, 4)))
    return s.split(_any_loop(s, r), r.choice(([None, factor], [factor * 2, None], [-(-8 // factor), factor])))


def _split_by_a_sample(s: BlockSchedule, r: Random) -> object:
    return s.split(_any_loop(s, r), [None, s.sample_categorical((1, 2, 4), (0.25, 0.5, 0.25))])


def _target(s: BlockSchedule, r: Random) -> Any:
    """A block or a loop."""
    return r.choice((_any_loop(s, r), r.choice(_blocks(s))))


def _unannotate(s: BlockSchedule, r: Random) -> object:
    target = _target(s, r)
    if r.random() < 0.7:
        s.annotate(target, "note", r.choice((0, -1, 1.5, "text", [1, 2], True)))
    return s.unannotate(target, "note")


def _look(s: BlockSchedule, r: Random) -> object:
    block = r.choice(_blocks(s))
    found = r.choice((s.get_producers, s.get_consumers, s.get_child_blocks))(block)
    return [*found, *s.get_output_blocks("root"), *s.get_child_blocks("root")]


def _cache_for_some(s: BlockSchedule, r: Random) -> object:
    block = r.choice(_blocks(s))
    consumers = r.sample(_blocks(s), r.randrange(1, 1 + min(2, len(_blocks(s)))))
    return s.cache_read(block, r.choice((0, 1, "in0", "b0_out")), "shared", consumers)


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


def _reindex_cache(s: BlockSchedule, r: Random) -> object:
    block = r.choice(_blocks(s))
    count = next(len(op.domain) for op in s.module.walk() if isinstance(op, BlockOp) and op.label.data == block)
    used = r.sample(range(count), r.randint(min(1, count), count))
    number = r.choice((1, 2, 3))

    def layout(*axes: Any) -> list[Any]:
        dims = [axes[dim] for dim in used]
        return [*dims[1:], dims[0] // number, dims[0] % number] if number > 1 and dims else dims

    if r.random() < 0.5:
        return s.reindex_cache_read(block, r.choice((0, 1)), "shared", layout)
    return s.reindex_cache_write(block, 0, "local", layout)


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
        target = buffer_type((1,) if is_sum else (extent,))
        kernels: list[str] = []
        for point in ("%i", f"%i * -1 + {extent - 1}"):
            load = f"tir.load %S[{point}] : {buffer_type((extent,))} -> f32"
            body = _COMPUTED[kind].replace("LOAD", load) if is_sum else f"%x = {load}\n{_COMPUTED[kind]}"
            store = f"tir.store %{'x' if kind == 'copied' else 'y'}, %T[{'0' if is_sum else point}] : f32, {target}"
            head = f"tir.prim_func @main(%S: {buffer_type((extent,))}, %T: {target}) outputs 1"
            two = "%two = arith.constant 2.0 : f32"
            kernels.append(f"{head} {{\n{two}\ntir.for %i in {extent} {{\n{body}\n{store}\n}}\n}}\n")
        desc, impl = (parsed_prim_func(text) for text in kernels)
        register(name, desc, impl)
    return name


def _tensorize(s: BlockSchedule, r: Random) -> object:
    loop = _any_loop(s, r)
    op = s.state.loop("tensorize", loop)
    extent = next((number for number in _EXTENTS if str(number) == str(op.trip_count)), None) or r.choice(_EXTENTS)
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
    "split by a knob": _split_by_a_knob,
    "split by a sample": _split_by_a_sample,
    "parallel": lambda s, r: s.parallel(_any_loop(s, r)),
    "vectorize": lambda s, r: s.vectorize(_any_loop(s, r)),
    "unroll": lambda s, r: s.unroll(_any_loop(s, r)),
    "add_unit_loop": lambda s, r: s.add_unit_loop(_target(s, r)),
    "compute_inline": lambda s, r: s.compute_inline(r.choice(_blocks(s))),
    "reverse_compute_inline": lambda s, r: s.reverse_compute_inline(r.choice(_blocks(s))),
    "compute_at": lambda s, r: s.compute_at(
        r.choice(_blocks(s)), _any_loop(s, r), r.random() < 0.3, r.choice((-1, -1, -2, 0, 1, 2))
    ),
    "reverse_compute_at": lambda s, r: s.reverse_compute_at(
        r.choice(_blocks(s)), _any_loop(s, r), r.random() < 0.3, r.choice((-1, -1, -2, 0, 1, 2))
    ),
    "compute_at a sampled place": _sampled_place,
    "split by a sampled tile": _sampled_tile,
    "annotate": lambda s, r: s.annotate(_target(s, r), "note", r.randrange(9)),
    "unannotate": _unannotate,
    "bind": lambda s, r: s.bind(_any_loop(s, r), "threadIdx.x"),
    "look-ups": _look,
    "cache_read for some": _cache_for_some,
    "cache_read": lambda s, r: s.cache_read(r.choice(_blocks(s)), r.choice((0, 0, 1)), "local"),
    "cache_write": lambda s, r: s.cache_write(r.choice(_blocks(s)), 0, "local"),
    "reindex": lambda s, r: s.reindex(r.choice(_blocks(s)), r.choice((("read", 0), ("read", 1), ("write", 0)))),
    "reindex_cache": _reindex_cache,
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


def _run(module: ModuleOp, arrays: list[NDArray[Any]]) -> list[NDArray[Any]]:
    """Results of arrays, after those of others: what a buffer has from before is not what is to be in it."""
    (func,) = prim_funcs(module)
    function = build_prim_func(func, threads=2)
    function(*(np.ones_like(array) * 3 - array for array in arrays))
    results = function(*arrays)
    return [np.asarray(result) for result in (results if isinstance(results, tuple | list) else (results,))]


def _inputs(func: PrimFuncOp, size: int, draw: Callable[[Shape], NDArray[Any]]) -> list[NDArray[Any]]:
    """Arrays for the inputs of a kernel. size: the extents that are open."""
    arrays: list[NDArray[Any]] = []
    for argument in func.block.args[: len(func.block.args) - func.outputs.value.data]:
        type_ = buffer_of(argument)
        shape = tuple(extent if isinstance(extent, int) else size for extent in type_.get_shape())
        arrays.append(draw(shape).astype(_DTYPES[str(type_.element_type)]))
    return arrays


_DTYPES: dict[str, Any] = {
    "f64": np.float64,
    "f32": np.float32,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "i32": np.int32,
    "i8": np.int8,
}


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
    return func, _inputs(func, 1, draw.standard_normal)


PER_KERNEL = 4
"""The sequences that are tried on each kernel."""


def check(seed: int, counts: Counter[str]) -> None:
    """Apply up to eight primitives to a kernel, several times, and compare with it unscheduled.

    Raises AssertionError for other values, for a refused primitive that changes something, for records that make
    another kernel, and for ops that have lost their locations or have those of others.
    """
    random = Random(seed)
    maker = (Maker if seed % 4 == 0 else WideMaker)(random)
    text = maker.text()
    module = ModuleOp([parsed_prim_func(text).clone()])
    draw = np.random.default_rng(seed)
    (origin,) = prim_funcs(module)
    most = maker.element.largest
    arrays = _inputs(origin, random.choice((1, 3, 5, 8)), lambda shape: draw.integers(-most, most + 1, shape))
    expected = _run(module, arrays)
    for number in range(PER_KERNEL):
        schedule = BlockSchedule(module)
        schedule.seed(random.randrange(1, 1 << 30))
        schedule.explains = random.random() < 0.05
        for _ in range(random.randrange(2, 9)):
            _step(schedule, random, counts, seed)
        _check_locations(module, schedule, seed)
        if not number:
            _check_records(module, schedule, seed)
        actual = _run(schedule.module, arrays)
        same = all(np.array_equal(one, other) for one, other in zip(expected, actual, strict=True))
        assert same, f"{seed}: other values\n{schedule.sequence}\n{text}"
        counts["sequences"] += 1


def _check_locations(module: ModuleOp, schedule: BlockSchedule, seed: int) -> None:
    """Compare the layers of ops before and after primitives: none is new or lost, and none is of several."""
    func = next(iter(schedule.module.ops))
    assert not [op for op in func.walk() if str(op.location) == "loc(unknown)"], seed
    if any(op.name == "schedule.block.tensorize" for op in schedule.primitives):
        return
    assert surviving_leaves(schedule.module) <= surviving_leaves(module), f"{seed}: layers of nothing"
    read = {op.buffer for op in module.walk() if isinstance(op, LoadOp)}
    # What nobody reads goes where it is inlined.
    unread = [op for op in module.walk() if isinstance(op, AllocOp) and op.result not in read]
    blocks = {parent for op in unread for use in op.result.uses if (parent := block_of(use.operation)) is not None}
    computing = {
        leaf for op in module.walk() if _computes(op) and block_of(op) not in blocks for leaf in leaves(op.location)
    }
    assert computing <= surviving_leaves(schedule.module), f"{seed}: layers without arithmetic"
    for op in func.walk():
        if isinstance(op, BlockOp | LoadOp | StoreOp) or _computes(op):
            assert len(leaves(op.location)) == 1, f"{seed}: {op} of {op.location}"


def _computes(op: Operation) -> bool:
    return op.name.startswith("arith.") and not isinstance(op, ConstantOp)


def _check_records(module: ModuleOp, schedule: BlockSchedule, seed: int) -> None:
    """Compare a schedule with what its records make: the sequence, Python, JSON by TVM's names, and text."""
    wanted = str(schedule.module)
    assert str(schedule.snapshot().module) == wanted, f"{seed}: replayed to another kernel"
    names: dict[str, Any] = {"te": te, "tir": tir}
    exec(schedule.as_python(), names)
    again = BlockSchedule(module)
    names["apply_schedule"](again)
    assert str(again.module) == wanted, f"{seed}: another kernel by Python"
    if not any(
        isinstance(each, AffineMapAttr) for op in schedule.record.instructions for each in op.attrs.data.values()
    ):
        again = BlockSchedule(module)
        Trace.apply_json_to_schedule(json.dumps(schedule.trace.as_json()), again)
        assert str(again.module) == wanted, f"{seed}: another kernel by JSON"
    (func,) = prim_funcs(schedule.module)
    text = str(func)
    assert str(parsed_prim_func(text)) == text, f"{seed}: read as another kernel"


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
