// RUN: whence-opt %s -p schedule-apply | filecheck %s
// RUN: whence-opt %s -p "convert-te-to-tir,tir-loop-partition,tir-simplify,tir-vectorize" | filecheck %s --check-prefix PARTS

// 30 elements by 8: the last pass is guarded. Split off it is a masked vector, and the others are whole ones.

// CHECK:      tir.prim_func @odd(%a: !tir.buffer<30xf32>, %out: !tir.buffer<30xf32>) outputs 1 {
// CHECK-NEXT:   tir.for %i.outer in 4 {
// CHECK-NEXT:     tir.for vectorized %i.inner in 8 {
// CHECK-NEXT:       tir.if likely [%i.outer * -8 + %i.inner * -1 + 29] >= 0 {
// CHECK:              tir.store %{{.*}}, %out[%i.outer * 8 + %i.inner] : f32, !tir.buffer<30xf32>

// PARTS:      tir.for %i.outer in 3 {
// PARTS:        tir.store %{{.*}}, %out[%i.outer * 8] : vector<8xf32>, !tir.buffer<30xf32>
// PARTS:      tir.masked_store %{{.*}}, %{{.*}}, %out[24] : vector<8xf32>, !tir.buffer<30xf32>

te.func @odd(%a: tensor<30xf32>) -> (tensor<30xf32>) {
  %b = te.compute "b" (%i in 30) : tensor<30xf32> {
    %0 = te.read %a[%i] : tensor<30xf32>
    %1 = arith.constant 2.0 : f32
    %2 = arith.mulf %0, %1 : f32
    te.yield %2 : f32
  }
  te.return %b : tensor<30xf32>
}
schedule.sequence @odd {
  %b = schedule.stage "b"
  %i = schedule.axes %b : 1
  %i.outer, %i.inner = schedule.split %i factor 8
  schedule.vectorize %i.inner
}
