// RUN: whence-opt %s -p convert-te-to-tir | filecheck %s

// A condition on the terms of a sum: the others are what the sum starts from.

// CHECK:      tir.prim_func @triangle(%x: !tir.buffer<6x10xf32>, %out: !tir.buffer<6xf32>) outputs 1 {
// CHECK-NEXT:   tir.for %i in 6 {
// CHECK:          tir.store %{{.*}}, %out[%i] : f32, !tir.buffer<6xf32>
// CHECK-NEXT:     tir.for %k in 10 {
// CHECK:            %{{.*}} = arith.cmpi sge, %{{.*}}, %{{.*}} : index
// CHECK-NEXT:       %{{.*}} = tir.load %x[%i, %k] : !tir.buffer<6x10xf32> -> f32
// CHECK:            %{{.*}} = arith.select %{{.*}}, %{{.*}}, %{{.*}} : f32
// CHECK:            tir.store %{{.*}}, %out[%i] : f32, !tir.buffer<6xf32>

te.func @triangle(%x: tensor<6x10xf32>) -> (tensor<6xf32>) {
  %upper = te.compute "upper" (%i in 6) sum(%k in 10) : tensor<6xf32> {
    %0 = te.index [%k]
    %1 = te.index [%i]
    %2 = arith.cmpi sge, %0, %1 : index
    %3 = te.read %x[%i, %k] else 0.0 : f32 : tensor<6x10xf32>
    %4 = arith.constant 0.0 : f32
    %5 = arith.select %2, %3, %4 : f32
    te.yield %5 : f32
  }
  te.return %upper : tensor<6xf32>
}
