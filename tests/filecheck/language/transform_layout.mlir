// RUN: whence-opt %s -p schedule-apply | filecheck %s
// RUN: whence-opt %s -p "convert-te-to-tir,tir-flatten-buffer" | filecheck %s --check-prefix FLAT

// A buffer in blocks of 8 columns, and its blocks a dimension of their own when it is flattened. The loops that fill it
// follow it, and one of them is a vector.

// CHECK:      tir.prim_func @packed(%a: !tir.buffer<4x32xf32>, %out: !tir.buffer<4x32xf32>) outputs 1 {
// CHECK-NEXT:   %b = tir.alloc {axis_separators = array<i64: 1>} : !tir.buffer<4x4x8xf32>
// CHECK-NEXT:   tir.for %axis0 in 4 {
// CHECK-NEXT:     tir.for %axis1 in 4 {
// CHECK-NEXT:       tir.for vectorized %axis2 in 8 {
// CHECK-NEXT:         %{{.*}} = tir.load %a[%axis1, %axis2 + %axis0 * 8] : !tir.buffer<4x32xf32> -> f32
// CHECK:              tir.store %{{.*}}, %b[%axis0, %axis1, %axis2] : f32, !tir.buffer<4x4x8xf32>
// CHECK:        tir.for %i in 4 {
// CHECK-NEXT:     tir.for %j in 32 {
// CHECK-NEXT:       %{{.*}} = tir.load %b[%j floordiv 8, %i, %j mod 8] : !tir.buffer<4x4x8xf32> -> f32
// CHECK:            tir.store %{{.*}}, %out[%i, %j] : f32, !tir.buffer<4x32xf32>

// FLAT:      %b = tir.alloc {axis_separators = array<i64: 1>} : !tir.buffer<128xf32>
// FLAT:          tir.store %{{.*}}, %b[%axis0 * 32 + %axis1 * 8 + %axis2] : f32, !tir.buffer<128xf32>
// FLAT:          %{{.*}} = tir.load %b[(%j floordiv 8) * 32 + %i * 8 + %j mod 8] : !tir.buffer<128xf32> -> f32

te.func @packed(%a: tensor<4x32xf32>) -> (tensor<4x32xf32>) {
  %b = te.compute "b" (%i in 4, %j in 32) : tensor<4x32xf32> {
    %0 = te.read %a[%i, %j] : tensor<4x32xf32>
    %1 = arith.negf %0 : f32
    te.yield %1 : f32
  }
  %c = te.compute "c" (%i in 4, %j in 32) : tensor<4x32xf32> {
    %0 = te.read %b[%i, %j] : tensor<4x32xf32>
    %1 = math.absf %0 : f32
    te.yield %1 : f32
  }
  te.return %c : tensor<4x32xf32>
}
schedule.sequence @packed {
  %b = schedule.stage "b"
  %axis0, %axis1, %axis2 = schedule.transform_layout %b affine_map<(d0, d1) -> ((d1 floordiv 8), d0, (d1 mod 8))> : 3
  schedule.set_axis_separators %b [1]
  schedule.vectorize %axis2
}
