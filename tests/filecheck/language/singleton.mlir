// RUN: whence-opt %s -p schedule-apply | filecheck %s
// RUN: whence-opt %s -p "convert-te-to-tir,tir-simplify" | filecheck %s --check-prefix SIMPLE

// A loop of one pass around everything, which holds what it computes.

// CHECK:      tir.prim_func @once(%a: !tir.buffer<8x6xf32>, %out: !tir.buffer<8x6xf32>) outputs 1 {
// CHECK-NEXT:   %b = tir.alloc : !tir.buffer<8x6xf32>
// CHECK-NEXT:   tir.for %i in 8 {
// CHECK-NEXT:     tir.for %j in 6 {
// CHECK:            tir.store %{{.*}}, %b[%i, %j] : f32, !tir.buffer<8x6xf32>
// CHECK:        tir.for %i_1 in 8 {
// CHECK-NEXT:     tir.for %j_1 in 6 {
// CHECK:            tir.store %{{.*}}, %out[%i_1, %j_1] : f32, !tir.buffer<8x6xf32>

// SIMPLE:      tir.prim_func @once(%a: !tir.buffer<8x6xf32>, %out: !tir.buffer<8x6xf32>) outputs 1 {
// SIMPLE-NEXT:   %b = tir.alloc : !tir.buffer<8x6xf32>
// SIMPLE-NEXT:   tir.for %i in 8 {
// SIMPLE-NEXT:     tir.for %j in 6 {
// SIMPLE:            tir.store %{{.*}}, %b[%i, %j] : f32, !tir.buffer<8x6xf32>
// SIMPLE:        tir.for %i_1 in 8 {
// SIMPLE-NEXT:     tir.for %j_1 in 6 {
// SIMPLE:            tir.store %{{.*}}, %out[%i_1, %j_1] : f32, !tir.buffer<8x6xf32>

te.func @once(%a: tensor<8x6xf32>) -> (tensor<8x6xf32>) {
  %b = te.compute "b" (%i in 8, %j in 6) : tensor<8x6xf32> {
    %0 = te.read %a[%i, %j] : tensor<8x6xf32>
    %1 = arith.negf %0 : f32
    te.yield %1 : f32
  }
  %c = te.compute "c" (%i in 8, %j in 6) : tensor<8x6xf32> {
    %0 = te.read %b[%i, %j] : tensor<8x6xf32>
    %1 = math.absf %0 : f32
    te.yield %1 : f32
  }
  te.return %c : tensor<8x6xf32>
}
schedule.sequence @once {
  %c = schedule.stage "c"
  %singleton = schedule.singleton %c
  %b = schedule.stage "b"
  schedule.compute_at %b, %c, %singleton
}
