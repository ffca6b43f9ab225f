// RUN: whence-opt %s -p schedule-apply --audit --split-input-file | filecheck %s

// Rows of 8 are scaled by a C function, which gets tiles whose elements lie close together.

// CHECK:      tir.prim_func @rows(%x: !tir.buffer<8x4xf32>, %out: !tir.buffer<8x4xf32>) outputs 1 {
// CHECK-NEXT:   tir.for %j in 4 {
// CHECK-NEXT:     %0 = arith.constant 8 : i32
// CHECK-NEXT:     %a = tir.alloc : !tir.buffer<8xf32, local>
// CHECK-NEXT:     tir.for %i0 in 8 {
// CHECK-NEXT:       %1 = tir.load %x[%i0, %j] : !tir.buffer<8x4xf32> -> f32
// CHECK-NEXT:       tir.store %1, %a[%i0] : f32, !tir.buffer<8xf32, local>
// CHECK-NEXT:     }
// CHECK-NEXT:     %out_1 = tir.alloc : !tir.buffer<8xf32, local>
// CHECK-NEXT:     tir.call_extern "negate"(%a, %out_1, %0)
// CHECK-NEXT:     tir.for %i0_1 in 8 {
// CHECK-NEXT:       %2 = tir.load %out_1[%i0_1] : !tir.buffer<8xf32, local> -> f32
// CHECK-NEXT:       tir.store %2, %out[%i0_1, %j] : f32, !tir.buffer<8x4xf32>
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT: }
// CHECK-NOT:  schedule.tensor_intrin
schedule.tensor_intrin "column" {
  te.func @pattern(%a: tensor<8xf32> loc("a")) -> (tensor<8xf32>) {
    %b = te.compute "b" (%i in 8) : tensor<8xf32> {
      %0 = te.read %a[%i] : tensor<8xf32> loc("b")
      %1 = arith.negf %0 : f32 loc("b")
      te.yield %1 : f32 loc("b")
    } loc("b")
    te.return %b : tensor<8xf32> loc("b")
  } loc(fused["a", "b"])
  te.func @body(%a: tensor<8xf32> loc("a")) -> (tensor<8xf32>) {
    %b = te.extern "b" "negate"(%a, out 0, 8 : i32) : (tensor<8xf32>) -> (tensor<8xf32>) loc("b")
    te.return %b : tensor<8xf32> loc("b")
  } loc(fused["a", "b"])
} loc("b")
te.func @rows(%x: tensor<8x4xf32> loc("x")) -> (tensor<8x4xf32>) {
  %y = te.compute "y" (%i in 8, %j in 4) : tensor<8x4xf32> {
    %0 = te.read %x[%i, %j] : tensor<8x4xf32> loc("y")
    %1 = arith.negf %0 : f32 loc("y")
    te.yield %1 : f32 loc("y")
  } loc("y")
  te.return %y : tensor<8x4xf32> loc("y")
} loc("y")
schedule.sequence @rows {
  %y = schedule.stage "y" loc("y")
  %i, %j = schedule.axes %y : 2 loc("y")
  schedule.reorder %j, %i loc("y")
  schedule.tensorize %i "column" loc("y")
} loc("y")
