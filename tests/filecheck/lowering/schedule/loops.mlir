// RUN: whence-opt %s -p schedule-apply --audit --print-debuginfo --split-input-file | filecheck %s

// The outer loop has as many passes as asked for, and the last is guarded.

// CHECK:      tir.prim_func @nparts(%a: !tir.buffer<8x6xf32> loc("a"), %out: !tir.buffer<8x6xf32> loc("abs")) outputs 1 {
// CHECK-NEXT:   %b = tir.alloc : !tir.buffer<8x6xf32> loc("neg")
// CHECK:        tir.for %i.outer in 3 {
// CHECK-NEXT:     tir.for %i.inner in 3 {
// CHECK-NEXT:       tir.for %j_1 in 6 {
// CHECK-NEXT:         tir.if likely [%i.outer * -3 + %i.inner * -1 + 7] >= 0 {
// CHECK-NEXT:           %2 = tir.load %b[%i.outer * 3 + %i.inner, %j_1] : !tir.buffer<8x6xf32> -> f32 loc("abs")
// CHECK-NEXT:           %3 = math.absf %2 : f32 loc("abs")
// CHECK-NEXT:           tir.store %3, %out[%i.outer * 3 + %i.inner, %j_1] : f32, !tir.buffer<8x6xf32> loc("abs")
// CHECK-NEXT:         } loc("abs")
// CHECK-NEXT:       } loc("abs")
// CHECK-NEXT:     } loc("abs")
// CHECK-NEXT:   } loc("abs")
// CHECK-NEXT: } loc(fused["neg", "abs"])
// CHECK-NOT:  schedule.sequence
te.func @nparts(%a: tensor<8x6xf32> loc("a")) -> (tensor<8x6xf32>) {
  %b = te.compute "b" (%i in 8, %j in 6) : tensor<8x6xf32> {
    %0 = te.read %a[%i, %j] : tensor<8x6xf32> loc("neg")
    %1 = arith.negf %0 : f32 loc("neg")
    te.yield %1 : f32 loc("neg")
  } loc("neg")
  %c = te.compute "c" (%i in 8, %j in 6) : tensor<8x6xf32> {
    %0 = te.read %b[%i, %j] : tensor<8x6xf32> loc("abs")
    %1 = math.absf %0 : f32 loc("abs")
    te.yield %1 : f32 loc("abs")
  } loc("abs")
  te.return %c : tensor<8x6xf32> loc("abs")
} loc(fused["neg", "abs"])
schedule.sequence @nparts {
  %b = schedule.stage "b" loc("abs")
  %c = schedule.stage "c" loc("abs")
  %i, %j = schedule.axes %c : 2 loc("abs")
  %o, %n = schedule.split_by_nparts %i nparts 3 loc("abs")
} loc("abs")

// -----

// A fuse of two axes is recorded twice: the pair, and the whole.

// CHECK:      tir.prim_func @fuse(%a: !tir.buffer<8x6xf32> loc("a"), %out: !tir.buffer<8x6xf32> loc("abs")) outputs 1 {
// CHECK-NEXT:   %b = tir.alloc : !tir.buffer<8x6xf32> loc("neg")
// CHECK:        tir.for %i.j.fused in 48 {
// CHECK-NEXT:     %2 = tir.load %b[%i.j.fused floordiv 6, %i.j.fused mod 6] : !tir.buffer<8x6xf32> -> f32 loc("abs")
// CHECK-NEXT:     %3 = math.absf %2 : f32 loc("abs")
// CHECK-NEXT:     tir.store %3, %out[%i.j.fused floordiv 6, %i.j.fused mod 6] : f32, !tir.buffer<8x6xf32> loc("abs")
// CHECK-NEXT:   } loc("abs")
// CHECK-NEXT: } loc(fused["neg", "abs"])
// CHECK-NOT:  schedule.sequence
te.func @fuse(%a: tensor<8x6xf32> loc("a")) -> (tensor<8x6xf32>) {
  %b = te.compute "b" (%i in 8, %j in 6) : tensor<8x6xf32> {
    %0 = te.read %a[%i, %j] : tensor<8x6xf32> loc("neg")
    %1 = arith.negf %0 : f32 loc("neg")
    te.yield %1 : f32 loc("neg")
  } loc("neg")
  %c = te.compute "c" (%i in 8, %j in 6) : tensor<8x6xf32> {
    %0 = te.read %b[%i, %j] : tensor<8x6xf32> loc("abs")
    %1 = math.absf %0 : f32 loc("abs")
    te.yield %1 : f32 loc("abs")
  } loc("abs")
  te.return %c : tensor<8x6xf32> loc("abs")
} loc(fused["neg", "abs"])
schedule.sequence @fuse {
  %b = schedule.stage "b" loc("abs")
  %c = schedule.stage "c" loc("abs")
  %i, %j = schedule.axes %c : 2 loc("abs")
  %f = schedule.fuse %i, %j loc("abs")
  schedule.fused %f loc("abs")
} loc("abs")

