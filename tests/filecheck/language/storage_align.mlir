// RUN: whence-opt %s -p schedule-apply | filecheck %s
// RUN: whence-opt %s -p "convert-te-to-tir,tir-flatten-buffer" | filecheck %s --check-prefix FLAT

// Rows of 30 lie 33 apart, which is 1 modulo 32.

// CHECK:      tir.prim_func @align(%a: !tir.buffer<8x30xf32>, %out: !tir.buffer<8x30xf32>) outputs 1 {
// CHECK-NEXT:   %b = tir.alloc : !tir.buffer<8x33xf32>
// CHECK-NEXT:   tir.for %i in 8 {
// CHECK-NEXT:     tir.for %j in 30 {
// CHECK-NEXT:       %{{.*}} = tir.load %a[%i, %j] : !tir.buffer<8x30xf32> -> f32
// CHECK:            tir.store %{{.*}}, %b[%i, %j] : f32, !tir.buffer<8x33xf32>
// CHECK:        tir.for %i_1 in 8 {
// CHECK-NEXT:     tir.for %j_1 in 30 {
// CHECK-NEXT:       %{{.*}} = tir.load %b[%i_1, %j_1] : !tir.buffer<8x33xf32> -> f32
// CHECK:            tir.store %{{.*}}, %out[%i_1, %j_1] : f32, !tir.buffer<8x30xf32>

// FLAT:      %b = tir.alloc : !tir.buffer<264xf32>
// FLAT:          tir.store %{{.*}}, %b[%i * 33 + %j] : f32, !tir.buffer<264xf32>
// FLAT:          %{{.*}} = tir.load %b[%i_1 * 33 + %j_1] : !tir.buffer<264xf32> -> f32
// FLAT:          tir.store %{{.*}}, %out[%i_1 * 30 + %j_1] : f32, !tir.buffer<240xf32>

te.func @align(%a: tensor<8x30xf32>) -> (tensor<8x30xf32>) {
  %b = te.compute "b" (%i in 8, %j in 30) : tensor<8x30xf32> {
    %0 = te.read %a[%i, %j] : tensor<8x30xf32>
    %1 = arith.negf %0 : f32
    te.yield %1 : f32
  }
  %c = te.compute "c" (%i in 8, %j in 30) : tensor<8x30xf32> {
    %0 = te.read %b[%i, %j] : tensor<8x30xf32>
    %1 = math.absf %0 : f32
    te.yield %1 : f32
  }
  te.return %c : tensor<8x30xf32>
}
schedule.sequence @align {
  %b = schedule.stage "b"
  %i, %j = schedule.axes %b : 2
  schedule.storage_align %i factor 32 offset 1
}
