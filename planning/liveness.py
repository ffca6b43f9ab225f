"""Liveness of values in the regions of a program: unread ones go, and others go after their last reader."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from xdsl.ir import SSAValue

from ..runtime.interpreting.flow import Region, Step
from ..runtime.interpreting.language import Choose, Instruction, MakeClosures, Match, Native
from .stretches import Operators


def settle(regions: Sequence[Region], names: Mapping[SSAValue, str]) -> None:
    """Drop steps whose outputs nobody reads, and note when values die and which steps are in tail position.

    regions: of the whole program, each before those inside it.
    """
    free: dict[Region, set[str]] = {}
    for region in reversed(regions):
        free[region] = _prune(region, names, free)
    after: dict[Region, set[str]] = {}
    for region in regions:
        _bury(region, free, after)


def _inside(step: Step) -> tuple[Region, ...]:
    """The regions that run within the environment of a step."""
    return step.regions if isinstance(step, Choose) else ()


def _prune(region: Region, names: Mapping[SSAValue, str], free: Mapping[Region, set[str]]) -> set[str]:
    """The names that a region reads of what is around it; steps that give nothing that is read are gone."""
    live = set(region.outputs)
    kept: list[Step] = []
    for step in reversed(region.steps):
        assert isinstance(step, Instruction)
        if isinstance(step, Native) and isinstance(step.source, Operators):
            step.source.prune(step, names, live)
        if step.pure and live.isdisjoint(step.outputs):
            continue
        match step:
            case MakeClosures():
                step.captured = tuple(tuple(sorted(free[inner])) for inner in step.regions)
                step.inputs = tuple(sorted({name for read in step.captured for name in read} - set(step.outputs)))
            case Match():
                _bind_what_is_read(step, free)
            case _:
                pass
        live -= set(step.outputs)
        live.update(step.inputs, *(free[inner] for inner in _inside(step)))
        kept.append(step)
    region.steps[:] = kept[::-1]
    if kept:
        last = kept[0]
        last.tail = bool(region.outputs) and last.outputs == region.outputs
    return live - set(region.inputs)


def _bind_what_is_read(step: Match, free: Mapping[Region, set[str]]) -> None:
    """Have a clause bind only what its region reads."""
    for at, region in enumerate(step.regions):
        read = {name for inner in region.steps for name in inner.inputs}.union(
            region.outputs, *(free[body] for inner in region.steps for body in _inside(inner))
        )
        pairs = [
            (name, number) for name, number in zip(region.inputs, step.clauses[at].bound, strict=True) if name in read
        ]
        region.inputs = tuple(name for name, _ in pairs)
        step.clauses[at] = replace(step.clauses[at], bound=tuple(number for _, number in pairs))


def _bury(region: Region, free: Mapping[Region, set[str]], after: dict[Region, set[str]]) -> None:
    """Note what dies at each step.

    `after` has what regions around read behind this one, and gets the same for the inner ones. The outputs of the
    region are read by whoever ran it.
    """
    live = set(region.outputs) | after.pop(region, set())
    for step in reversed(region.steps):
        assert isinstance(step, Instruction)
        live -= set(step.outputs)
        inside = _inside(step)
        read = set(step.inputs).union(*(free[inner] for inner in inside))
        last = tuple(sorted(read - live))
        if isinstance(step, Choose):
            for inner in inside:
                after[inner] = live & free[inner]
            step.unread = tuple(tuple(name for name in last if name not in free[inner]) for inner in inside)
        else:
            step.dying = last
        live |= read
