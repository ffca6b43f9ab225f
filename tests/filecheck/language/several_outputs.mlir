// RUN: whence-opt %s -p schedule-apply | filecheck %s

// Two results of one stage, from one loop nest.

// CHECK:      tir.prim_func @pair(%x: !tir.buffer<8x16xf32>, %out: !tir.buffer<8x16xf32>, %out_1: !tir.buffer<8x16xf32>) outputs 2 {
// CHECK-NEXT:   tir.for parallel %i in 8 {
// CHECK-NEXT:     tir.for %j in 16 {
// CHECK:            tir.store %{{.*}}, %out[%i, %j] : f32, !tir.buffer<8x16xf32>
// CHECK-NEXT:       tir.store %{{.*}}, %out_1[%i, %j] : f32, !tir.buffer<8x16xf32>

te.func @pair(%x: tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>) {
  %both.v0, %both.v1 = te.compute "both" (%i in 8, %j in 16) : tensor<8x16xf32>, tensor<8x16xf32> {
    %0 = te.read %x[%i, %j] : tensor<8x16xf32>
    %1 = arith.constant 1.0 : f32
    %2 = arith.addf %0, %1 : f32
    %3 = te.read %x[%i, %j] : tensor<8x16xf32>
    %4 = te.read %x[%i, %j] : tensor<8x16xf32>
    %5 = arith.mulf %3, %4 : f32
    te.yield %2, %5 : f32, f32
  }
  te.return %both.v0, %both.v1 : tensor<8x16xf32>, tensor<8x16xf32>
}
schedule.sequence @pair {
  %both = schedule.stage "both"
  %i, %j = schedule.axes %both : 2
  schedule.parallel %i
}
