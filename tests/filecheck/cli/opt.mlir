// RUN: whence-opt %s -p relay-fuse-ops,relay-dead-code-elimination --audit --print-between-passes --print-debuginfo 2>&1 | filecheck %s
// RUN: whence-opt %s -p relay-fuse-ops --snapshot-dir %t && filecheck %s --input-file %t/01-relay-fuse-ops.mlir --check-prefix=SNAPSHOT
// RUN: whence-opt %s -p relay-fuse-ops -o %t.out.mlir && whence-opt %t.out.mlir --print-debuginfo | filecheck %s --check-prefix=SNAPSHOT
// RUN: whence-opt %s -p relay-fuse-ops -t 'asm{target="llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=haswell"}' | filecheck %s --check-prefix=ASM
// RUN: not whence-opt %s -p relay-fuse-ops,relay-fuse-op 2>&1 | filecheck %s --check-prefix=ERROR

// CHECK:      IR after relay-fuse-ops:
// CHECK:      relay.call @fused_nn_relu(%x) : (tensor<8xf32>) -> tensor<8xf32> loc("act"("m.onnx":0:0))
// CHECK:      relay.func primitive @fused_nn_relu(
// CHECK:      ops  located  leaves  explained  lost  after
// CHECK-NEXT:   3    100 %       3          0     0  input
// CHECK-NEXT:   6    100 %       3          0     0  relay-fuse-ops
// CHECK-NEXT:   6    100 %       3          0     0  relay-dead-code-elimination

// SNAPSHOT:   relay.call @fused_nn_relu(%x) : (tensor<8xf32>) -> tensor<8xf32> loc("act"("m.onnx":0:0))

// ASM:        fused_nn_relu:
// ASM:          # act | {{.*}}tir.select
// ASM-NEXT:     vmaxps

// ERROR:      whence-opt: error: pipeline "relay-fuse-ops,relay-fuse-op", column 16: unknown pass 'relay-fuse-op' (did you mean relay-fuse-ops
relay.func @main(%x: tensor<8xf32> loc("x")) -> (tensor<8xf32>) {
  %0 = relay.nn.relu %x : (tensor<8xf32>) -> tensor<8xf32> loc("act"("m.onnx":0:0))
  relay.return %0 : tensor<8xf32> loc("act"("m.onnx":0:0))
} loc("main")
