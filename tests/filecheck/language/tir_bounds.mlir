// RUN: whence-opt %s -p tir-instrument-bound-checkers | filecheck %s

// An index that is read may be anything: the store behind it is checked; the loop's own index is not.

// CHECK:      tir.for %i in 8 {
// CHECK-NEXT:   tir.load %at[%i] : !tir.buffer<8xi32> -> i32
// CHECK:        whence_bound_error
tir.prim_func @scatter(%at: !tir.buffer<8xi32>, %y: !tir.buffer<64xf32>) outputs 1 {
  %one = arith.constant 1.0 : f32
  tir.for %i in 8 {
    %0 = tir.load %at[%i] : !tir.buffer<8xi32> -> i32
    %1 = arith.index_cast %0 : i32 to index
    tir.store %one, %y[%1] : f32, !tir.buffer<64xf32>
  }
}
