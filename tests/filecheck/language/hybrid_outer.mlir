// RUN: whence-opt %s -p convert-te-to-tir | filecheck %s

// A stage written as loops, between arguments and another stage.

// CHECK:      tir.prim_func @outer(%a: !tir.buffer<4xf32>, %b: !tir.buffer<8xf32>, %out: !tir.buffer<4x8xf32>) outputs 1 {
// CHECK-NEXT:   %_outer = tir.alloc : !tir.buffer<4x8xf32>
// CHECK-NEXT:   tir.for %i in 4 {
// CHECK-NEXT:     tir.for parallel %j in 8 {
// CHECK:            tir.store %{{.*}}, %_outer[%i, %j] : f32, !tir.buffer<4x8xf32>
// CHECK-NEXT:       tir.if [%j + %i * -1 - 1] >= 0 {
// CHECK:              tir.store %{{.*}}, %_outer[%i, %j] : f32, !tir.buffer<4x8xf32>
// CHECK:        tir.for %i_1 in 4 {
// CHECK-NEXT:     tir.for %j_1 in 8 {
// CHECK:            tir.store %{{.*}}, %out[%i_1, %j_1] : f32, !tir.buffer<4x8xf32>

te.func @outer(%a: tensor<4xf32>, %b: tensor<8xf32>) -> (tensor<4x8xf32>) {
  %_outer = te.hybrid "_outer"(%a, %b) : (tensor<4xf32>, tensor<8xf32>) -> (tensor<4x8xf32>) {
  ^bb0(%a_1: !tir.buffer<4xf32>, %b_1: !tir.buffer<8xf32>, %_outer_1: !tir.buffer<4x8xf32>):
    tir.for %i in 4 {
      tir.for parallel %j in 8 {
        %0 = arith.constant 0.0 : f32
        tir.store %0, %_outer_1[%i, %j] : f32, !tir.buffer<4x8xf32>
        tir.if [%j + %i * -1 - 1] >= 0 {
          %1 = tir.load %a_1[%i] : !tir.buffer<4xf32> -> f32
          %2 = tir.load %b_1[%j] : !tir.buffer<8xf32> -> f32
          %3 = arith.mulf %1, %2 : f32
          tir.store %3, %_outer_1[%i, %j] : f32, !tir.buffer<4x8xf32>
        }
      }
    }
  }
  %d = te.compute "d" (%i in 4, %j in 8) : tensor<4x8xf32> {
    %0 = te.read %_outer[%i, %j] : tensor<4x8xf32>
    %1 = arith.constant 1.0 : f32
    %2 = arith.subf %0, %1 : f32
    te.yield %2 : f32
  }
  te.return %d : tensor<4x8xf32>
}
