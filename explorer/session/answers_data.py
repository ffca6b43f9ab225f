"""The verdicts and an overview of a session as JSON values, for other programs."""

from __future__ import annotations

from collections import Counter
from typing import Any

from .document import Session
from .judgement import Verdict
from .verdicts import verdicts


def answers_data(session: Session) -> dict[str, Any]:
    """Return an overview of a session, the verdict on each run, and those on layers, the longest first.

    Times are in seconds of the processors, sizes in bytes; -1.0 and "" stand for what was not measured.
    """
    every = verdicts(session)
    return {
        "overview": _overview(session),
        "runs": [_run(session, each) for each in every if each.layer < 0],
        "layers": [_layer(session, each) for each in every if each.layer >= 0],
    }


def _overview(session: Session) -> dict[str, Any]:
    origin = session.made_by
    return {
        "model": origin.model,
        "command": origin.command,
        "whence": origin.whence,
        "target": origin.target,
        "opt_level": origin.opt_level,
        "threads": origin.threads,
        "cpu": origin.cpu,
        "compile_seconds": origin.compile_seconds,
        "layers": Counter(session.layers.kind)["layer"],
        "calls": len(session.calls),
        "kernels": len(session.kernels),
        "instructions": sum(kernel.instructions for kernel in session.kernels),
        "code_bytes": sum(kernel.bytes for kernel in session.kernels),
        "notes": origin.notes,
    }


def _run(session: Session, verdict: Verdict) -> dict[str, Any]:
    program = session.programs[verdict.program]
    times = next((times for times in session.times if times.program == verdict.program), None)
    memory = next((plan for plan in session.memory if plan.program == verdict.program), None)
    return {
        "program": program.name,
        "kind": program.kind,
        "about": program.about,
        **_judged(verdict),
        "wall_seconds": times.walls if times is not None else [],
        "taken": times.taken if times is not None else -1.0,
        "arena_bytes": memory.arena if memory is not None else -1,
        "parameter_bytes": memory.parameters if memory is not None else -1,
    }


def _layer(session: Session, verdict: Verdict) -> dict[str, Any]:
    layers, row = session.layers, verdict.layer
    return {
        "layer": layers.name[row],
        "type": layers.type[row],
        "program": session.programs[verdict.program].name,
        **_judged(verdict),
    }


def _judged(verdict: Verdict) -> dict[str, Any]:
    return {
        "seconds": verdict.seconds,
        "share": verdict.share,
        "estimated": verdict.estimated,
        "bound": verdict.bound,
        "reached": verdict.reached,
        "answers": {answer.about: answer.text for answer in verdict.answers},
    }
