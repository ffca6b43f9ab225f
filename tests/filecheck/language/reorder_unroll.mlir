// RUN: whence-opt %s -p schedule-apply | filecheck %s
// RUN: whence-opt %s -p "convert-te-to-tir,tir-unroll{explicit=true}" | filecheck %s --check-prefix UNROLLED

// Columns outside; two rows at once, unrolled when asked.

// CHECK:      tir.prim_func @unroll(%a: !tir.buffer<16x6xf32>, %out: !tir.buffer<16x6xf32>) outputs 1 {
// CHECK-NEXT:   tir.for %j in 6 {
// CHECK-NEXT:     tir.for %i.outer in 8 {
// CHECK-NEXT:       tir.for unrolled %i.inner in 2 {
// CHECK:              tir.store %{{.*}}, %out[%i.outer * 2 + %i.inner, %j] : f32, !tir.buffer<16x6xf32>

// UNROLLED:      tir.for %j in 6 {
// UNROLLED-NEXT:   tir.for %i.outer in 8 {
// UNROLLED-NEXT:     %{{.*}} = tir.load %a[%i.outer * 2, %j] : !tir.buffer<16x6xf32> -> f32
// UNROLLED:          tir.store %{{.*}}, %out[%i.outer * 2, %j] : f32, !tir.buffer<16x6xf32>
// UNROLLED-NEXT:     %{{.*}} = tir.load %a[%i.outer * 2 + 1, %j] : !tir.buffer<16x6xf32> -> f32
// UNROLLED:          tir.store %{{.*}}, %out[%i.outer * 2 + 1, %j] : f32, !tir.buffer<16x6xf32>

te.func @unroll(%a: tensor<16x6xf32>) -> (tensor<16x6xf32>) {
  %b = te.compute "b" (%i in 16, %j in 6) : tensor<16x6xf32> {
    %0 = te.read %a[%i, %j] : tensor<16x6xf32>
    %1 = arith.negf %0 : f32
    te.yield %1 : f32
  }
  %c = te.compute "c" (%i in 16, %j in 6) : tensor<16x6xf32> {
    %0 = te.read %b[%i, %j] : tensor<16x6xf32>
    %1 = math.absf %0 : f32
    te.yield %1 : f32
  }
  te.return %c : tensor<16x6xf32>
}
schedule.sequence @unroll {
  %b = schedule.stage "b"
  schedule.compute_inline %b
  %c = schedule.stage "c"
  %i, %j = schedule.axes %c : 2
  %i.outer, %i.inner = schedule.split %i factor 2
  schedule.reorder %j, %i.outer, %i.inner
  schedule.unroll %i.inner
}
