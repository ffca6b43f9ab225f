// RUN: whence-opt %s -p schedule-apply | filecheck %s
// RUN: whence-opt %s -p "convert-te-to-tir,tir-simplify,tir-vectorize,tir-flatten-buffer,tir-remove-no-op" | filecheck %s --check-prefix VECTOR

// Tiles of 8x16: rows of tiles in parallel, 16 lanes, the sum in steps of 4 outside of the tile's rows.

// CHECK:      tir.prim_func @gemm(%A: !tir.buffer<64x32xf32>, %B: !tir.buffer<32x64xf32>, %out: !tir.buffer<64x64xf32>) outputs 1 {
// CHECK-NEXT:   tir.for parallel %i.outer in 8 {
// CHECK-NEXT:     tir.for %j.outer in 4 {
// CHECK-NEXT:       tir.for %i.inner in 8 {
// CHECK-NEXT:         tir.for vectorized %j.inner in 16 {
// CHECK:                tir.store %{{.*}}, %out[%i.outer * 8 + %i.inner, %j.outer * 16 + %j.inner] : f32, !tir.buffer<64x64xf32>
// CHECK:            tir.for %k.outer in 8 {
// CHECK-NEXT:         tir.for %i.inner_1 in 8 {
// CHECK-NEXT:           tir.for %k.inner in 4 {
// CHECK-NEXT:             tir.for vectorized %j.inner_1 in 16 {
// CHECK:                    tir.store %{{.*}}, %out[%i.outer * 8 + %i.inner_1, %j.outer * 16 + %j.inner_1] : f32, !tir.buffer<64x64xf32>

// VECTOR:      %{{.*}} = arith.constant dense<0.000000e+00> : vector<16xf32>
// VECTOR-NEXT: tir.store %{{.*}}, %out[%i.outer * 512 + %i.inner * 64 + %j.outer * 16] : vector<16xf32>, !tir.buffer<4096xf32>
// VECTOR:          %{{.*}} = tir.load %out[%i.outer * 512 + %i.inner_1 * 64 + %j.outer * 16] : !tir.buffer<4096xf32> -> vector<16xf32>
// VECTOR:          %{{.*}} = vector.broadcast %{{.*}} : f32 to vector<16xf32>
// VECTOR-NEXT:     %{{.*}} = tir.load %B[%k.outer * 256 + %k.inner * 64 + %j.outer * 16] : !tir.buffer<2048xf32> -> vector<16xf32>
// VECTOR-NEXT:     %{{.*}} = math.fma %{{.*}}, %{{.*}}, %{{.*}} : vector<16xf32>
// VECTOR-NEXT:     tir.store %{{.*}}, %out[%i.outer * 512 + %i.inner_1 * 64 + %j.outer * 16] : vector<16xf32>, !tir.buffer<4096xf32>

te.func @gemm(%A: tensor<64x32xf32>, %B: tensor<32x64xf32>) -> (tensor<64x64xf32>) {
  %C = te.compute "C" (%i in 64, %j in 64) sum(%k in 32) : tensor<64x64xf32> {
    %0 = te.read %A[%i, %k] : tensor<64x32xf32>
    %1 = te.read %B[%k, %j] : tensor<32x64xf32>
    %2 = arith.mulf %0, %1 : f32
    te.yield %2 : f32
  }
  te.return %C : tensor<64x64xf32>
}
schedule.sequence @gemm {
  %C = schedule.stage "C"
  %i, %j, %k = schedule.axes %C : 3
  %i.outer, %i.inner = schedule.split %i factor 8
  %j.outer, %j.inner = schedule.split %j factor 16
  schedule.reorder %i.outer, %j.outer, %i.inner, %j.inner
  %k.outer, %k.inner = schedule.split %k factor 4
  schedule.reorder %i.outer, %j.outer, %k.outer, %i.inner, %k.inner, %j.inner
  schedule.vectorize %j.inner
  schedule.parallel %i.outer
}