// -----

// CHECK:      tir.prim_func @singleton(%a: !tir.buffer<8x6xf32> loc("a"), %out: !tir.buffer<8x6xf32> loc("abs")) outputs 1 {
// CHECK-NEXT:   %b = tir.alloc : !tir.buffer<8x6xf32> loc("neg")
// CHECK-NEXT:   tir.for %i in 8 {
// CHECK-NEXT:     tir.for %j in 6 {
// CHECK-NEXT:       %0 = tir.load %a[%i, %j] : !tir.buffer<8x6xf32> -> f32 loc("neg")
// CHECK-NEXT:       %1 = arith.negf %0 : f32 loc("neg")
// CHECK-NEXT:       tir.store %1, %b[%i, %j] : f32, !tir.buffer<8x6xf32> loc("neg")
// CHECK-NEXT:     } loc("neg")
// CHECK-NEXT:   } loc("neg")
// CHECK-NEXT:   tir.for %i_1 in 8 {
// CHECK-NEXT:     tir.for %j_1 in 6 {
// CHECK-NEXT:       %2 = tir.load %b[%i_1, %j_1] : !tir.buffer<8x6xf32> -> f32 loc("abs")
// CHECK-NEXT:       %3 = math.absf %2 : f32 loc("abs")
// CHECK-NEXT:       tir.store %3, %out[%i_1, %j_1] : f32, !tir.buffer<8x6xf32> loc("abs")
// CHECK-NEXT:     } loc("abs")
// CHECK-NEXT:   } loc("abs")
// CHECK-NEXT: } loc(fused["neg", "abs"])
// CHECK-NOT:  schedule.sequence
te.func @singleton(%a: tensor<8x6xf32> loc("a")) -> (tensor<8x6xf32>) {
  %b = te.compute "b" (%i in 8, %j in 6) : tensor<8x6xf32> {
    %0 = te.read %a[%i, %j] : tensor<8x6xf32> loc("neg")
    %1 = arith.negf %0 : f32 loc("neg")
    te.yield %1 : f32 loc("neg")
  } loc("neg")
  %c = te.compute "c" (%i in 8, %j in 6) : tensor<8x6xf32> {
    %0 = te.read %b[%i, %j] : tensor<8x6xf32> loc("abs")
    %1 = math.absf %0 : f32 loc("abs")
    te.yield %1 : f32 loc("abs")
  } loc("abs")
  te.return %c : tensor<8x6xf32> loc("abs")
} loc(fused["neg", "abs"])
schedule.sequence @singleton {
  %b = schedule.stage "b" loc("abs")
  %c = schedule.stage "c" loc("abs")
  %i, %j = schedule.axes %c : 2 loc("abs")
  %s = schedule.singleton %c loc("abs")
  schedule.compute_at %b, %c, %s loc("abs")
} loc("abs")

// -----

// Blocks run in parallel, threads one by one.

