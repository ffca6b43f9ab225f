// RUN: whence-opt %s -p schedule-apply | filecheck %s
// RUN: whence-opt %s -p "convert-te-to-tir,tir-simplify,tir-vectorize" | filecheck %s --check-prefix VECTOR

// A sum over time: the first row is copied, the others follow from the row before, in one buffer, 8 lanes at once.

// CHECK:      tir.prim_func @cumsum(%x: !tir.buffer<12x8xf32>, %out: !tir.buffer<12x8xf32>) outputs 1 {
// CHECK-NEXT:   %init = tir.alloc : !tir.buffer<1x8xf32>
// CHECK-NEXT:   tir.for %i in 8 {
// CHECK-NEXT:     %{{.*}} = tir.load %x[0, %i] : !tir.buffer<12x8xf32> -> f32
// CHECK-NEXT:     tir.store %{{.*}}, %init[0, %i] : f32, !tir.buffer<1x8xf32>
// CHECK:        tir.for %i0 in 1 {
// CHECK-NEXT:     tir.for %i1 in 8 {
// CHECK-NEXT:       %{{.*}} = tir.load %init[%i0, %i1] : !tir.buffer<1x8xf32> -> f32
// CHECK-NEXT:       tir.store %{{.*}}, %out[%i0, %i1] : f32, !tir.buffer<12x8xf32>
// CHECK:        tir.for %total.idx in 11 {
// CHECK-NEXT:     tir.for vectorized %i_1 in 8 {
// CHECK-NEXT:       %{{.*}} = tir.load %out[%total.idx, %i_1] : !tir.buffer<12x8xf32> -> f32
// CHECK-NEXT:       %{{.*}} = tir.load %x[%total.idx + 1, %i_1] : !tir.buffer<12x8xf32> -> f32
// CHECK:            tir.store %{{.*}}, %out[%total.idx + 1, %i_1] : f32, !tir.buffer<12x8xf32>

// VECTOR:      tir.for %i in 8 {
// VECTOR:      tir.for %i1 in 8 {
// VECTOR:      tir.for %total.idx in 11 {
// VECTOR-NEXT:   %{{.*}} = tir.load %out[%total.idx, 0] : !tir.buffer<12x8xf32> -> vector<8xf32>
// VECTOR-NEXT:   %{{.*}} = tir.load %x[%total.idx + 1, 0] : !tir.buffer<12x8xf32> -> vector<8xf32>
// VECTOR-NEXT:   %{{.*}} = arith.addf %{{.*}}, %{{.*}} : vector<8xf32>
// VECTOR-NEXT:   tir.store %{{.*}}, %out[%total.idx + 1, 0] : vector<8xf32>, !tir.buffer<12x8xf32>

te.func @cumsum(%x: tensor<12x8xf32>) -> (tensor<12x8xf32>) {
  %init = te.compute "init" (%_ in 1, %i in 8) : tensor<1x8xf32> {
    %0 = te.read %x[0, %i] : tensor<12x8xf32>
    te.yield %0 : f32
  }
  %state = te.state "state" : tensor<12x8xf32>
  %update = te.compute "update" (%t in 12, %i in 8) : tensor<12x8xf32> {
    %0 = te.read %state[%t - 1, %i] : tensor<12x8xf32>
    %1 = te.read %x[%t, %i] : tensor<12x8xf32>
    %2 = arith.addf %0, %1 : f32
    te.yield %2 : f32
  }
  %total = te.scan "total" (%state from %init next %update : tensor<1x8xf32> -> tensor<12x8xf32>)
  te.return %total : tensor<12x8xf32>
}
schedule.sequence @cumsum {
  %update = schedule.stage "update"
  %t, %i = schedule.axes %update : 2
  schedule.vectorize %i
}
