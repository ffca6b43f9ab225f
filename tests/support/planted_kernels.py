"""Small kernels in LLVM IR, good ones and such as are wrong in one way, for what measures candidates."""

from __future__ import annotations

from functools import cache

import numpy as np

from whence.lowering.llvm_to_native.compile import compile_text
from whence.lowering.llvm_to_native.target import Target
from whence.runtime.values.tensors import TensorSpec
from whence.tuning.jobs import Code, Job, Protocol
from whence.tuning.machines import machine_here

SIZE = 1000
"""Elements of each tensor."""
WORKSPACE = 256
QUICK = Protocol(pairs=3, batch_seconds=2e-4, seconds=5.0)

_LOOP = """
declare void @exit(i32)
define void @product(ptr %a, ptr %w, ptr %out, ptr %workspace, ptr %pool) {{
entry:
  br label %again
again:
  %turn = phi i64 [ 0, %entry ], [ %next_turn, %done ]
  br label %loop
loop:
  %i = phi i64 [ {begin}, %again ], [ %next, %loop ]
  %pa = getelementptr float, ptr %a, i64 %i
  %pw = getelementptr float, ptr %w, i64 %i
  %po = getelementptr float, ptr %out, i64 %i
  %x = load float, ptr %pa
  %y = load float, ptr %pw
  %z = fmul float %x, %y
  store volatile float %z, ptr %po
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, {size}
  br i1 %more, label %loop, label %done
done:
  %next_turn = add i64 %turn, 1
  %again_more = icmp ult i64 %next_turn, {turns}
  br i1 %again_more, label %again, label %end
end:
  {end}
  ret void
}}
"""
"""The product of two tensors."""
_ENDS = {
    "good": "",
    "off": """%p = getelementptr float, ptr %out, i64 7
  %v = load float, ptr %p
  %u = fadd float %v, 0.125
  store float %u, ptr %p""",
    "beyond": f"%p = getelementptr float, ptr %out, i64 {SIZE}\n  store volatile float 1.0, ptr %p",
    "before": "%p = getelementptr float, ptr %out, i64 -1\n  store volatile float 1.0, ptr %p",
    "far": f"%p = getelementptr float, ptr %out, i64 {SIZE + 1500}\n  store volatile float 1.0, ptr %p",
    "workspace": f"%p = getelementptr i8, ptr %workspace, i64 {WORKSPACE}\n  store volatile i8 1, ptr %p",
    "input": "%p = getelementptr float, ptr %a, i64 3\n  store volatile float 1.0, ptr %p",
    "weight": "%p = getelementptr float, ptr %w, i64 3\n  store volatile float 1.0, ptr %p",
    "segfault": "%p = inttoptr i64 8 to ptr\n  store volatile i8 1, ptr %p",
    "hang": "br label %forever\nforever:\n  %l = load volatile i8, ptr %a\n  br label %forever",
    "exit": "call void @exit(i32 3)",
    "trap": "call void @llvm.trap()",
}


@cache
def planted(flaw: str) -> Code:
    """Return the product of two tensors, with a flaw: the name of one of `_ENDS`, or

    unwritten: an element is never written; positive: right for numbers above zero; slow: many times as slow.
    """
    text = _LOOP.format(
        begin=1 if flaw == "unwritten" else 0,
        size=SIZE,
        turns=16 if flaw == "slow" else 1,
        end=_ENDS.get(flaw, ""),
    )
    if flaw == "positive":
        text = text.replace("%z = fmul float %x, %y", "%v = fmul float %x, %y\n  %z = call float @llvm.fabs(float %v)")
        text += "declare float @llvm.fabs(float)\n"
    if flaw == "hang":
        text = text.replace("br label %forever\n  ret void", "br label %forever")
    return Code("product", compile_text(text, Target.native()).object, WORKSPACE)


def product_job(*flaws: str, protocol: Protocol = QUICK, default: str = "good") -> Job:
    """Return a job with a candidate for each flaw; its numbers are all above zero."""
    generator = np.random.default_rng(1)
    a, w = (generator.uniform(0.5, 1.5, SIZE).astype(np.float32) for _ in range(2))
    return Job(
        inputs=(a, w),
        weights=(1,),
        outputs=(TensorSpec("out", (SIZE,), np.dtype(np.float32)),),
        default=planted(default),
        candidates=tuple(map(planted, flaws)),
        protocol=protocol,
        machine=machine_here(),
    )
