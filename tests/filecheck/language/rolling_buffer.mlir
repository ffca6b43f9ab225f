// RUN: whence-opt %s -p schedule-apply | filecheck %s

// Two of the three rows that a pass needs are those of the pass before: a buffer of three rows that goes round.

// CHECK:      %row = tir.alloc : !tir.buffer<3x64xf32>
// CHECK-NEXT: tir.for %i in 16 {
// CHECK-NEXT:   tir.if [%i * -1] >= 0 {
// CHECK-NEXT:     tir.for %i_1 in 3 {
// CHECK-NEXT:       tir.for %j in 64 {
// CHECK:              tir.store %{{.*}}, %row[(%i_1 + %i) mod 3, %j] : f32, !tir.buffer<3x64xf32>
// CHECK:          tir.for %j_1 in 64 {
// CHECK:            tir.store %{{.*}}, %row[(%i + 2) mod 3, %j_1] : f32, !tir.buffer<3x64xf32>
// CHECK:        tir.for %j_2 in 64 {
// CHECK-NEXT:     %{{.*}} = tir.load %row[%i mod 3, %j_2] : !tir.buffer<3x64xf32> -> f32
// CHECK-NEXT:     %{{.*}} = tir.load %row[(%i + 1) mod 3, %j_2] : !tir.buffer<3x64xf32> -> f32
// CHECK:          %{{.*}} = tir.load %row[(%i + 2) mod 3, %j_2] : !tir.buffer<3x64xf32> -> f32
// CHECK:          tir.store %{{.*}}, %out[%i, %j_2] : f32, !tir.buffer<16x64xf32>

te.func @blur(%x: tensor<18x66xf32>) -> (tensor<16x64xf32>) {
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
schedule.sequence @blur {
  %row = schedule.stage "row"
  %out = schedule.stage "out"
  %i, %j = schedule.axes %out : 2
  schedule.compute_at %row, %out, %i
  schedule.rolling_buffer %row
}
