// RUN: whence-opt %s -p convert-te-to-tir | filecheck %s

// One producer, computed before its consumer, per row of it, per element of it: less memory, more work.

// CHECK:      tir.prim_func @at_root(%x: !tir.buffer<18x66xf32>, %out: !tir.buffer<16x64xf32>) outputs 1 {
// CHECK-NEXT:   %row = tir.alloc : !tir.buffer<18x64xf32>
// CHECK-NEXT:   tir.for %i in 18 {
// CHECK-NEXT:     tir.for %j in 64 {
// CHECK:        tir.for %i_1 in 16 {
// CHECK-NEXT:     tir.for %j_1 in 64 {
// CHECK:      tir.prim_func @at_row(%x: !tir.buffer<18x66xf32>, %out: !tir.buffer<16x64xf32>) outputs 1 {
// CHECK-NEXT:   %row = tir.alloc : !tir.buffer<3x64xf32>
// CHECK-NEXT:   tir.for %i in 16 {
// CHECK-NEXT:     tir.for %i_1 in 3 {
// CHECK-NEXT:       tir.for %j in 64 {
// CHECK:          tir.for %j_1 in 64 {
// CHECK:      tir.prim_func @at_element(%x: !tir.buffer<18x66xf32>, %out: !tir.buffer<16x64xf32>) outputs 1 {
// CHECK-NEXT:   %row = tir.alloc : !tir.buffer<3x1xf32>
// CHECK-NEXT:   tir.for %i in 16 {
// CHECK-NEXT:     tir.for %j in 64 {
// CHECK-NEXT:       tir.for %i_1 in 3 {

te.func @at_root(%x: tensor<18x66xf32>) -> (tensor<16x64xf32>) {
  %row = te.compute "row" (%i in 18, %j in 64) : tensor<18x64xf32> {
    %0 = te.read %x[%i, %j] : tensor<18x66xf32>
    %1 = te.read %x[%i, %j + 1] : tensor<18x66xf32>
    %2 = arith.addf %0, %1 : f32
    %3 = te.read %x[%i, %j + 2] : tensor<18x66xf32>
    %4 = arith.addf %2, %3 : f32
    te.yield %4 : f32
  }
  %out = te.compute "out" (%i in 16, %j in 64) : tensor<16x64xf32> {
    %0 = te.read %row[%i, %j] : tensor<18x64xf32>
    %1 = te.read %row[%i + 1, %j] : tensor<18x64xf32>
    %2 = arith.addf %0, %1 : f32
    %3 = te.read %row[%i + 2, %j] : tensor<18x64xf32>
    %4 = arith.addf %2, %3 : f32
    te.yield %4 : f32
  }
  te.return %out : tensor<16x64xf32>
}
te.func @at_row(%x: tensor<18x66xf32>) -> (tensor<16x64xf32>) {
  %row = te.compute "row" (%i in 18, %j in 64) : tensor<18x64xf32> {
    %0 = te.read %x[%i, %j] : tensor<18x66xf32>
    %1 = te.read %x[%i, %j + 1] : tensor<18x66xf32>
    %2 = arith.addf %0, %1 : f32
    %3 = te.read %x[%i, %j + 2] : tensor<18x66xf32>
    %4 = arith.addf %2, %3 : f32
    te.yield %4 : f32
  }
  %out = te.compute "out" (%i in 16, %j in 64) : tensor<16x64xf32> {
    %0 = te.read %row[%i, %j] : tensor<18x64xf32>
    %1 = te.read %row[%i + 1, %j] : tensor<18x64xf32>
    %2 = arith.addf %0, %1 : f32
    %3 = te.read %row[%i + 2, %j] : tensor<18x64xf32>
    %4 = arith.addf %2, %3 : f32
    te.yield %4 : f32
  }
  te.return %out : tensor<16x64xf32>
}
schedule.sequence @at_row {
  %row = schedule.stage "row"
  %out = schedule.stage "out"
  %i, %j = schedule.axes %out : 2
  schedule.compute_at %row, %out, %i
}
te.func @at_element(%x: tensor<18x66xf32>) -> (tensor<16x64xf32>) {
  %row = te.compute "row" (%i in 18, %j in 64) : tensor<18x64xf32> {
    %0 = te.read %x[%i, %j] : tensor<18x66xf32>
    %1 = te.read %x[%i, %j + 1] : tensor<18x66xf32>
    %2 = arith.addf %0, %1 : f32
    %3 = te.read %x[%i, %j + 2] : tensor<18x66xf32>
    %4 = arith.addf %2, %3 : f32
    te.yield %4 : f32
  }
  %out = te.compute "out" (%i in 16, %j in 64) : tensor<16x64xf32> {
    %0 = te.read %row[%i, %j] : tensor<18x64xf32>
    %1 = te.read %row[%i + 1, %j] : tensor<18x64xf32>
    %2 = arith.addf %0, %1 : f32
    %3 = te.read %row[%i + 2, %j] : tensor<18x64xf32>
    %4 = arith.addf %2, %3 : f32
    te.yield %4 : f32
  }
  te.return %out : tensor<16x64xf32>
}
schedule.sequence @at_element {
  %row = schedule.stage "row"
  %out = schedule.stage "out"
  %i, %j = schedule.axes %out : 2
  schedule.compute_at %row, %out, %j
}
