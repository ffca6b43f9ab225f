"""The warning that products in a half precision that somebody asked for are slower than those of float32."""

from __future__ import annotations

import json
import time
import warnings

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.parser import Parser

from whence.dialects.relay import Relay
from whence.dialects.relay.constants import ConstantPool, set_pool
from whence.lowering.cache import KernelCache
from whence.lowering.fingerprint import native_key
from whence.lowering.llvm_to_native.target import Target
from whence.lowering.llvm_to_native.thread_pool import thread_pool
from whence.passes.pipelines import PRECISIONS
from whence.planning.build import Building
from whence.planning.loading import load
from whence.provenance.ledger import Ledger
from whence.support.context import PassContext
from whence.support.errors import PrecisionWarning

_ROWS, _TERMS, _COLUMNS = 64, 512, 512
_LAYER = f"""
relay.func @main(%x: tensor<{_ROWS}x{_TERMS}xf32>) -> (tensor<{_ROWS}x{_COLUMNS}xf32>) {{
  %w = relay.constant @w : tensor<{_COLUMNS}x{_TERMS}xf32>
  %y = relay.nn.dense %x, %w
      : (tensor<{_ROWS}x{_TERMS}xf32>, tensor<{_COLUMNS}x{_TERMS}xf32>) -> tensor<{_ROWS}x{_COLUMNS}xf32>
  relay.return %y : tensor<{_ROWS}x{_COLUMNS}xf32>
}}
"""
_ROUNDS, _SECONDS = 7, 2e-3
"""The number of measurements of each precision, in turn, and the least CPU time of one."""
_SLOWER = 1.1
"""A ratio of times that no disturbance explains."""


def warn_of_slow_half(precision: str, target: Target) -> None:
    """Warn if the machine is slower in a precision than in float32: by a measurement here, by its record elsewhere."""
    half = PRECISIONS.get(precision, "float32")
    if half == "float32" or target.hardware.gains_by(half):
        return
    lacks = f"{target.cpu or target.hardware.name} has no fast products of {half}"
    if target != Target.native():
        text = f"'{precision}' is not faster than 'f32', and may be slower: {lacks} (not measured)"
    elif (ratio := slowdown(precision, target)) > _SLOWER:
        layer = f"a dense layer of {_ROWS} rows, {_TERMS} terms and {_COLUMNS} columns, measured in one thread"
        text = f"'{precision}' takes about {ratio:.1f} times as long as 'f32' for {layer}: {lacks}"
    else:
        return
    warnings.warn(f"precision: {text}", PrecisionWarning, stacklevel=2)


def slowdown(precision: str, target: Target) -> float:
    """Return the time of a dense layer in a precision, in times of float32; measured once and kept with the kernels."""
    store, key = KernelCache(), native_key(target.key, "slowdown", precision, _LAYER)
    if (kept := store.get(key)) is None:
        kept = json.dumps(_measured(precision, target)).encode()
        store.put(key, kept)
    return float(json.loads(kept))


def _measured(precision: str, target: Target) -> float:
    pool, x = thread_pool(1), np.ones((_ROWS, _TERMS), np.float32)
    with PassContext(opt_level=3):
        runners = [load(Building(target, 3, precision=word)(_module(), Ledger())) for word in ("f32", precision)]
    best = [float("inf")] * len(runners)
    for _ in range(_ROUNDS):
        for number, runner in enumerate(runners):
            calls, start, taken = 0, time.thread_time(), 0.0
            while taken < _SECONDS:
                runner.run([x], pool)
                calls, taken = calls + 1, time.thread_time() - start
            best[number] = min(best[number], taken / calls)
    return best[1] / best[0]


def _module() -> ModuleOp:
    context = Context()
    for dialect in (Builtin, Relay):
        context.load_dialect(dialect)
    module, pool = Parser(context, _LAYER).parse_module(), ConstantPool()
    pool.add("w", np.ones((_COLUMNS, _TERMS), np.float32))
    set_pool(module, pool)
    return module
