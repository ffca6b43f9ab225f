// RUN: whence-opt %s -p schedule-apply | filecheck %s

// Stores happen only inside of a region.

// CHECK:      tir.prim_func @some(%a: !tir.buffer<8x8xf32>, %out: !tir.buffer<8x8xf32>) outputs 1 {
// CHECK-NEXT:   %b = tir.alloc : !tir.buffer<8x8xf32>
// CHECK-NEXT:   tir.for %i in 8 {
// CHECK-NEXT:     tir.for %j in 8 {
// CHECK-NEXT:       tir.if likely [%i - 2, %j * -1 + 5] >= 0 {
// CHECK:              tir.store %{{.*}}, %b[%i, %j] : f32, !tir.buffer<8x8xf32>
// CHECK:        tir.for %i_1 in 8 {
// CHECK-NEXT:     tir.for %j_1 in 8 {
// CHECK:            tir.store %{{.*}}, %out[%i_1, %j_1] : f32, !tir.buffer<8x8xf32>

te.func @some(%a: tensor<8x8xf32>) -> (tensor<8x8xf32>) {
  %b = te.compute "b" (%i in 8, %j in 8) : tensor<8x8xf32> {
    %0 = te.read %a[%i, %j] : tensor<8x8xf32>
    %1 = arith.negf %0 : f32
    te.yield %1 : f32
  }
  %c = te.compute "c" (%i in 8, %j in 8) : tensor<8x8xf32> {
    %0 = te.read %b[%i, %j] : tensor<8x8xf32>
    %1 = math.absf %0 : f32
    te.yield %1 : f32
  }
  te.return %c : tensor<8x8xf32>
}
schedule.sequence @some {
  %b = schedule.stage "b"
  schedule.set_store_predicate %b if affine_set<(d0, d1) : ((d0 + -2) >= 0, ((d1 * -1) + 5) >= 0)>
}
