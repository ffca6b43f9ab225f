// RUN: whence-opt %s -p schedule-apply --audit --print-debuginfo --split-input-file | filecheck %s

// CHECK:      tir.prim_func @cache_read(%a: !tir.buffer<8x6xf32> loc("a"), %out: !tir.buffer<8x6xf32> loc("abs")) outputs 1 {
// CHECK-NEXT:   %b = tir.alloc : !tir.buffer<1x6xf32> loc("neg")
// CHECK-NEXT:   tir.for %i in 8 {
// CHECK-NEXT:     %a.local = tir.alloc : !tir.buffer<1x6xf32, local> loc("neg")
// CHECK-NEXT:     tir.for %ax1 in 6 {
// CHECK-NEXT:       %0 = tir.load %a[%i, %ax1] : !tir.buffer<8x6xf32> -> f32 loc("neg")
// CHECK-NEXT:       tir.store %0, %a.local[0, %ax1] : f32, !tir.buffer<1x6xf32, local> loc("neg")
// CHECK-NEXT:     } loc("neg")
// CHECK-NEXT:     tir.for %j in 6 {
// CHECK-NEXT:       %1 = tir.load %a.local[0, %j] : !tir.buffer<1x6xf32, local> -> f32 loc("neg")
// CHECK-NEXT:       %2 = arith.negf %1 : f32 loc("neg")
// CHECK-NEXT:       tir.store %2, %b[0, %j] : f32, !tir.buffer<1x6xf32> loc("neg")
// CHECK-NEXT:     } loc("neg")
// CHECK-NEXT:     tir.for %j_1 in 6 {
// CHECK-NEXT:       %3 = tir.load %b[0, %j_1] : !tir.buffer<1x6xf32> -> f32 loc("abs")
// CHECK-NEXT:       %4 = math.absf %3 : f32 loc("abs")
// CHECK-NEXT:       tir.store %4, %out[%i, %j_1] : f32, !tir.buffer<8x6xf32> loc("abs")
// CHECK-NEXT:     } loc("abs")
// CHECK-NEXT:   } loc(fused["abs", "neg"])
// CHECK-NEXT: } loc(fused["neg", "abs"])
// CHECK-NOT:  schedule.sequence
te.func @cache_read(%a: tensor<8x6xf32> loc("a")) -> (tensor<8x6xf32>) {
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
schedule.sequence @cache_read {
  %b = schedule.stage "b" loc("abs")
  %c = schedule.stage "c" loc("abs")
  %i, %j = schedule.axes %c : 2 loc("abs")
  %a = schedule.argument 0 loc("abs")
  %local = schedule.cache_read %a "local" readers(%b) loc("abs")
  schedule.compute_at %b, %c, %i loc("abs")
  %p, %q = schedule.axes %b : 2 loc("abs")
  schedule.compute_at %local, %b, %p loc("abs")
} loc("abs")

// -----

// CHECK:      tir.prim_func @group(%a: !tir.buffer<8x6xf32> loc("a"), %out: !tir.buffer<8x6xf32> loc("abs")) outputs 1 {
// CHECK-NEXT:   %b = tir.alloc : !tir.buffer<1x6xf32> loc("neg")
// CHECK-NEXT:   tir.for %i in 8 {
// CHECK-NEXT:     tir.for %j in 6 {
// CHECK-NEXT:       %0 = tir.load %a[%i, %j] : !tir.buffer<8x6xf32> -> f32 loc("neg")
// CHECK-NEXT:       %1 = arith.negf %0 : f32 loc("neg")
// CHECK-NEXT:       tir.store %1, %b[0, %j] : f32, !tir.buffer<1x6xf32> loc("neg")
// CHECK-NEXT:     } loc("neg")
// CHECK-NEXT:     tir.for %j_1 in 6 {
// CHECK-NEXT:       %2 = tir.load %b[0, %j_1] : !tir.buffer<1x6xf32> -> f32 loc("abs")
// CHECK-NEXT:       %3 = math.absf %2 : f32 loc("abs")
// CHECK-NEXT:       tir.store %3, %out[%i, %j_1] : f32, !tir.buffer<8x6xf32> loc("abs")
// CHECK-NEXT:     } loc("abs")
// CHECK-NEXT:   } loc(fused["abs", "neg"])
// CHECK-NEXT: } loc(fused["neg", "abs"])
// CHECK-NOT:  schedule.sequence
te.func @group(%a: tensor<8x6xf32> loc("a")) -> (tensor<8x6xf32>) {
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
schedule.sequence @group {
  %b = schedule.stage "b" loc("abs")
  %c = schedule.stage "c" loc("abs")
  %i, %j = schedule.axes %c : 2 loc("abs")
  %a = schedule.argument 0 loc("abs")
  %g = schedule.create_group outputs(%b) inputs(%a) loc("abs")
  schedule.compute_at %g, %c, %i loc("abs")
} loc("abs")

// -----

// Rows of 6 lie 9 apart.

// CHECK:      tir.prim_func @align(%a: !tir.buffer<8x6xf32> loc("a"), %out: !tir.buffer<8x6xf32> loc("abs")) outputs 1 {
// CHECK-NEXT:   %b = tir.alloc : !tir.buffer<8x9xf32> loc("neg")
// CHECK-NEXT:   tir.for %i in 8 {
// CHECK-NEXT:     tir.for %j in 6 {
// CHECK-NEXT:       %0 = tir.load %a[%i, %j] : !tir.buffer<8x6xf32> -> f32 loc("neg")
// CHECK-NEXT:       %1 = arith.negf %0 : f32 loc("neg")
// CHECK-NEXT:       tir.store %1, %b[%i, %j] : f32, !tir.buffer<8x9xf32> loc("neg")
// CHECK-NEXT:     } loc("neg")
// CHECK-NEXT:   } loc("neg")
// CHECK-NEXT:   tir.for %i_1 in 8 {
// CHECK-NEXT:     tir.for %j_1 in 6 {
// CHECK-NEXT:       %2 = tir.load %b[%i_1, %j_1] : !tir.buffer<8x9xf32> -> f32 loc("abs")
// CHECK-NEXT:       %3 = math.absf %2 : f32 loc("abs")
// CHECK-NEXT:       tir.store %3, %out[%i_1, %j_1] : f32, !tir.buffer<8x6xf32> loc("abs")
// CHECK-NEXT:     } loc("abs")
// CHECK-NEXT:   } loc("abs")
// CHECK-NEXT: } loc(fused["neg", "abs"])
// CHECK-NOT:  schedule.sequence
te.func @align(%a: tensor<8x6xf32> loc("a")) -> (tensor<8x6xf32>) {
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
schedule.sequence @align {
  %b = schedule.stage "b" loc("abs")
  %i, %j = schedule.axes %b : 2 loc("abs")
  schedule.storage_align %i factor 8 offset 1 loc("abs")
} loc("abs")

// -----

// CHECK:      tir.prim_func @double(%a: !tir.buffer<8x6xf32> loc("a"), %out: !tir.buffer<8x6xf32> loc("abs")) outputs 1 {
// CHECK-NEXT:   %b = tir.alloc {double_buffer} : !tir.buffer<1x6xf32> loc("neg")
// CHECK-NEXT:   tir.for %i in 8 {
// CHECK-NEXT:     tir.for %j in 6 {
// CHECK-NEXT:       %0 = tir.load %a[%i, %j] : !tir.buffer<8x6xf32> -> f32 loc("neg")
// CHECK-NEXT:       %1 = arith.negf %0 : f32 loc("neg")
// CHECK-NEXT:       tir.store %1, %b[0, %j] : f32, !tir.buffer<1x6xf32> loc("neg")
// CHECK-NEXT:     } loc("neg")
// CHECK-NEXT:     tir.for %j_1 in 6 {
// CHECK-NEXT:       %2 = tir.load %b[0, %j_1] : !tir.buffer<1x6xf32> -> f32 loc("abs")
// CHECK-NEXT:       %3 = math.absf %2 : f32 loc("abs")
// CHECK-NEXT:       tir.store %3, %out[%i, %j_1] : f32, !tir.buffer<8x6xf32> loc("abs")
// CHECK-NEXT:     } loc("abs")
// CHECK-NEXT:   } loc(fused["abs", "neg"])
// CHECK-NEXT: } loc(fused["neg", "abs"])
// CHECK-NOT:  schedule.sequence
te.func @double(%a: tensor<8x6xf32> loc("a")) -> (tensor<8x6xf32>) {
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
schedule.sequence @double {
  %b = schedule.stage "b" loc("abs")
  %c = schedule.stage "c" loc("abs")
  %i, %j = schedule.axes %c : 2 loc("abs")
  schedule.compute_at %b, %c, %i loc("abs")
  schedule.double_buffer %b loc("abs")
} loc("abs")

// -----

// CHECK:      tir.prim_func @predicate(%a: !tir.buffer<8x6xf32> loc("a"), %out: !tir.buffer<8x6xf32> loc("abs")) outputs 1 {
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
// CHECK-NEXT:       tir.if likely [%i_1 * -1 + 5] >= 0 {
// CHECK-NEXT:         %2 = tir.load %b[%i_1, %j_1] : !tir.buffer<8x6xf32> -> f32 loc("abs")
// CHECK-NEXT:         %3 = math.absf %2 : f32 loc("abs")
// CHECK-NEXT:         tir.store %3, %out[%i_1, %j_1] : f32, !tir.buffer<8x6xf32> loc("abs")
// CHECK-NEXT:       } loc("abs")
// CHECK-NEXT:     } loc("abs")
// CHECK-NEXT:   } loc("abs")
// CHECK-NEXT: } loc(fused["neg", "abs"])
// CHECK-NOT:  schedule.sequence
te.func @predicate(%a: tensor<8x6xf32> loc("a")) -> (tensor<8x6xf32>) {
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
schedule.sequence @predicate {
  %b = schedule.stage "b" loc("abs")
  %c = schedule.stage "c" loc("abs")
  %i, %j = schedule.axes %c : 2 loc("abs")
  schedule.set_store_predicate %c if affine_set<(d0, d1) : (5 - d0 >= 0)> loc("abs")
} loc("abs")

// -----

// CHECK:      tir.prim_func @layout(%a: !tir.buffer<8x6xf32> loc("a"), %out: !tir.buffer<8x6xf32> loc("abs")) outputs 1 {
// CHECK-NEXT:   %b = tir.alloc {axis_separators = array<i64: 1>} : !tir.buffer<2x8x4xf32> loc("neg")
// CHECK-NEXT:   tir.for %axis0 in 2 {
// CHECK-NEXT:     tir.for %axis1 in 8 {
// CHECK-NEXT:       tir.for %axis2 in 4 {
// CHECK-NEXT:         tir.if likely [%axis2 * -1 + %axis0 * -4 + 5] >= 0 {
// CHECK-NEXT:           %0 = tir.load %a[%axis1, %axis2 + %axis0 * 4] : !tir.buffer<8x6xf32> -> f32 loc("neg")
// CHECK-NEXT:           %1 = arith.negf %0 : f32 loc("neg")
// CHECK-NEXT:           tir.store %1, %b[%axis0, %axis1, %axis2] : f32, !tir.buffer<2x8x4xf32> loc("neg")
// CHECK-NEXT:         } loc("neg")
// CHECK-NEXT:       } loc("neg")
// CHECK-NEXT:     } loc("neg")
// CHECK-NEXT:   } loc("neg")
// CHECK-NEXT:   tir.for %i in 8 {
// CHECK-NEXT:     tir.for %j in 6 {
// CHECK-NEXT:       %2 = tir.load %b[%j floordiv 4, %i, %j mod 4] : !tir.buffer<2x8x4xf32> -> f32 loc("abs")
// CHECK-NEXT:       %3 = math.absf %2 : f32 loc("abs")
// CHECK-NEXT:       tir.store %3, %out[%i, %j] : f32, !tir.buffer<8x6xf32> loc("abs")
// CHECK-NEXT:     } loc("abs")
// CHECK-NEXT:   } loc("abs")
// CHECK-NEXT: } loc(fused["neg", "abs"])
// CHECK-NOT:  schedule.sequence
te.func @layout(%a: tensor<8x6xf32> loc("a")) -> (tensor<8x6xf32>) {
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
schedule.sequence @layout {
  %b = schedule.stage "b" loc("abs")
  %i, %j = schedule.axes %b : 2 loc("abs")
  schedule.transform_layout %b affine_map<(d0, d1) -> (d1 floordiv 4, d0, d1 mod 4)> loc("abs")
  schedule.set_axis_separators %b [1] loc("abs")
} loc("abs")

// -----

// The first pass computes 3 elements, each other one more.

// CHECK:      tir.prim_func @rolling(%a: !tir.buffer<10xf32> loc("a"), %out: !tir.buffer<8xf32> loc("add")) outputs 1 {
// CHECK-NEXT:   %b = tir.alloc : !tir.buffer<3xf32> loc("neg")
// CHECK-NEXT:   tir.for %i in 8 {
// CHECK-NEXT:     tir.if [%i * -1] >= 0 {
// CHECK-NEXT:       tir.for %i_1 in 3 {
// CHECK-NEXT:         %0 = tir.load %a[%i_1 + %i] : !tir.buffer<10xf32> -> f32 loc("neg")
// CHECK-NEXT:         %1 = arith.negf %0 : f32 loc("neg")
// CHECK-NEXT:         tir.store %1, %b[(%i_1 + %i) mod 3] : f32, !tir.buffer<3xf32> loc("neg")
// CHECK-NEXT:       } loc("neg")
// CHECK-NEXT:     } else {
// CHECK-NEXT:       %2 = tir.load %a[%i + 2] : !tir.buffer<10xf32> -> f32 loc("neg")
// CHECK-NEXT:       %3 = arith.negf %2 : f32 loc("neg")
// CHECK-NEXT:       tir.store %3, %b[(%i + 2) mod 3] : f32, !tir.buffer<3xf32> loc("neg")
// CHECK-NEXT:     } loc("neg")
// CHECK-NEXT:     %4 = tir.load %b[%i mod 3] : !tir.buffer<3xf32> -> f32 loc("add")
// CHECK-NEXT:     %5 = tir.load %b[(%i + 2) mod 3] : !tir.buffer<3xf32> -> f32 loc("add")
// CHECK-NEXT:     %6 = arith.addf %4, %5 : f32 loc("add")
// CHECK-NEXT:     tir.store %6, %out[%i] : f32, !tir.buffer<8xf32> loc("add")
// CHECK-NEXT:   } loc(fused["add", "neg"])
// CHECK-NEXT: } loc(fused["neg", "add"])
// CHECK-NOT:  schedule.sequence
te.func @rolling(%a: tensor<10xf32> loc("a")) -> (tensor<8xf32>) {
  %b = te.compute "b" (%i in 10) : tensor<10xf32> {
    %0 = te.read %a[%i] : tensor<10xf32> loc("neg")
    %1 = arith.negf %0 : f32 loc("neg")
    te.yield %1 : f32 loc("neg")
  } loc("neg")
  %c = te.compute "c" (%i in 8) : tensor<8xf32> {
    %0 = te.read %b[%i] : tensor<10xf32> loc("add")
    %1 = te.read %b[%i + 2] : tensor<10xf32> loc("add")
    %2 = arith.addf %0, %1 : f32 loc("add")
    te.yield %2 : f32 loc("add")
  } loc("add")
  te.return %c : tensor<8xf32> loc("add")
} loc(fused["neg", "add"])
schedule.sequence @rolling {
  %b = schedule.stage "b" loc("add")
  %c = schedule.stage "c" loc("add")
  %i = schedule.axes %c : 1 loc("add")
  schedule.compute_at %b, %c, %i loc("add")
  schedule.rolling_buffer %b loc("add")
} loc("add")
