"""What steps of the virtual machine cost, beside the same programs in Python on numpy's scalars.

Prints medians in microseconds per iteration, of runs that take turns, on one thread: a loop by recursion in tail
position, a recursion that waits, and the reversal of a list, which is control and data alone.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

import whence
from whence.executables.virtual_machine import VirtualExecutable
from whence.runtime.interpreting.flow import Adt

LOOP, DEPTH, LENGTH = 100_000, 10_000, 10_000
ROUNDS = 5
PROGRAM = """
relay.func @count(%i: tensor<i32>, %n: tensor<i32>) -> (tensor<i32>) {
  %c = relay.less %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %r = relay.if %c : tensor<i1> -> tensor<i32> {
    %one = relay.constant dense<1> : tensor<i32>
    %j = relay.add %i, %one : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %a = relay.call @count(%j, %n) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    relay.yield %a : tensor<i32>
  } else {
    relay.yield %i : tensor<i32>
  }
  relay.return %r : tensor<i32>
}
relay.func @sum(%n: tensor<i32>) -> (tensor<i32>) {
  %zero = relay.constant dense<0> : tensor<i32>
  %c = relay.less %zero, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %r = relay.if %c : tensor<i1> -> tensor<i32> {
    %one = relay.constant dense<1> : tensor<i32>
    %j = relay.subtract %n, %one : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %a = relay.call @sum(%j) : (tensor<i32>) -> tensor<i32>
    %s = relay.add %a, %n : (tensor<i32>, tensor<i32>) -> tensor<i32>
    relay.yield %s : tensor<i32>
  } else {
    relay.yield %zero : tensor<i32>
  }
  relay.return %r : tensor<i32>
}
relay.type_data @List { Cons(tensor<i32>, !relay.adt<@List, []>), Nil() }
relay.func @reverse(%xs: !relay.adt<@List, []>, %ys: !relay.adt<@List, []>) -> (!relay.adt<@List, []>) {
  %r = relay.match %xs : !relay.adt<@List, []> -> !relay.adt<@List, []> {
  case @Cons(%h: tensor<i32>, %t: !relay.adt<@List, []>) {
    %zs = relay.construct @Cons(%h, %ys) : (tensor<i32>, !relay.adt<@List, []>) -> !relay.adt<@List, []>
    %q = relay.call @reverse(%t, %zs) : (!relay.adt<@List, []>, !relay.adt<@List, []>) -> !relay.adt<@List, []>
    relay.yield %q : !relay.adt<@List, []>
  }
  case @Nil() {
    relay.yield %ys : !relay.adt<@List, []>
  }
  }
  relay.return %r : !relay.adt<@List, []>
}
relay.func @main(%n: tensor<i32>) -> (tensor<i32>) {
  %zero = relay.constant dense<0> : tensor<i32>
  %r = relay.call @count(%zero, %n) : (tensor<i32>, tensor<i32>) -> tensor<i32>
  relay.return %r : tensor<i32>
}
"""


def count(n: NDArray[Any]) -> Any:
    i, one = np.asarray(0, np.int32), np.asarray(1, np.int32)
    while np.less(i, n):
        i = np.add(i, one)
    return i


def summed(n: NDArray[Any]) -> Any:
    zero, one = np.asarray(0, np.int32), np.asarray(1, np.int32)
    return np.add(summed(np.subtract(n, one)), n) if np.less(zero, n) else zero


def reverse(xs: Adt, ys: Adt) -> Adt:
    while xs.name == "Cons":
        xs, ys = xs[1], Adt(0, "Cons", (xs[0], ys))
    return ys


def microseconds(run: Callable[[], object], steps: int) -> float:
    start = time.perf_counter()
    run()
    return (time.perf_counter() - start) / steps * 1e6


def main() -> None:
    sys.setrecursionlimit(3 * DEPTH)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "steps.mlir"
        path.write_text(PROGRAM)
        exe = whence.compile(path, threads=1)
    assert isinstance(exe, VirtualExecutable)
    machine = exe
    nil = listed = Adt(1, "Nil")
    for value in range(LENGTH):
        listed = Adt(0, "Cons", (np.asarray(value, np.int32), listed))
    loop, depth = np.asarray(LOOP, np.int32), np.asarray(DEPTH, np.int32)
    rows: list[tuple[str, int, Callable[[], Any], Callable[[], Any]]] = [
        ("count in tail position", LOOP, lambda: machine(loop), lambda: count(loop)),
        ("sum that waits", DEPTH, lambda: machine.invoke("sum", depth), lambda: summed(depth)),
        ("reverse a list", LENGTH, lambda: machine.invoke("reverse", listed, nil), lambda: reverse(listed, nil)),
    ]
    print(f"{'microseconds per iteration':28} {'whence':>8} {'Python':>8}")
    for name, steps, ours, theirs in rows:
        found, wanted = ours(), theirs()
        assert isinstance(found, Adt) or found == wanted
        taken = [(microseconds(ours, steps), microseconds(theirs, steps)) for _ in range(ROUNDS)]
        mine, other = (median(column) for column in zip(*taken, strict=True))
        print(f"{name:28} {mine:8.2f} {other:8.2f}")


if __name__ == "__main__":
    main()
