// RUN: whence-opt %s -p schedule-apply | filecheck %s
// RUN: whence-opt %s -p "convert-te-to-tir,tir-simplify,tir-vectorize" | filecheck %s --check-prefix VECTOR

// Tiles of 4x32 in parallel; the rows that a tile needs, with the two below, are computed in it; 8 lanes in both.

// CHECK:      tir.for parallel %i.outer in 4 {
// CHECK-NEXT:   tir.for %j.outer in 2 {
// CHECK-NEXT:     %row = tir.alloc : !tir.buffer<6x32xf32, local>
// CHECK-NEXT:     tir.for %i in 6 {
// CHECK-NEXT:       tir.for %j.outer_1 in 4 {
// CHECK-NEXT:         tir.for vectorized %j.inner in 8 {
// CHECK:                tir.store %{{.*}}, %row[%i, %j.outer_1 * 8 + %j.inner] : f32, !tir.buffer<6x32xf32, local>
// CHECK:          tir.for %i.inner in 4 {
// CHECK-NEXT:       tir.for %j.inner.outer in 4 {
// CHECK-NEXT:         tir.for vectorized %j.inner.inner in 8 {
// CHECK:                tir.store %{{.*}}, %out[%i.outer * 4 + %i.inner, %j.outer * 32 + %j.inner.outer * 8 + %j.inner.inner] : f32, !tir.buffer<16x64xf32>

// VECTOR:      tir.for parallel %i.outer in 4 {
// VECTOR-NEXT:   tir.for %j.outer in 2 {
// VECTOR-NEXT:     %row = tir.alloc : !tir.buffer<6x32xf32, local>
// VECTOR-NEXT:     tir.for %i in 6 {
// VECTOR-NEXT:       tir.for %j.outer_1 in 4 {
// VECTOR:              tir.store %{{.*}}, %row[%i, %j.outer_1 * 8] : vector<8xf32>, !tir.buffer<6x32xf32, local>
// VECTOR:          tir.for %i.inner in 4 {
// VECTOR-NEXT:       tir.for %j.inner.outer in 4 {
// VECTOR:              tir.store %{{.*}}, %out[%i.outer * 4 + %i.inner, %j.outer * 32 + %j.inner.outer * 8] : vector<8xf32>, !tir.buffer<16x64xf32>

te.func @blur(%x: tensor<18x66xf32>) -> (tensor<16x64xf32>) {
  %row = te.compute "row" (%i in 18, %j in 64) : tensor<18x64xf32> {
    %0 = te.read %x[%i, %j] : tensor<18x66xf32>
    %1 = te.read %x[%i, %j + 1] : tensor<18x66xf32>
    %2 = arith.addf %0, %1 : f32
    %3 = te.read %x[%i, %j + 2] : tensor<18x66xf32>
    %4 = arith.addf %2, %3 : f32
    te.yield %4 : f32
  }
  %out = te.compute "out" (%i in 16, %j in 64) : tensor<16x64xf32> {
    %0 = te.read %row[%i, %j] : tensor<18x64xf32>
    %1 = te.read %row[%i + 1, %j] : tensor<18x64xf32>
    %2 = arith.addf %0, %1 : f32
    %3 = te.read %row[%i + 2, %j] : tensor<18x64xf32>
    %4 = arith.addf %2, %3 : f32
    te.yield %4 : f32
  }
  te.return %out : tensor<16x64xf32>
}
schedule.sequence @blur {
  %out = schedule.stage "out"
  %i, %j = schedule.axes %out : 2
  %i.outer, %i.inner = schedule.split %i factor 4
  %j.outer, %j.inner = schedule.split %j factor 32
  schedule.reorder %i.outer, %j.outer, %i.inner, %j.inner
  schedule.parallel %i.outer
  %j.inner.outer, %j.inner.inner = schedule.split %j.inner factor 8
  schedule.vectorize %j.inner.inner
  %row = schedule.stage "row"
  schedule.compute_at %row, %out, %j.outer
  %i_1, %j_1 = schedule.axes %row : 2
  %j.outer_1, %j.inner_1 = schedule.split %j_1 factor 8
  schedule.vectorize %j.inner_1
}
