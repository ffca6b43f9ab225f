// RUN: whence-opt %s -p convert-te-to-tir | filecheck %s

// What product, maximum and minimum start from, and how they go on.

// CHECK:      tir.prim_func @prod(%x: !tir.buffer<6x10xf32>, %out: !tir.buffer<6xf32>) outputs 1 {
// CHECK-NEXT:   tir.for %i in 6 {
// CHECK-NEXT:     %{{.*}} = arith.constant 1.000000e+00 : f32
// CHECK-NEXT:     tir.store %{{.*}}, %out[%i] : f32, !tir.buffer<6xf32>
// CHECK-NEXT:     tir.for %k in 10 {
// CHECK:            %{{.*}} = arith.mulf %{{.*}}, %{{.*}} : f32
// CHECK-NEXT:       tir.store %{{.*}}, %out[%i] : f32, !tir.buffer<6xf32>
// CHECK:      tir.prim_func @max(%x: !tir.buffer<6x10xf32>, %out: !tir.buffer<6xf32>) outputs 1 {
// CHECK-NEXT:   tir.for %i in 6 {
// CHECK-NEXT:     %{{.*}} = arith.constant 0xff800000 : f32
// CHECK-NEXT:     tir.store %{{.*}}, %out[%i] : f32, !tir.buffer<6xf32>
// CHECK-NEXT:     tir.for %k in 10 {
// CHECK:            %{{.*}} = arith.maximumf %{{.*}}, %{{.*}} fastmath<nsz> : f32
// CHECK-NEXT:       tir.store %{{.*}}, %out[%i] : f32, !tir.buffer<6xf32>
// CHECK:      tir.prim_func @min(%x: !tir.buffer<6x10xf32>, %out: !tir.buffer<6xf32>) outputs 1 {
// CHECK-NEXT:   tir.for %i in 6 {
// CHECK-NEXT:     %{{.*}} = arith.constant 0x7f800000 : f32
// CHECK-NEXT:     tir.store %{{.*}}, %out[%i] : f32, !tir.buffer<6xf32>
// CHECK-NEXT:     tir.for %k in 10 {
// CHECK:            %{{.*}} = arith.minimumf %{{.*}}, %{{.*}} fastmath<nsz> : f32
// CHECK-NEXT:       tir.store %{{.*}}, %out[%i] : f32, !tir.buffer<6xf32>

te.func @prod(%x: tensor<6x10xf32>) -> (tensor<6xf32>) {
  %y = te.compute "y" (%i in 6) prod(%k in 10) : tensor<6xf32> {
    %0 = te.read %x[%i, %k] : tensor<6x10xf32>
    te.yield %0 : f32
  }
  te.return %y : tensor<6xf32>
}
te.func @max(%x: tensor<6x10xf32>) -> (tensor<6xf32>) {
  %y = te.compute "y" (%i in 6) max(%k in 10) : tensor<6xf32> {
    %0 = te.read %x[%i, %k] : tensor<6x10xf32>
    te.yield %0 : f32
  }
  te.return %y : tensor<6xf32>
}
te.func @min(%x: tensor<6x10xf32>) -> (tensor<6xf32>) {
  %y = te.compute "y" (%i in 6) min(%k in 10) : tensor<6xf32> {
    %0 = te.read %x[%i, %k] : tensor<6x10xf32>
    te.yield %0 : f32
  }
  te.return %y : tensor<6xf32>
}
