// RUN: whence-opt %s -p convert-te-to-tir --audit --print-debuginfo --split-input-file | filecheck %s

// A sequence with the function's name is its schedule.

// CHECK:      tir.prim_func @split(%a: !tir.buffer<64xf32> loc("a"), %out: !tir.buffer<64xf32> loc("neg")) outputs 1 {
// CHECK-NEXT:   tir.for %i.outer in 16 {
// CHECK-NEXT:     tir.for unrolled %i.inner in 4 {
// CHECK-NEXT:       %0 = tir.load %a[%i.outer * 4 + %i.inner] : !tir.buffer<64xf32> -> f32 loc("neg")
// CHECK-NEXT:       %1 = arith.negf %0 : f32 loc("neg")
// CHECK-NEXT:       tir.store %1, %out[%i.outer * 4 + %i.inner] : f32, !tir.buffer<64xf32> loc("neg")
// CHECK-NEXT:     } loc("neg")
// CHECK-NEXT:   } loc("neg")
// CHECK-NEXT: } loc("neg")
// CHECK-NOT:  schedule.sequence
te.func @split(%a: tensor<64xf32> loc("a")) -> (tensor<64xf32>) {
  %b = te.compute "b" (%i in 64) : tensor<64xf32> {
    %0 = te.read %a[%i] : tensor<64xf32> loc("neg")
    %1 = arith.negf %0 : f32 loc("neg")
    te.yield %1 : f32 loc("neg")
  } loc("neg")
  te.return %b : tensor<64xf32> loc("neg")
} loc("neg")
schedule.sequence @split {
  %b = schedule.stage "b" loc("neg")
  %i = schedule.axes %b : 1 loc("neg")
  %i.outer, %i.inner = schedule.split %i factor 4 loc("neg")
  schedule.unroll %i.inner loc("neg")
} loc("neg")

// -----

// Without one every stage has loops of its own.

// CHECK:      tir.prim_func @vanilla(
// CHECK-NEXT:   %b = tir.alloc : !tir.buffer<4xf32> loc("neg")
// CHECK-NEXT:   tir.for %i in 4 {
// CHECK:        } loc("neg")
// CHECK-NEXT:   tir.for %j in 4 {
// CHECK:        } loc("abs")
te.func @vanilla(%a: tensor<4xf32> loc("a")) -> (tensor<4xf32>) {
  %b = te.compute "b" (%i in 4) : tensor<4xf32> {
    %0 = te.read %a[%i] : tensor<4xf32> loc("neg")
    %1 = arith.negf %0 : f32 loc("neg")
    te.yield %1 : f32 loc("neg")
  } loc("neg")
  %c = te.compute "c" (%j in 4) : tensor<4xf32> {
    %0 = te.read %b[%j] : tensor<4xf32> loc("abs")
    %1 = math.absf %0 : f32 loc("abs")
    te.yield %1 : f32 loc("abs")
  } loc("abs")
  te.return %c : tensor<4xf32> loc("abs")
} loc(fused["abs", "neg"])