// CHECK:      tir.prim_func @bind(%a: !tir.buffer<8x6xf32> loc("a"), %out: !tir.buffer<8x6xf32> loc("abs")) outputs 1 {
// CHECK-NEXT:   %b = tir.alloc : !tir.buffer<8x6xf32> loc("neg")
// CHECK:        tir.for parallel %i_1 in 8 {
// CHECK-NEXT:     tir.for %j_1 in 6 {
// CHECK-NEXT:       %2 = tir.load %b[%i_1, %j_1] : !tir.buffer<8x6xf32> -> f32 loc("abs")
// CHECK-NEXT:       %3 = math.absf %2 : f32 loc("abs")
// CHECK-NEXT:       tir.store %3, %out[%i_1, %j_1] : f32, !tir.buffer<8x6xf32> loc("abs")
// CHECK-NEXT:     } loc("abs")
// CHECK-NEXT:   } loc("abs")
// CHECK-NEXT: } loc(fused["neg", "abs"])
// CHECK-NOT:  schedule.sequence
te.func @bind(%a: tensor<8x6xf32> loc("a")) -> (tensor<8x6xf32>) {
  %b = te.compute "b" (%i in 8, %j in 6) : tensor<8x6xf32> {
    %0 = te.read %a[%i, %j] : tensor<8x6xf32> loc("neg")
    %1 = arith.negf %0 : f32 loc("neg")
    te.yield %1 : f32 loc("neg")
  } loc("neg")
  %c = te.compute "c" (%i in 8, %j in 6) : tensor<8x6xf32> {
    %0 = te.read %b[%i, %j] : tensor<8x6xf32> loc("abs")
    %1 = math.absf %0 : f32 loc("abs")
    te.yield %1 : f32 loc("abs")
  } loc("abs")
  te.return %c : tensor<8x6xf32> loc("abs")
} loc(fused["neg", "abs"])
schedule.sequence @bind {
  %b = schedule.stage "b" loc("abs")
  %c = schedule.stage "c" loc("abs")
  %i, %j = schedule.axes %c : 2 loc("abs")
  %bx = schedule.thread "blockIdx.x" loc("abs")
  %tx = schedule.thread "threadIdx.x" in 6 loc("abs")
  schedule.bind %i, %bx loc("abs")
  schedule.bind %j, %tx loc("abs")
} loc("abs")

// -----

// What the loop carries.

// CHECK:      tir.prim_func @hints(%a: !tir.buffer<8x6xf32> loc("a"), %out: !tir.buffer<8x6xf32> loc("abs")) outputs 1 {
// CHECK-NEXT:   %b = tir.alloc : !tir.buffer<8x6xf32> loc("neg")
// CHECK:        tir.for %i_1 in 8 attributes {pragma_auto_unroll_max_step = 16 : i64, prefetch = {{\[\[}}"a", 2 : i64]]} {
// CHECK-NEXT:     tir.for %j_1 in 6 attributes {pragma_novector} {
// CHECK-NEXT:       %2 = tir.load %b[%i_1, %j_1] : !tir.buffer<8x6xf32> -> f32 loc("abs")
// CHECK-NEXT:       %3 = math.absf %2 : f32 loc("abs")
// CHECK-NEXT:       tir.store %3, %out[%i_1, %j_1] : f32, !tir.buffer<8x6xf32> loc("abs")
// CHECK-NEXT:     } loc("abs")
// CHECK-NEXT:   } loc("abs")
// CHECK-NEXT: } loc(fused["neg", "abs"])
// CHECK-NOT:  schedule.sequence
te.func @hints(%a: tensor<8x6xf32> loc("a")) -> (tensor<8x6xf32>) {
  %b = te.compute "b" (%i in 8, %j in 6) : tensor<8x6xf32> {
    %0 = te.read %a[%i, %j] : tensor<8x6xf32> loc("neg")
    %1 = arith.negf %0 : f32 loc("neg")
    te.yield %1 : f32 loc("neg")
  } loc("neg")
  %c = te.compute "c" (%i in 8, %j in 6) : tensor<8x6xf32> {
    %0 = te.read %b[%i, %j] : tensor<8x6xf32> loc("abs")
    %1 = math.absf %0 : f32 loc("abs")
    te.yield %1 : f32 loc("abs")
  } loc("abs")
  te.return %c : tensor<8x6xf32> loc("abs")
} loc(fused["neg", "abs"])
schedule.sequence @hints {
  %b = schedule.stage "b" loc("abs")
  %c = schedule.stage "c" loc("abs")
  %i, %j = schedule.axes %c : 2 loc("abs")
  %a = schedule.argument 0 loc("abs")
  schedule.pragma %i "auto_unroll_max_step" = 16 : i64 loc("abs")
  schedule.pragma %j "novector" loc("abs")
  schedule.prefetch %a, %i offset 2 loc("abs")
} loc("abs")

