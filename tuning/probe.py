"""The rates of a machine, measured in two seconds: what a core multiplies, and what comes from each cache.

The probes are kernels of ours, measured as candidates are, so that they run on whatever machine candidates run on.
"""

from __future__ import annotations

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin
from xdsl.parser import Parser

from ..dialects.relay import Relay
from ..dialects.relay.core import FuncOp
from ..lowering.kernel.draft import draft_kernel
from ..lowering.kernel.key import code_key
from ..lowering.kernel.printing import printed
from ..lowering.kernel.slots import anonymous
from ..lowering.llvm_to_native.compile import compile_text
from ..lowering.llvm_to_native.target import Target
from ..lowering.relay_to_te.cost import Rates
from ..runtime.values.tensors import TensorSpec
from .jobs import Code, Job, Measured, Protocol
from .machines import Facts
from .pool import Pool
from .tasks import specs_of

_FLOAT = 4
_WIDE = 128
"""Floats of the rows that are summed up: eight vectors of 512 bits, each a sum of its own."""
_MOST = 1 << 28
"""Bytes that are read as from memory: a cache of more is that of a whole host, of which a guest has a part."""
_SMALL = 1 << 15
"""Floats of what is nearly nothing but the start of a loop that threads share."""
_PRODUCT = (64, 256, 64)
"""Rows, terms and columns of a product in the nearer caches."""


def _product(columns: int) -> str:
    rows, terms, _ = _PRODUCT
    types = f"tensor<{rows}x{terms}xf32>", f"tensor<1x{terms}x{columns}xf32>", f"tensor<{rows}x{columns}xf32>"
    body = f"%0 = relay.nn.contrib_dense_pack %p0, %p1 : ({types[0]}, {types[1]}) -> {types[2]}"
    return _function(body, types[:2], types[2])


def _sum(size: float) -> str:
    rows = max(1, int(size / _FLOAT / _WIDE))
    types = f"tensor<{rows}x{_WIDE}xf32>", f"tensor<{_WIDE}xf32>"
    return _function(f"%0 = relay.sum %p0 {{axis = [0]}} : ({types[0]}) -> {types[1]}", types[:1], types[1])


def _relu(size: int) -> str:
    type_ = f"tensor<{size}xf32>"
    return _function(f"%0 = relay.nn.relu %p0 : ({type_}) -> {type_}", (type_,), type_)


def _function(body: str, arguments: tuple[str, ...], result: str) -> str:
    signature = ", ".join(f"%p{number}: {type_}" for number, type_ in enumerate(arguments))
    return f"relay.func primitive @probe({signature}) -> ({result}) {{\n{body}\nrelay.return %0 : {result}\n}}"


def probe(pool: Pool, target: Target, threads: int, machine: Facts) -> Rates:
    """The rates of the machines that a pool measures on of this kind.

    What could not be measured has the rate that is common. Raises what the pool raises.
    """
    hardware = target.hardware
    common = Rates.of(hardware, threads)
    # Well within a cache, or well beyond the one before it.
    sizes = [hardware.l2 / 2, hardware.l2 * 4, min(hardware.l3 * 2, _MOST)]
    texts = [_product(_PRODUCT[2]), *map(_sum, sizes), _relu(_SMALL), _sum(sizes[-1]), _relu(_SMALL)]
    counts = [1] * 5 + [threads] * 2
    jobs = [_job(text, target, count, machine) for text, count in zip(texts, counts, strict=True)]
    took: list[float | None] = [None] * len(jobs)
    for number, outcomes in pool.measure(jobs):
        if isinstance(outcome := outcomes[0], Measured):
            took[number] = min(outcome.seconds, outcome.default_seconds)
    product, *reads, alone, shared, together = took
    lanes = hardware.lanes(_FLOAT)

    def rate(amount: float, seconds: float | None, otherwise: float) -> float:
        return amount / seconds if seconds else otherwise

    second, third, memory = (rate(size, seconds, 0.0) for size, seconds in zip(sizes, reads, strict=True))
    rows, terms, columns = _PRODUCT
    products = rate(rows * terms * columns / lanes, product, common.products)
    return Rates(
        products=products,
        # Cores have about as many ports for loads as for products.
        loads=products,
        latency=common.latency,
        step=common.step,
        l2=second or common.l2,
        l3=third or common.l3,
        memory=memory or common.memory,
        shared_memory=max(memory, rate(sizes[-1], shared, common.shared_memory)),
        fork=max(0.0, together - alone / threads) if together and alone and threads > 1 else common.fork,
        threads=threads,
    )


def _job(text: str, target: Target, threads: int, machine: Facts) -> Job:
    context = Context()
    for dialect in (Builtin, Relay):
        context.load_dialect(dialect)
    func = Parser(context, text).parse_op()
    assert isinstance(func, FuncOp)
    func = anonymous(func)
    draft = draft_kernel(func, target, code_key(target, printed(func)))
    code = Code(draft.symbol, compile_text(draft.llvm, target).object, draft.workspace)
    rng = np.random.default_rng(0)
    inputs = tuple(rng.standard_normal(shape, np.float32).astype(dtype) for shape, dtype in specs_of(func.block.args))
    ((shape, dtype),) = specs_of(func.return_op.values)
    output = TensorSpec("", shape, dtype)
    return Job(
        inputs=inputs,
        weights=(),
        outputs=(output,),
        default=code,
        candidates=(code,),
        protocol=Protocol(pairs=2, threads=threads),
        machine=machine,
    )
