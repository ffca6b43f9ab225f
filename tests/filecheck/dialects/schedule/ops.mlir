// RUN: xdsl-opt %s --print-debuginfo | filecheck %s
// RUN: xdsl-opt %s --print-debuginfo | xdsl-opt --print-debuginfo | filecheck %s
// RUN: xdsl-opt %s --print-op-generic --print-debuginfo | xdsl-opt --print-debuginfo | filecheck %s
// RUN: xdsl-opt %s --print-op-generic --print-debuginfo | filecheck %s --check-prefix=GENERIC

// CHECK:      schedule.sequence @fused_nn_dense {
// CHECK-NEXT:   %dense = schedule.stage "dense" loc("fc1"("m.onnx":2:0))
// CHECK-NEXT:   %relu = schedule.stage "relu" loc("relu1"("m.onnx":3:0))
// CHECK-NEXT:   %bias = schedule.stage "bias" loc("fc1"("m.onnx":2:0))
// CHECK-NEXT:   %i, %j = schedule.axes %relu : 2 loc("relu1"("m.onnx":3:0))
// CHECK-NEXT:   %j.outer, %j.inner = schedule.split %j factor 16 loc("relu1"("m.onnx":3:0))
// CHECK-NEXT:   schedule.reorder %j.outer, %i, %j.inner loc("relu1"("m.onnx":3:0))
// CHECK-NEXT:   %tile = schedule.fuse %j.outer, %i loc("relu1"("m.onnx":3:0))
// CHECK-NEXT:   schedule.parallel %tile loc("relu1"("m.onnx":3:0))
// CHECK-NEXT:   schedule.vectorize %j.inner loc("relu1"("m.onnx":3:0))
// CHECK-NEXT:   %acc = schedule.cache_write %dense "local" loc("fc1"("m.onnx":2:0))
// CHECK-NEXT:   schedule.compute_root %dense loc("fc1"("m.onnx":2:0))
// CHECK-NEXT:   schedule.compute_at %acc, %relu, %tile loc("fc1"("m.onnx":2:0))
// CHECK-NEXT:   %a, %b, %k = schedule.axes %acc : 3 loc("fc1"("m.onnx":2:0))
// CHECK-NEXT:   schedule.unroll %a loc("fc1"("m.onnx":2:0))
// CHECK-NEXT:   %one = schedule.singleton %acc loc("fc1"("m.onnx":2:0))
// CHECK-NEXT:   schedule.set_scope %dense "local" loc("fc1"("m.onnx":2:0))
// CHECK-NEXT:   schedule.compute_inline %bias loc("fc1"("m.onnx":2:0))
// CHECK-NEXT: } loc(fused["relu1"("m.onnx":3:0), "fc1"("m.onnx":2:0)])

// GENERIC: %j.outer, %j.inner = "schedule.split"(%j) <{factor = 16 : i64}> : (!schedule.axis) -> (!schedule.axis, !schedule.axis) loc("relu1"("m.onnx":3:0))
// GENERIC: "schedule.compute_at"(%acc, %relu, %tile) : (!schedule.stage_handle, !schedule.stage_handle, !schedule.axis) -> () loc("fc1"("m.onnx":2:0))
schedule.sequence @fused_nn_dense {
  %dense = schedule.stage "dense" loc("fc1"("m.onnx":2:0))
  %relu = schedule.stage "relu" loc("relu1"("m.onnx":3:0))
  %bias = schedule.stage "bias" loc("fc1"("m.onnx":2:0))
  %i, %j = schedule.axes %relu : 2 loc("relu1"("m.onnx":3:0))
  %j.outer, %j.inner = schedule.split %j factor 16 loc("relu1"("m.onnx":3:0))
  schedule.reorder %j.outer, %i, %j.inner loc("relu1"("m.onnx":3:0))
  %tile = schedule.fuse %j.outer, %i loc("relu1"("m.onnx":3:0))
  schedule.parallel %tile loc("relu1"("m.onnx":3:0))
  schedule.vectorize %j.inner loc("relu1"("m.onnx":3:0))
  %acc = schedule.cache_write %dense "local" loc("fc1"("m.onnx":2:0))
  schedule.compute_root %dense loc("fc1"("m.onnx":2:0))
  schedule.compute_at %acc, %relu, %tile loc("fc1"("m.onnx":2:0))
  %a, %b, %k = schedule.axes %acc : 3 loc("fc1"("m.onnx":2:0))
  schedule.unroll %a loc("fc1"("m.onnx":2:0))
  %one = schedule.singleton %acc loc("fc1"("m.onnx":2:0))
  schedule.set_scope %dense "local" loc("fc1"("m.onnx":2:0))
  schedule.compute_inline %bias loc("fc1"("m.onnx":2:0))
} loc(fused["relu1"("m.onnx":3:0), "fc1"("m.onnx":2:0)])

// CHECK:      schedule.sequence @nothing {
// CHECK-NEXT: } loc("a")
schedule.sequence @nothing {
} loc("a")
