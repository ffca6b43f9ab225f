"""The choices that tuning has for kernels that take long: how many there are, and the best by estimate."""

from __future__ import annotations

from collections.abc import Sequence

from ...lowering.kernel.record import Kernel
from ...lowering.kernel.slots import anonymous
from ...lowering.kernel.space import kernel_space
from ...lowering.relay_to_te.cost import Rates
from ...planning.artifact import Artifact
from ..layers import functions
from .bounds import Knobs
from .budget import Budget
from .document import Session

_SECONDS = 2.0
"""CPU seconds for the spaces of all kernels; each takes as long as a schedule."""


def add_knobs(
    session: Session, artifact: Artifact, kernels: Sequence[int], seconds: Sequence[float], rates: Rates
) -> None:
    """Record the choices of a program's kernels, the longest first, as far as there is time.

    kernels[i]: the row of the artifact's kernel i. seconds: of each call. Kernels that tuning decided about have none,
    nor have those of open sizes, and those whose function is not known.
    """
    if not artifact.snapshots:
        return
    by_name = functions(artifact.snapshots[-1].module)
    spent = [0.0] * len(artifact.kernels)
    called: dict[int, str] = {}
    for call, took in zip(artifact.calls, seconds, strict=True):
        spent[call.kernel] += took
        called.setdefault(call.kernel, call.name)
    budget = Budget(_SECONDS)
    for number in sorted(called, key=lambda number: -spent[number]):
        kernel, func = artifact.kernels[number], by_name.get(called[number])
        if not budget.lasts():
            break
        if not isinstance(kernel, Kernel) or func is None or kernel.sizes or kernel.decisions or kernel.refusal:
            continue
        points = kernel_space(anonymous(func), artifact.target.hardware).points()
        costs = points.costs(rates)
        best = int(costs.argmin())
        if len(points) > 1 and costs[0] > 0:
            decisions = ", ".join(f"{name} = {number}" for name, number in sorted(points.decisions(best).items()))
            session.kernels[kernels[number]].knobs = Knobs(len(points), float(costs[0]), float(costs[best]), decisions)
