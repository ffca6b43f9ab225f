// RUN: whence-opt %s -p schedule-apply | filecheck %s

// Blocks of a grid become a parallel loop, the threads of a block a serial one.

// CHECK:      tir.prim_func @bind(%a: !tir.buffer<8x32xf32>, %out: !tir.buffer<8x32xf32>) outputs 1 {
// CHECK-NEXT:   tir.for parallel %i in 8 {
// CHECK-NEXT:     tir.for %j in 32 {
// CHECK:            tir.store %{{.*}}, %out[%i, %j] : f32, !tir.buffer<8x32xf32>

te.func @bind(%a: tensor<8x32xf32>) -> (tensor<8x32xf32>) {
  %b = te.compute "b" (%i in 8, %j in 32) : tensor<8x32xf32> {
    %0 = te.read %a[%i, %j] : tensor<8x32xf32>
    %1 = arith.constant 2.0 : f32
    %2 = arith.mulf %0, %1 : f32
    te.yield %2 : f32
  }
  te.return %b : tensor<8x32xf32>
}
schedule.sequence @bind {
  %b = schedule.stage "b"
  %i, %j = schedule.axes %b : 2
  %blockIdx.x = schedule.thread "blockIdx.x"
  schedule.bind %i, %blockIdx.x
  %threadIdx.x = schedule.thread "threadIdx.x" in 32
  schedule.bind %j, %threadIdx.x
}