// -----

// The points past the end of an uneven split add nothing.

// CHECK:      tir.prim_func @rfactor(%a: !tir.buffer<4x10xf32> loc("a"), %out: !tir.buffer<4xf32> loc("sum")) outputs 1 {
// CHECK-NEXT:   %b.rf = tir.alloc : !tir.buffer<4x4xf32> loc("sum")
// CHECK-NEXT:   tir.for %k.inner in 4 {
// CHECK-NEXT:     tir.for %i in 4 {
// CHECK-NEXT:       %0 = arith.constant 0.000000e+00 : f32 loc("sum")
// CHECK-NEXT:       tir.store %0, %b.rf[%k.inner, %i] : f32, !tir.buffer<4x4xf32> loc("sum")
// CHECK-NEXT:       tir.for %k.outer in 3 {
// CHECK-NEXT:         %1 = tir.load %b.rf[%k.inner, %i] : !tir.buffer<4x4xf32> -> f32 loc("sum")
// CHECK-NEXT:         %2 = tir.load %a[%i, %k.outer * 4 + %k.inner] if [%k.outer * -4 + %k.inner * -1 + 9] >= 0 else 0.000000e+00 : f32 : !tir.buffer<4x10xf32> -> f32 loc("sum")
// CHECK-NEXT:         %3 = tir.index [%k.outer * 4 + %k.inner] : index loc("sum")
// CHECK-NEXT:         %4 = arith.constant 10 : index loc("sum")
// CHECK-NEXT:         %5 = arith.cmpi slt, %3, %4 : index loc("sum")
// CHECK-NEXT:         %6 = arith.constant 0.000000e+00 : f32 loc("sum")
// CHECK-NEXT:         %7 = arith.select %5, %2, %6 : f32 loc("sum")
// CHECK-NEXT:         %8 = arith.addf %1, %7 : f32 loc("sum")
// CHECK-NEXT:         tir.store %8, %b.rf[%k.inner, %i] : f32, !tir.buffer<4x4xf32> loc("sum")
// CHECK-NEXT:       } loc("sum")
// CHECK-NEXT:     } loc("sum")
// CHECK-NEXT:   } loc("sum")
// CHECK-NEXT:   tir.for %i_1 in 4 {
// CHECK-NEXT:     %9 = arith.constant 0.000000e+00 : f32 loc("sum")
// CHECK-NEXT:     tir.store %9, %out[%i_1] : f32, !tir.buffer<4xf32> loc("sum")
// CHECK-NEXT:     tir.for %k.inner.v in 4 {
// CHECK-NEXT:       %10 = tir.load %out[%i_1] : !tir.buffer<4xf32> -> f32 loc("sum")
// CHECK-NEXT:       %11 = tir.load %b.rf[%k.inner.v, %i_1] : !tir.buffer<4x4xf32> -> f32 loc("sum")
// CHECK-NEXT:       %12 = arith.addf %10, %11 : f32 loc("sum")
// CHECK-NEXT:       tir.store %12, %out[%i_1] : f32, !tir.buffer<4xf32> loc("sum")
// CHECK-NEXT:     } loc("sum")
// CHECK-NEXT:   } loc("sum")
// CHECK-NEXT: } loc("sum")
// CHECK-NOT:  schedule.sequence
te.func @rfactor(%a: tensor<4x10xf32> loc("a")) -> (tensor<4xf32>) {
  %b = te.compute "b" (%i in 4) sum(%k in 10) : tensor<4xf32> {
    %0 = te.read %a[%i, %k] : tensor<4x10xf32> loc("sum")
    te.yield %0 : f32 loc("sum")
  } loc("sum")
  te.return %b : tensor<4xf32> loc("sum")
} loc("sum")
schedule.sequence @rfactor {
  %b = schedule.stage "b" loc("sum")
  %i, %k = schedule.axes %b : 2 loc("sum")
  %o, %n = schedule.split %k factor 4 loc("sum")
  %rf = schedule.rfactor %n at 0 loc("sum")
} loc("sum")
