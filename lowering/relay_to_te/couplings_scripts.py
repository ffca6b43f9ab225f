"""Probabilities of classes from those of pairs, as a hybrid script. Rows may run in parallel."""
# pyright: reportUndefinedVariable=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false
# ruff: noqa: F821

from __future__ import annotations

from typing import Any

from ... import te


@te.hybrid.script
def coupled(x: Any, rows: Any, classes: Any, dtype: Any, one: Any, rounds: Any, enough: Any, wide: Any) -> Any:
    """Probabilities (rows, classes): from equal ones on, one after the other is brought nearer to the solution."""
    p = output_tensor((rows, classes), dtype)
    q = allocate((rows, classes, classes), dtype, "global")
    qp = allocate((rows, classes), dtype, "global")
    for n in range(rows):
        for i in range(classes):
            p[n, i] = one / classes
            q[n, i, i] = one * 0.0
        for i in range(classes):
            for j in range(classes):
                if i < j:
                    first = wide(x[n, i * (2 * classes - i - 1) // 2 + j - i - 1])
                    second = one - first
                    q[n, i, i] += second * second
                    q[n, j, j] += first * first
                    q[n, i, j] = first * second * -1.0
                    q[n, j, i] = first * second * -1.0
        turn = int32(0)
        while turn < rounds:
            total = one * 0.0
            for i in range(classes):
                qp[n, i] = one * 0.0
                for j in range(classes):
                    qp[n, i] += q[n, i, j] * p[n, j]
                total += p[n, i] * qp[n, i]
            error = one * 0.0
            for i in range(classes):
                error = max(error, te.abs(qp[n, i] - total))
            turn += 1
            if error < enough:
                turn = int32(rounds)
            else:
                for i in range(classes):
                    step = (total - qp[n, i]) / q[n, i, i]
                    p[n, i] += step
                    total = (total + step * (step * q[n, i, i] + 2.0 * qp[n, i])) / ((one + step) * (one + step))
                    for j in range(classes):
                        qp[n, j] = (qp[n, j] + step * q[n, i, j]) / (one + step)
                        p[n, j] = p[n, j] / (one + step)
    return p
