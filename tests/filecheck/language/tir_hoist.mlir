// RUN: whence-opt %s -p tir-hoist-if-then-else | filecheck %s

// A branch that only the outer loop decides is taken once per pass of it.

// CHECK:      tir.for %i in 8 {
// CHECK-NEXT:   tir.if [%i - 2] >= 0 {
// CHECK-NEXT:     tir.for %j in 16 {
// CHECK-NEXT:       tir.load %a[%i, %j]
// CHECK-NEXT:       tir.store %{{.*}}, %b[%i, %j]
// CHECK-NEXT:     }
// CHECK-NEXT:   } else {
// CHECK-NEXT:     tir.for %{{.*}} in 16 {
// CHECK:            tir.store %zero, %b[%i, %{{.*}}]
tir.prim_func @rows(%a: !tir.buffer<8x16xf32>, %b: !tir.buffer<8x16xf32>) outputs 1 {
  %zero = arith.constant 0.0 : f32
  tir.for %i in 8 {
    tir.for %j in 16 {
      tir.if [%i - 2] >= 0 {
        %0 = tir.load %a[%i, %j] : !tir.buffer<8x16xf32> -> f32
        tir.store %0, %b[%i, %j] : f32, !tir.buffer<8x16xf32>
      } else {
        tir.store %zero, %b[%i, %j] : f32, !tir.buffer<8x16xf32>
      }
    }
  }
}
