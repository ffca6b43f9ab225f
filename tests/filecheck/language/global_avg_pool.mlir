// RUN: whence-opt %s -p schedule-apply | filecheck %s

// Both axes of the sum become one; it is computed per channel, in a buffer of one element.

// CHECK:      tir.prim_func @avg_pool(%x: !tir.buffer<16x7x7xf32>, %out: !tir.buffer<16xf32>) outputs 1 {
// CHECK-NEXT:   %total = tir.alloc : !tir.buffer<1xf32>
// CHECK-NEXT:   tir.for %c in 16 {
// CHECK:          tir.store %{{.*}}, %total[0] : f32, !tir.buffer<1xf32>
// CHECK-NEXT:     tir.for %h.w.fused in 49 {
// CHECK-NEXT:       %{{.*}} = tir.load %total[0] : !tir.buffer<1xf32> -> f32
// CHECK-NEXT:       %{{.*}} = tir.load %x[%c, %h.w.fused floordiv 7, %h.w.fused mod 7] : !tir.buffer<16x7x7xf32> -> f32
// CHECK:            tir.store %{{.*}}, %total[0] : f32, !tir.buffer<1xf32>
// CHECK:          %{{.*}} = tir.load %total[0] : !tir.buffer<1xf32> -> f32
// CHECK:          tir.store %{{.*}}, %out[%c] : f32, !tir.buffer<16xf32>

te.func @avg_pool(%x: tensor<16x7x7xf32>) -> (tensor<16xf32>) {
  %total = te.compute "total" (%c in 16) sum(%h in 7, %w in 7) : tensor<16xf32> {
    %0 = te.read %x[%c, %h, %w] : tensor<16x7x7xf32>
    te.yield %0 : f32
  }
  %mean = te.compute "mean" (%c in 16) : tensor<16xf32> {
    %0 = te.read %total[%c] : tensor<16xf32>
    %1 = arith.constant 0.0204081628 : f32
    %2 = arith.mulf %0, %1 : f32
    te.yield %2 : f32
  }
  te.return %mean : tensor<16xf32>
}
schedule.sequence @avg_pool {
  %total = schedule.stage "total"
  %c, %h, %w = schedule.axes %total : 3
  %h.w.fused = schedule.fuse %h, %w
  schedule.fused %h.w.fused
  %mean = schedule.stage "mean"
  %c_1 = schedule.axes %mean : 1
  schedule.compute_at %total, %mean, %c_1
}
