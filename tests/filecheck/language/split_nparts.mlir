// RUN: whence-opt %s -p schedule-apply | filecheck %s

// 30 elements in 4 parts, each of 8, for 4 threads; the last part is shorter.

// CHECK:      tir.prim_func @parts(%a: !tir.buffer<30xf32>, %out: !tir.buffer<30xf32>) outputs 1 {
// CHECK-NEXT:   tir.for parallel %i.outer in 4 {
// CHECK-NEXT:     tir.for %i.inner in 8 {
// CHECK-NEXT:       tir.if likely [%i.outer * -8 + %i.inner * -1 + 29] >= 0 {
// CHECK:              tir.store %{{.*}}, %out[%i.outer * 8 + %i.inner] : f32, !tir.buffer<30xf32>

te.func @parts(%a: tensor<30xf32>) -> (tensor<30xf32>) {
  %b = te.compute "b" (%i in 30) : tensor<30xf32> {
    %0 = te.read %a[%i] : tensor<30xf32>
    %1 = arith.constant 2.0 : f32
    %2 = arith.mulf %0, %1 : f32
    te.yield %2 : f32
  }
  te.return %b : tensor<30xf32>
}
schedule.sequence @parts {
  %b = schedule.stage "b"
  %i = schedule.axes %b : 1
  %i.outer, %i.inner = schedule.split_by_nparts %i nparts 4
  schedule.parallel %i.outer
}
