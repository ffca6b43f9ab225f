"""What `-t asm` prints can be assembled, whatever the layers are called."""

from __future__ import annotations

from io import StringIO
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from whence.lowering.llvm_to_native.compile import assemble
from whence.lowering.llvm_to_native.target import Target
from whence.lowering.targets import AssemblyTarget
from whence.provenance.span import layer_location

KERNEL = """
tir.prim_func @k(%x: !tir.buffer<64xf32>, %o: !tir.buffer<64xf32>) outputs 1 {
  tir.for %i in 64 {
    %a = tir.load %x[%i] : !tir.buffer<64xf32> -> f32
    tir.store %a, %o[%i] : f32, !tir.buffer<64xf32>
  }
}"""


def listing(module: ModuleOp) -> str:
    out = StringIO()
    AssemblyTarget().emit(Context(), module, out)
    return out.getvalue()


def test_a_name_cannot_end_a_comment(parse: Any) -> None:
    module = parse(KERNEL)
    plain = listing(module)
    for op in module.walk():
        op.location = layer_location("conv\n  ud2\r\u2028\\x\x00# é", "m.onnx", 0)
    named = listing(module)
    # All that follows a line break, of any kind, is a comment or what was there before.
    code = [line for line in named.splitlines() if not line.startswith("  #")]
    assert code == [line for line in plain.splitlines() if not line.startswith("  #")]
    assert r"# conv\n  ud2\r\u2028\\x\x00# é | " in named
    assert assemble(named, Target.native())
