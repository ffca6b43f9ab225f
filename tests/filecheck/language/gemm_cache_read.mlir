// RUN: whence-opt %s -p schedule-apply | filecheck %s
// RUN: whence-opt %s -p "convert-te-to-tir,tir-simplify,tir-vectorize" | filecheck %s --check-prefix VECTOR

// A panel of B is copied to a local buffer once per 16 columns, with vector loads, and read by all rows.

// CHECK:      tir.prim_func @gemm(%A: !tir.buffer<32x20xf32>, %B: !tir.buffer<20x48xf32>, %out: !tir.buffer<32x48xf32>) outputs 1 {
// CHECK-NEXT:   tir.for %j.outer in 3 {
// CHECK-NEXT:     %B.local = tir.alloc : !tir.buffer<20x16xf32, local>
// CHECK-NEXT:     tir.for %ax0 in 20 {
// CHECK-NEXT:       tir.for vectorized %ax1 in 16 {
// CHECK-NEXT:         %{{.*}} = tir.load %B[%ax0, %ax1 + %j.outer * 16] : !tir.buffer<20x48xf32> -> f32
// CHECK-NEXT:         tir.store %{{.*}}, %B.local[%ax0, %ax1] : f32, !tir.buffer<20x16xf32, local>
// CHECK:          tir.for %i in 32 {
// CHECK-NEXT:       tir.for vectorized %j.inner in 16 {
// CHECK:              tir.store %{{.*}}, %out[%i, %j.outer * 16 + %j.inner] : f32, !tir.buffer<32x48xf32>
// CHECK:            tir.for %k in 20 {
// CHECK-NEXT:         tir.for vectorized %j.inner_1 in 16 {
// CHECK:                %{{.*}} = tir.load %B.local[%k, %j.inner_1] : !tir.buffer<20x16xf32, local> -> f32
// CHECK:                tir.store %{{.*}}, %out[%i, %j.outer * 16 + %j.inner_1] : f32, !tir.buffer<32x48xf32>

// VECTOR:      %{{.*}} = tir.load %B[%ax0, %j.outer * 16] : !tir.buffer<20x48xf32> -> vector<16xf32>
// VECTOR-NEXT: tir.store %{{.*}}, %B.local[%ax0, 0] : vector<16xf32>, !tir.buffer<20x16xf32, local>
// VECTOR:      %{{.*}} = arith.constant dense<0.000000e+00> : vector<16xf32>
// VECTOR-NEXT: tir.store %{{.*}}, %out[%i, %j.outer * 16] : vector<16xf32>, !tir.buffer<32x48xf32>
// VECTOR:        %{{.*}} = tir.load %out[%i, %j.outer * 16] : !tir.buffer<32x48xf32> -> vector<16xf32>
// VECTOR:        %{{.*}} = vector.broadcast %{{.*}} : f32 to vector<16xf32>
// VECTOR-NEXT:   %{{.*}} = tir.load %B.local[%k, 0] : !tir.buffer<20x16xf32, local> -> vector<16xf32>
// VECTOR-NEXT:   %{{.*}} = math.fma %{{.*}}, %{{.*}}, %{{.*}} : vector<16xf32>
// VECTOR-NEXT:   tir.store %{{.*}}, %out[%i, %j.outer * 16] : vector<16xf32>, !tir.buffer<32x48xf32>

te.func @gemm(%A: tensor<32x20xf32>, %B: tensor<20x48xf32>) -> (tensor<32x48xf32>) {
  %C = te.compute "C" (%i in 32, %j in 48) sum(%k in 20) : tensor<32x48xf32> {
    %0 = te.read %A[%i, %k] : tensor<32x20xf32>
    %1 = te.read %B[%k, %j] : tensor<20x48xf32>
    %2 = arith.mulf %0, %1 : f32
    te.yield %2 : f32
  }
  te.return %C : tensor<32x48xf32>
}
schedule.sequence @gemm {
  %B = schedule.argument 1
  %C = schedule.stage "C"
  %B.local = schedule.cache_read %B "local" readers(%C)
  %i, %j, %k = schedule.axes %C : 3
  %j.outer, %j.inner = schedule.split %j factor 16
  schedule.reorder %j.outer, %i, %k, %j.inner
  schedule.vectorize %j.inner
  schedule.compute_at %B.local, %C, %j.outer
  %ax0, %ax1 = schedule.axes %B.local : 2
  schedule.vectorize %ax1
}
