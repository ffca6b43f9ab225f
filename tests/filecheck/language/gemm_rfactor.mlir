// RUN: whence-opt %s -p schedule-apply | filecheck %s
// RUN: whence-opt %s -p "convert-te-to-tir,tir-simplify,tir-vectorize,tir-flatten-buffer,tir-remove-no-op" | filecheck %s --check-prefix FLAT

// The sum over 32 falls into 4 partial sums, computed in parallel, which a second stage adds up.

// CHECK:      tir.prim_func @gemm(%A: !tir.buffer<4x32xf32>, %B: !tir.buffer<32x6xf32>, %out: !tir.buffer<4x6xf32>) outputs 1 {
// CHECK-NEXT:   %C.rf = tir.alloc : !tir.buffer<4x4x6xf32>
// CHECK-NEXT:   tir.for parallel %k.outer in 4 {
// CHECK-NEXT:     tir.for %i in 4 {
// CHECK-NEXT:       tir.for vectorized %j in 6 {
// CHECK:              tir.store %{{.*}}, %C.rf[%k.outer, %i, %j] : f32, !tir.buffer<4x4x6xf32>
// CHECK-NEXT:         tir.for %k.inner in 8 {
// CHECK:                tir.store %{{.*}}, %C.rf[%k.outer, %i, %j] : f32, !tir.buffer<4x4x6xf32>
// CHECK:        tir.for %i_1 in 4 {
// CHECK-NEXT:     tir.for %j_1 in 6 {
// CHECK:            tir.store %{{.*}}, %out[%i_1, %j_1] : f32, !tir.buffer<4x6xf32>
// CHECK-NEXT:       tir.for %k.outer.v in 4 {
// CHECK:              tir.store %{{.*}}, %out[%i_1, %j_1] : f32, !tir.buffer<4x6xf32>

// FLAT:      %C.rf = tir.alloc : !tir.buffer<96xf32>
// FLAT-NEXT: tir.for parallel %k.outer in 4 {
// FLAT-NEXT:   tir.for %i in 4 {
// FLAT:          tir.masked_store %{{.*}}, %{{.*}}, %C.rf[%k.outer * 24 + %i * 6] : vector<8xf32>, !tir.buffer<96xf32>
// FLAT-NEXT:     tir.for %k.inner in 8 {
// FLAT:            tir.masked_store %{{.*}}, %{{.*}}, %C.rf[%k.outer * 24 + %i * 6] : vector<8xf32>, !tir.buffer<96xf32>
// FLAT:      tir.for %i_1 in 4 {
// FLAT-NEXT:   tir.for %j in 6 {
// FLAT:          tir.store %{{.*}}, %out[%i_1 * 6 + %j] : f32, !tir.buffer<24xf32>
// FLAT-NEXT:     tir.for %k.outer.v in 4 {
// FLAT:            tir.store %{{.*}}, %out[%i_1 * 6 + %j] : f32, !tir.buffer<24xf32>

te.func @gemm(%A: tensor<4x32xf32>, %B: tensor<32x6xf32>) -> (tensor<4x6xf32>) {
  %C = te.compute "C" (%i in 4, %j in 6) sum(%k in 32) : tensor<4x6xf32> {
    %0 = te.read %A[%i, %k] : tensor<4x32xf32>
    %1 = te.read %B[%k, %j] : tensor<32x6xf32>
    %2 = arith.mulf %0, %1 : f32
    te.yield %2 : f32
  }
  te.return %C : tensor<4x6xf32>
}
schedule.sequence @gemm {
  %C = schedule.stage "C"
  %i, %j, %k = schedule.axes %C : 3
  %k.outer, %k.inner = schedule.split %k factor 8
  %C.rf = schedule.rfactor %k.outer at 0
  %k.outer_1, %i_1, %j_1, %k.inner_1 = schedule.axes %C.rf : 4
  schedule.parallel %k.outer_1
  schedule.vectorize %j_1
}
