"""A program that fails, made short: parts are left out, or replaced by what is simpler, as long as it fails alike."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

import numpy as np
from random_relay_checks import Checker, Failure, printed
from random_relay_types import DATA, first_order
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute

from whence import relay
from whence.dialects.element_types import numpy_dtype
from whence.dialects.relay.types import AdtType, fields_of
from whence.support.dtypes import Array
from whence.syntax.relay.bind import substituted
from whence.syntax.relay.expr import (
    Call,
    Constant,
    Constructor,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    Match,
    Op,
    Program,
    RefRead,
    Tuple,
    Var,
)
from whence.syntax.relay.nodes import children, free_vars, pattern_vars, post_order
from whence.syntax.relay.view import view
from whence.syntax.text import astext


@dataclass(frozen=True)
class Candidate:
    """A program to try, and its inputs."""

    program: Program
    inputs: Sequence[Array]


def failure_of(candidate: Candidate, stage: str, levels: Sequence[int]) -> Failure | None:
    """How a program fails in a stage."""
    body = candidate.program.functions["main"].body
    if body.type is not None and not first_order(body.type):
        return None
    try:
        Checker(candidate.program, candidate.inputs, stage).check(levels)
    except Failure as failure:
        return failure
    return None


def shrunk(
    program: Program, inputs: Sequence[Array], failure: Failure, levels: Sequence[int], seconds: float = 60.0
) -> tuple[Candidate, Failure]:
    """The shortest program found that fails as `failure` says, and how it does."""
    best, end = Candidate(program, inputs), time.monotonic() + seconds
    progress = True
    while progress and time.monotonic() < end:
        progress = False
        for candidate in _shorter(best):
            if time.monotonic() > end:
                break
            found = failure_of(candidate, failure.stage, levels)
            if found is not None and found.kind == failure.kind:
                best, failure, progress = candidate, found, True
                break
    return best, failure


def write(folder: Path, name: str, candidate: Candidate, failure: Failure, seed: int) -> Path:
    """Write a program that fails as ops, and as Relay text where it has one."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.mlir"
    try:
        module = Checker(candidate.program, candidate.inputs, "nothing").module
    except Failure as error:
        if (module := error.module) is None:
            path.write_text(f"// seed {seed}\n// {failure}\n")
            return path
    path.write_text(f"// seed {seed}\n// {failure}\n{printed(module)}\n")
    if failure.stage not in ("view", "text"):
        (folder / f"{name}.relay").write_text(astext(view(module)))
    np.savez(folder / f"{name}.npz", *candidate.inputs)
    return path


def _shorter(candidate: Candidate) -> Iterator[Candidate]:
    """Programs that are shorter than one, the shortest first."""
    yield from _without_a_function(candidate)
    main = candidate.program.functions["main"]
    nodes = list(post_order(main.body))
    params = set(main.params)
    for node in nodes[:-1]:
        if not isinstance(node, Var | Op | GlobalVar | Constructor) and set(free_vars(node)) <= params:
            yield _with(candidate, "main", replace(main, body=node, ret_type=None))
    if isinstance(main.body, Tuple):
        for index in range(len(main.body.fields)):
            fields = [field for k, field in enumerate(main.body.fields) if k != index]
            yield _with(candidate, "main", replace(main, body=Tuple(fields), ret_type=None))
    for name, function in candidate.program.functions.items():
        for node in reversed(list(post_order(function.body))):
            for other in _simpler(node, candidate.program):
                body = substituted(function.body, {node: other})
                if set(free_vars(body)) <= set(function.params):
                    yield _with(candidate, name, replace(function, body=body))


def _without_a_function(candidate: Candidate) -> Iterator[Candidate]:
    functions = candidate.program.functions
    for name in functions.keys() - {"main"}:
        left = {other: function for other, function in functions.items() if other != name}
        nodes = (node for function in left.values() for node in post_order(function.body))
        if not any(isinstance(node, GlobalVar) and node.name_hint == name for node in nodes):
            yield Candidate(Program(left, dict(candidate.program.types)), candidate.inputs)


def _simpler(node: Expr, program: Program) -> Iterator[Expr]:
    """What may stand in the place of a node."""
    if isinstance(node, Var | Op | GlobalVar | Constructor | Constant):
        return
    for child in children(node):
        if child.type == node.type and not isinstance(child, Op | GlobalVar | Constructor):
            yield child
    match node:
        case Let():
            yield node.body
            yield substituted(node.body, {node.var: node.value})
        case If():
            yield node.true_branch
            yield node.false_branch
        case Match():
            yield from (clause.rhs for clause in node.clauses)
            for clause in node.clauses:
                values = {var: _plain(var.type) for var in pattern_vars(clause.lhs)}
                if all(value is not None for value in values.values()):
                    yield substituted(clause.rhs, {var: value for var, value in values.items() if value is not None})
            if len(node.clauses) > 1:
                yield from (
                    replace(node, clauses=[c for c in node.clauses if c is not clause]) for clause in node.clauses
                )
        case Call(op=Function() as function):
            yield substituted(function.body, dict(zip(function.params, node.args, strict=True)))
        case Call(op=GlobalVar(name)) if name in program.functions:
            called = program.functions[name]
            yield substituted(called.body, dict(zip(called.params, node.args, strict=True)))
        case _:
            pass
    if not isinstance(node, RefRead) and (simple := _plain(node.type)) is not None:
        yield simple


def _plain(type_: Attribute | None) -> Expr | None:
    """The simplest value of a type; None for functions, references and what is open."""
    if isinstance(type_, TensorType):
        tensor = cast("TensorType[Attribute]", type_)
        if any(extent < 0 for extent in tensor.get_shape()):
            return None
        return Constant(np.ones(tensor.get_shape(), numpy_dtype(tensor.element_type)))
    if (fields := fields_of(type_) if type_ is not None else None) is not None:
        values = [_plain(field) for field in fields]
        return None if any(value is None for value in values) else Tuple([v for v in values if v is not None])
    if isinstance(type_, AdtType):
        empty = [one for one in DATA[type_.definition.string_value()].constructors if not one.inputs]
        return relay.Call(empty[0], [], type_args=list(type_.arguments)) if empty else None
    return None


def _with(candidate: Candidate, name: str, function: Function) -> Candidate:
    """The program with another function; a `@main` without the parameters that it does not read."""
    functions = {**candidate.program.functions, name: function}
    inputs = list(candidate.inputs)
    if name == "main":
        read = set(free_vars(function.body))
        kept = [k for k, param in enumerate(function.params) if param in read]
        functions["main"] = replace(function, params=[function.params[k] for k in kept])
        inputs = [inputs[k] for k in kept]
    return Candidate(Program(functions, dict(candidate.program.types)), inputs)
