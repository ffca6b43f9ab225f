// RUN: whence-opt %s -p "tir-unroll{explicit=true},tir-simplify,tir-common-subexpr-elimination" | filecheck %s

// Four copies of the body; what each of them loads is loaded once.

// CHECK:      tir.for %i in 8 {
// CHECK-NEXT:   %[[X:[0-9]+]] = tir.load %x[%i] : !tir.buffer<8xf32> -> f32
// CHECK:        tir.store %{{.*}}, %y[%i, 0] : f32, !tir.buffer<8x4xf32>
// CHECK-NEXT:   %[[W:[0-9]+]] = tir.load %w[1] : !tir.buffer<4xf32> -> f32
// CHECK-NEXT:   %{{.*}} = arith.mulf %[[X]], %[[W]] : f32
// CHECK-NOT:    tir.load %x
// CHECK:        tir.store %{{.*}}, %y[%i, 3] : f32, !tir.buffer<8x4xf32>
// CHECK-NEXT: }
tir.prim_func @outer(%x: !tir.buffer<8xf32>, %w: !tir.buffer<4xf32>, %y: !tir.buffer<8x4xf32>) outputs 1 {
  tir.for %i in 8 {
    tir.for unrolled %j in 4 {
      %0 = tir.load %x[%i] : !tir.buffer<8xf32> -> f32
      %1 = tir.load %w[%j] : !tir.buffer<4xf32> -> f32
      %2 = arith.mulf %0, %1 : f32
      tir.store %2, %y[%i, %j] : f32, !tir.buffer<8x4xf32>
    }
  }
}
