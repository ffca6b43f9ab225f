// RUN: whence-opt %s -p schedule-apply | filecheck %s
// RUN: whence-opt %s -p "convert-te-to-tir,tir-simplify,tir-vectorize" | filecheck %s --check-prefix VECTOR

// Stride 2, channels last: 16 channels at once, the window's columns unrolled.

// CHECK:      tir.prim_func @depthwise_conv2d(%x: !tir.buffer<18x18x32xf32>, %w: !tir.buffer<3x3x32xf32>, %out: !tir.buffer<8x8x32xf32>) outputs 1 {
// CHECK-NEXT:   tir.for %c.outer in 2 {
// CHECK-NEXT:     tir.for %y in 8 {
// CHECK-NEXT:       tir.for %x_ in 8 {
// CHECK-NEXT:         tir.for vectorized %c.inner in 16 {
// CHECK:                tir.store %{{.*}}, %out[%y, %x_, %c.outer * 16 + %c.inner] : f32, !tir.buffer<8x8x32xf32>
// CHECK:              tir.for %dy in 3 {
// CHECK-NEXT:           tir.for unrolled %dx in 3 {
// CHECK-NEXT:             tir.for vectorized %c.inner_1 in 16 {
// CHECK:                    %{{.*}} = tir.load %x[%y * 2 + %dy, %x_ * 2 + %dx, %c.outer * 16 + %c.inner_1] : !tir.buffer<18x18x32xf32> -> f32
// CHECK:                    tir.store %{{.*}}, %out[%y, %x_, %c.outer * 16 + %c.inner_1] : f32, !tir.buffer<8x8x32xf32>

// VECTOR:      tir.store %{{.*}}, %out[%y, %x_, %c.outer * 16] : vector<16xf32>, !tir.buffer<8x8x32xf32>
// VECTOR:          %{{.*}} = tir.load %x[%y * 2 + %dy, %x_ * 2 + %dx, %c.outer * 16] : !tir.buffer<18x18x32xf32> -> vector<16xf32>
// VECTOR:          tir.store %{{.*}}, %out[%y, %x_, %c.outer * 16] : vector<16xf32>, !tir.buffer<8x8x32xf32>

te.func @depthwise_conv2d(%x: tensor<18x18x32xf32>, %w: tensor<3x3x32xf32>) -> (tensor<8x8x32xf32>) {
  %depthwise = te.compute "depthwise" (%y in 8, %x_ in 8, %c in 32) sum(%dy in 3, %dx in 3) : tensor<8x8x32xf32> {
    %0 = te.read %x[%y * 2 + %dy, %x_ * 2 + %dx, %c] : tensor<18x18x32xf32>
    %1 = te.read %w[%dy, %dx, %c] : tensor<3x3x32xf32>
    %2 = arith.mulf %0, %1 : f32
    te.yield %2 : f32
  }
  te.return %depthwise : tensor<8x8x32xf32>
}
schedule.sequence @depthwise_conv2d {
  %depthwise = schedule.stage "depthwise"
  %y, %x_, %c, %dy, %dx = schedule.axes %depthwise : 5
  %c.outer, %c.inner = schedule.split %c factor 16
  schedule.reorder %c.outer, %y, %x_, %dy, %dx, %c.inner
  schedule.vectorize %c.inner
  schedule.unroll %dx
}
