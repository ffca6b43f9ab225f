// RUN: whence-opt %s -p schedule-apply | filecheck %s
// RUN: whence-opt %s -p "convert-te-to-tir,tir-simplify,tir-vectorize" | filecheck %s --check-prefix VECTOR

// Rows of a table by an index that is read: nothing is known of it, so it is used as it is; 16 lanes of the row.

// CHECK:      tir.prim_func @embedding(%table: !tir.buffer<1000x64xf32>, %ids: !tir.buffer<8xi32>, %out: !tir.buffer<8x64xf32>) outputs 1 {
// CHECK-NEXT:   tir.for %i in 8 {
// CHECK-NEXT:     tir.for %j.outer in 4 {
// CHECK-NEXT:       tir.for vectorized %j.inner in 16 {
// CHECK-NEXT:         %{{.*}} = tir.load %ids[%i] : !tir.buffer<8xi32> -> i32
// CHECK-NEXT:         %{{.*}} = arith.index_cast %{{.*}} : i32 to index
// CHECK-NEXT:         %{{.*}} = tir.load %table[%{{.*}}, %j.outer * 16 + %j.inner] : !tir.buffer<1000x64xf32> -> f32
// CHECK-NEXT:         tir.store %{{.*}}, %out[%i, %j.outer * 16 + %j.inner] : f32, !tir.buffer<8x64xf32>

// VECTOR:      %{{.*}} = tir.load %ids[%i] : !tir.buffer<8xi32> -> i32
// VECTOR:      %{{.*}} = tir.load %table[%{{.*}}, %j.outer * 16] : !tir.buffer<1000x64xf32> -> vector<16xf32>
// VECTOR-NEXT: tir.store %{{.*}}, %out[%i, %j.outer * 16] : vector<16xf32>, !tir.buffer<8x64xf32>

te.func @embedding(%table: tensor<1000x64xf32>, %ids: tensor<8xi32>) -> (tensor<8x64xf32>) {
  %rows = te.compute "rows" (%i in 8, %j in 64) : tensor<8x64xf32> {
    %0 = te.read %ids[%i] : tensor<8xi32>
    %1 = arith.index_cast %0 : i32 to index
    %2 = te.read %table[%1, %j] : tensor<1000x64xf32>
    te.yield %2 : f32
  }
  te.return %rows : tensor<8x64xf32>
}
schedule.sequence @embedding {
  %rows = schedule.stage "rows"
  %i, %j = schedule.axes %rows : 2
  %j.outer, %j.inner = schedule.split %j factor 16
  schedule.vectorize %j.inner
}
