"""What must hold of every Relay program: through expressions, each pass, the pipelines, the compiler, without spans.

The reference is the interpreter of ops in numpy, on the module as it was elaborated.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from functools import partial
from io import StringIO
from typing import Any, cast

import numpy as np
from relay_examples import ROWS
from xdsl.dialects.builtin import ModuleOp
from xdsl.printer import Printer
from xdsl.transforms import get_all_passes
from xdsl.utils.exceptions import VerifyException

import whence
from whence.dialects.relay.core import FuncOp
from whence.dialects.relay.interpret import Evaluator
from whence.passes.classes import pass_class
from whence.passes.pipelines import relay_pipeline, run_passes
from whence.passes.transform.passes import named
from whence.runtime.interpreting.flow import Adt
from whence.support.dtypes import Array
from whence.support.errors import PipelineError
from whence.syntax.relay.elaborate import elaborate
from whence.syntax.relay.equal import structural_equal
from whence.syntax.relay.expr import Program
from whence.syntax.relay.nodes import post_order
from whence.syntax.relay.view import view
from whence.syntax.text import astext, parse

PASSES = {row.name: partial(pass_class, row) for row in ROWS} | {
    name: get_all_passes()[name] for name in ("canonicalize", "cse", "dce", "control-flow-hoist")
}
"""Our passes, and those of xDSL that work on any dialect."""
OPTIONS: dict[str, dict[str, Any]] = {
    "relay-annotate-target": {"targets": ("onnxruntime",)},
    "relay-merge-composite": {"compiler": "onnxruntime"},
    "relay-first-order-gradient": {"function": "main", "higher_order": True},
}
"""Of passes that do not run without."""
SEQUENCES = {
    "partition": ("annotate-target", "merge-compiler-regions", "partition-graph"),
    "reshapes": ("fuse-ops", "remove-standalone-reshapes"),
}
"""Passes that have nothing to do unless others ran."""
LEVELS = (0, 1, 2, 3)
HALF, FULL = 0.1, 3e-3
"""How far off results may be, relative to the largest element of a tensor, or 1: in programs with float16, without."""
GRADIENT = "relay-first-order-gradient"


class Failure(AssertionError):
    """What does not hold. `stage` says of what, `kind` in short what is wrong: a shorter program fails alike."""

    def __init__(self, stage: str, kind: str, text: str, module: ModuleOp | None = None):
        super().__init__(f"{stage}: {kind}: {text}")
        self.stage, self.kind, self.text, self.module = stage, kind, text, module


@contextmanager
def stage(name: str, module: ModuleOp | None = None) -> Generator[None]:
    """Within it whatever is raised is a failure of this stage."""
    try:
        yield
    except Failure:
        raise
    except Exception as error:
        text = " ".join(str(error).split())
        kind = type(error).__name__
        if error.__traceback__ is not None:
            last = error.__traceback__
            while last.tb_next is not None:
                last = last.tb_next
            kind += f" in {os.path.basename(last.tb_frame.f_code.co_filename)}:{last.tb_frame.f_code.co_name}"
        raise Failure(name, kind, text[:600], module) from error


def printed(module: ModuleOp, locations: bool = True) -> str:
    stream = StringIO()
    Printer(stream, print_debuginfo=locations).print_op(module)
    return stream.getvalue()


def state(module: ModuleOp) -> list[Any]:
    """What tells whether somebody changed a module."""
    return [(op, op.location, *op.operands, *op.properties.items(), *op.attributes.items()) for op in module.walk()]


def first_difference(wanted: str, got: str) -> str:
    pairs = zip(wanted.splitlines(), got.splitlines(), strict=False)
    line = next(((a, b) for a, b in pairs if a != b), ("", "more or fewer lines"))
    return f"wanted {line[0].strip()[:300]!r}, got {line[1].strip()[:300]!r}"


class Checker:
    """Checks a program. `only`: the one stage that is of interest."""

    def __init__(self, program: Program, inputs: Sequence[Array], only: str = ""):
        self.program, self.inputs, self.only = program, inputs, only
        self.texts = True
        with stage("elaborate"):
            self.module = elaborate(program)
        with stage("interpreter", self.module):
            self.expected = Evaluator(self.module).invoke("main", *inputs)
        _finite(self.expected)
        self.text = printed(self.module)
        self.before = state(self.module)
        self.main = _main(self.module).function_type
        self.tolerance = HALF if " f16" in self.text or "xf16" in self.text or "<f16" in self.text else FULL

    def wants(self, name: str) -> bool:
        return not self.only or self.only == name

    def check(
        self,
        levels: Iterable[int] = (),
        names: Iterable[str] = tuple(PASSES),
        pipelines: Iterable[int] = LEVELS,
        spans: bool = True,
        texts: bool = True,
    ) -> None:
        """Everything, or a part of it, with the program compiled at `levels`. Raises Failure.

        texts: what passes made is printed and read back, too.
        """
        self.texts = texts
        if self.wants("view"):
            self._view()
        if self.wants("text"):
            self._text()
        for name in names:
            if self.wants(f"pass {name}"):
                self._passes(f"pass {name}", [name])
        for title, sequence in SEQUENCES.items():
            if self.wants(title):
                self._passes(title, [f"relay-{name}" for name in sequence])
        for level in pipelines:
            if self.wants(f"pipeline {level}"):
                self._pipeline(level)
        if spans and self.wants("spans"):
            self._without_spans()
        for level in levels:
            if self.wants(f"compile {level}"):
                self._compiled(level)

    def _same(self, name: str, found: Any, module: ModuleOp | None = None, tolerance: float = 0.0) -> None:
        if what := difference(self.expected, found, max(tolerance, self.tolerance)):
            raise Failure(name, "result", what, module)

    def _interpreted(self, name: str, module: ModuleOp, tolerance: float = 0.0) -> None:
        if module.is_structurally_equivalent(self.module):
            return
        with stage(name, module):
            module.verify()
        if (types := _main(module).function_type) != self.main and not name.endswith(("to-mixed-precision", GRADIENT)):
            raise Failure(name, "types", f"@main was {self.main}, is {types}", module)
        with stage(name, module):
            found = Evaluator(module).invoke("main", *self.inputs)
            if name.endswith(GRADIENT):
                # The gradients come last.
                *found, gradients = found
                found = found[0] if len(found) == 1 else tuple(found)
                shapes = [(array.shape, array.dtype) for array in gradients]
                assert shapes == [(array.shape, array.dtype) for array in self.inputs]
        self._same(name, found, module, tolerance)

    def _view(self) -> None:
        wanted = self.text
        with stage("view", self.module):
            again = elaborate(view(self.module))
        if any(word in self.text for word in (" impure ", "relay.ref_", "relay.let")):
            # What happens in some order is in lets then, and these come before what they are a part of.
            self._interpreted("view", again)
            if " impure " in self.text:
                # A call of several results, or none, that a let names gets another name each time.
                return
            wanted, again = printed(again), elaborate(view(again))
        if (text := printed(again)) != wanted:
            raise Failure("view", "module", first_difference(wanted, text), again)
        self._interpreted("view", again)

    def _text(self, where: str = "text", module: ModuleOp | None = None, tolerance: float = 0.0) -> None:
        """Print a module, read that, and compare: the expressions, their spans, and what the ops of them compute."""
        module = module or self.module
        with stage(f"{where} as text", module):
            shown = view(module)
            text = astext(shown)
            read = parse(text)
        if not structural_equal(shown, read):
            raise Failure(f"{where} as text", "program", first_difference(text, astext(read)), module)
        # What has no spans at all gets those of the text.
        written = any(node.span is not None for one in shown.functions.values() for node in post_order(one))
        if written and not structural_equal(shown, read, spans=True):
            raise Failure(f"{where} as text", "spans", first_difference(text, astext(read)), module)
        with stage(f"{where} as text", module):
            again = elaborate(read)
        self._interpreted(where, again, tolerance)

    def _made(self, where: str, module: ModuleOp, tolerance: float = 0.0) -> None:
        """Check what passes made of the module: what it computes, and its text."""
        if not module.is_structurally_equivalent(self.module):
            self._interpreted(where, module, tolerance)
            if self.texts:
                self._text(where, module, tolerance)

    def _passes(self, where: str, names: Sequence[str]) -> None:
        made = self.module
        for name in names:
            with stage(where, made):
                try:
                    made = named(PASSES[name]()(**OPTIONS.get(name, {})))(made)
                except PipelineError:
                    return
                except VerifyException:
                    if name == GRADIENT:
                        # What has no gradient says so.
                        return
                    raise
        if state(self.module) != self.before:
            raise Failure(where, "input changed", first_difference(self.text, printed(self.module)), self.module)
        self._made(where, made, HALF if "relay-to-mixed-precision" in names else 0.0)

    def _pipeline(self, level: int) -> None:
        where = f"pipeline {level}"
        made = self.module.clone()
        with stage(where, made):
            run_passes(made, relay_pipeline(level), audit=True)
        self._made(where, made)

    def _without_spans(self) -> None:
        with stage("spans"):
            # A pool of its own: names of constants tell what was in it before.
            made = elaborate(self.program)
            wanted = printed(made, locations=False)
            run_passes(made, relay_pipeline(3))
            with whence.PassContext(config={"relay.frontend.fill_span": False, "ir.enable_si_builder": False}):
                without = elaborate(self.program)
                plain = printed(without, locations=False)
                run_passes(without, relay_pipeline(3))
        if plain != wanted:
            raise Failure("spans", "elaborated", first_difference(wanted, plain), without)
        if (text := printed(without, locations=False)) != (wanted := printed(made, locations=False)):
            raise Failure("spans", "optimised", first_difference(wanted, text), without)

    def _compiled(self, level: int) -> None:
        where = f"compile {level}"
        with stage(where, self.module):
            found: Any = whence.compile(self.module, opt_level=level, threads=1, audit=True)(*self.inputs)
        if state(self.module) != self.before:
            raise Failure(where, "input changed", first_difference(self.text, printed(self.module)), self.module)
        self._same(where, found, self.module)


def _main(module: ModuleOp) -> FuncOp:
    for op in module.ops:
        if isinstance(op, FuncOp) and op.sym_name.data == "main":
            return op
    raise Failure("module", "no main", "expected @main, got none", module)


def leaves(value: Any) -> list[tuple[str, Any]]:
    """What a value is made of, in order, each with where it is."""
    found: list[tuple[str, Any]] = []
    stack: list[tuple[str, Any]] = [("", value)]
    while stack:
        where, one = stack.pop()
        if isinstance(one, Adt):
            found.append((where, one.name))
            stack += [(f"{where}.{one.name}{k}", field) for k, field in enumerate(one.fields)]
        elif isinstance(one, tuple):
            fields = cast("tuple[Any, ...]", one)
            found.append((where, len(fields)))
            stack += [(f"{where}.{k}", field) for k, field in enumerate(fields)]
        elif callable(one):
            found.append((where, "a function"))
        else:
            found.append((where, np.asarray(one)))
    return found


def _finite(value: Any) -> None:
    for where, one in leaves(value):
        if not isinstance(one, str | int) and one.dtype.kind == "f" and not np.isfinite(one).all():
            raise Failure("interpreter", "wild", f"at {where or 'the result'}: {one}")


def difference(wanted: Any, got: Any, tolerance: float) -> str:
    """What is wrong with a result, or nothing."""
    first, second = leaves(wanted), leaves(got)
    for (where, a), (other, b) in zip(first, second, strict=False):
        if where != other or isinstance(a, str | int) or isinstance(b, str | int):
            if where != other or a != b:
                return f"at {where}: {b}, wanted {a}"
            continue
        if tolerance == HALF and a.dtype.kind == b.dtype.kind == "f":
            b = b.astype(a.dtype)
        if (a.shape, a.dtype) != (b.shape, b.dtype):
            return f"at {where}: {b.dtype}{list(b.shape)}, wanted {a.dtype}{list(a.shape)}"
        near = tolerance * max(1.0, float(np.abs(a.astype(np.float64)).max(initial=0))) if a.dtype.kind == "f" else 0.0
        off = np.abs(a.astype(np.float64) - b.astype(np.float64))
        if not (off <= near).all():
            return f"at {where}: off by up to {off.max():.3g}, wanted {a.ravel()[:4]}.., got {b.ravel()[:4]}.."
    return "" if len(first) == len(second) else f"{len(second)} parts, wanted {len(first)}"
