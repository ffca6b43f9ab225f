// RUN: whence-opt %s -p schedule-apply | filecheck %s

// An intrinsic in text: eight elements of a column, with its own loops. Parts of the sum stay outside of the tile.

// CHECK:      tir.prim_func @gemm(%A: !tir.buffer<16x26xf32>, %B: !tir.buffer<26x12xf32>, %out: !tir.buffer<16x12xf32>) outputs 1 {
// CHECK-NEXT:   tir.for %i.outer in 2 {
// CHECK-NEXT:     tir.for %j in 12 {
// CHECK-NEXT:       tir.for %i in 8 {
// CHECK:              tir.store %{{.*}}, %out[%i.outer * 8 + %i, %j] : f32, !tir.buffer<16x12xf32>
// CHECK:            tir.for %k.outer in 2 {
// CHECK-NEXT:         tir.for %k in 13 {
// CHECK-NEXT:           tir.for %i_1 in 8 {
// CHECK:                  tir.store %{{.*}}, %out[%i.outer * 8 + %i_1, %j] : f32, !tir.buffer<16x12xf32>

schedule.tensor_intrin "gemv" {
  te.func @pattern(%x: tensor<8x13xf32>, %y: tensor<13xf32>) -> (tensor<8xf32>) {
    %c = te.compute "c" (%i in 8) sum(%k in 13) : tensor<8xf32> {
      %0 = te.read %x[%i, %k] : tensor<8x13xf32>
      %1 = te.read %y[%k] : tensor<13xf32>
      %2 = arith.mulf %0, %1 : f32
      te.yield %2 : f32
    }
    te.return %c : tensor<8xf32>
  }
  te.func @body(%x: tensor<8x13xf32>, %y: tensor<13xf32>) -> (tensor<8xf32>) {
    %c = te.compute "c" (%i in 8) sum(%k in 13) : tensor<8xf32> {
      %0 = te.read %x[%i, %k] : tensor<8x13xf32>
      %1 = te.read %y[%k] : tensor<13xf32>
      %2 = arith.mulf %0, %1 : f32
      te.yield %2 : f32
    }
    te.return %c : tensor<8xf32>
  }
  schedule.sequence @body {
    %c = schedule.stage "c"
    %i, %k = schedule.axes %c : 2
    schedule.reorder %k, %i
  }
}
te.func @gemm(%A: tensor<16x26xf32>, %B: tensor<26x12xf32>) -> (tensor<16x12xf32>) {
  %C = te.compute "C" (%i in 16, %j in 12) sum(%k in 26) : tensor<16x12xf32> {
    %0 = te.read %A[%i, %k] : tensor<16x26xf32>
    %1 = te.read %B[%k, %j] : tensor<26x12xf32>
    %2 = arith.mulf %0, %1 : f32
    te.yield %2 : f32
  }
  te.return %C : tensor<16x12xf32>
}
schedule.sequence @gemm {
  %C = schedule.stage "C"
  %i, %j, %k = schedule.axes %C : 3
  %i.outer, %i.inner = schedule.split %i factor 8
  %k.outer, %k.inner = schedule.split %k factor 13
  schedule.reorder %i.outer, %j, %k.outer, %i.inner, %k.inner
  schedule.tensorize %i.inner "gemv"
}
