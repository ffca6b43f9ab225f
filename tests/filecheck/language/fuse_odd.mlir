// RUN: whence-opt %s -p schedule-apply | filecheck %s

// 5x7 as one axis of 35, by 4: the index falls apart into row and column again, and the last pass is guarded.

// CHECK:      tir.prim_func @fuse(%a: !tir.buffer<5x7xf32>, %out: !tir.buffer<5x7xf32>) outputs 1 {
// CHECK-NEXT:   tir.for %i.j.fused.outer in 9 {
// CHECK-NEXT:     tir.for vectorized %i.j.fused.inner in 4 {
// CHECK-NEXT:       tir.if likely [%i.j.fused.outer * -4 + %i.j.fused.inner * -1 + 34] >= 0 {
// CHECK-NEXT:         %{{.*}} = tir.load %a[(%i.j.fused.outer * 4 + %i.j.fused.inner) floordiv 7, (%i.j.fused.outer * 4 + %i.j.fused.inner) mod 7] : !tir.buffer<5x7xf32> -> f32
// CHECK:              tir.store %{{.*}}, %out[(%i.j.fused.outer * 4 + %i.j.fused.inner) floordiv 7, (%i.j.fused.outer * 4 + %i.j.fused.inner) mod 7] : f32, !tir.buffer<5x7xf32>

te.func @fuse(%a: tensor<5x7xf32>) -> (tensor<5x7xf32>) {
  %b = te.compute "b" (%i in 5, %j in 7) : tensor<5x7xf32> {
    %0 = te.read %a[%i, %j] : tensor<5x7xf32>
    %1 = arith.negf %0 : f32
    te.yield %1 : f32
  }
  %c = te.compute "c" (%i in 5, %j in 7) : tensor<5x7xf32> {
    %0 = te.read %b[%i, %j] : tensor<5x7xf32>
    %1 = math.absf %0 : f32
    te.yield %1 : f32
  }
  te.return %c : tensor<5x7xf32>
}
schedule.sequence @fuse {
  %b = schedule.stage "b"
  schedule.compute_inline %b
  %c = schedule.stage "c"
  %i, %j = schedule.axes %c : 2
  %i.j.fused = schedule.fuse %i, %j
  schedule.fused %i.j.fused
  %i.j.fused.outer, %i.j.fused.inner = schedule.split %i.j.fused factor 4
  schedule.vectorize %i.j.fused.inner
}
