// RUN: whence-opt %s -p schedule-apply | filecheck %s
// RUN: whence-opt %s -p "convert-te-to-tir,tir-inject-prefetch" | filecheck %s --check-prefix FETCH

// A hint becomes prefetches of what the pass after the next one reads.

// CHECK:      tir.prim_func @ahead(%a: !tir.buffer<8x64xf32>, %out: !tir.buffer<8x64xf32>) outputs 1 {
// CHECK-NEXT:   tir.for %i in 8 attributes {prefetch = {{\[\[}}"a", 2 : i64]]} {
// CHECK-NEXT:     tir.for %j in 64 {
// CHECK:            tir.store %{{.*}}, %out[%i, %j] : f32, !tir.buffer<8x64xf32>

// FETCH:      tir.for %i in 8 {
// FETCH-NEXT:   tir.for %j in 64 {
// FETCH-NEXT:     tir.prefetch %a[%i + 2, %j] locality 2 : !tir.buffer<8x64xf32>
// FETCH-NEXT:     %{{.*}} = tir.load %a[%i, %j] : !tir.buffer<8x64xf32> -> f32

te.func @ahead(%a: tensor<8x64xf32>) -> (tensor<8x64xf32>) {
  %b = te.compute "b" (%i in 8, %j in 64) : tensor<8x64xf32> {
    %0 = te.read %a[%i, %j] : tensor<8x64xf32>
    %1 = arith.negf %0 : f32
    te.yield %1 : f32
  }
  %c = te.compute "c" (%i in 8, %j in 64) : tensor<8x64xf32> {
    %0 = te.read %b[%i, %j] : tensor<8x64xf32>
    %1 = math.absf %0 : f32
    te.yield %1 : f32
  }
  te.return %c : tensor<8x64xf32>
}
schedule.sequence @ahead {
  %b = schedule.stage "b"
  schedule.compute_inline %b
  %a = schedule.argument 0
  %c = schedule.stage "c"
  %i, %j = schedule.axes %c : 2
  schedule.prefetch %a, %i offset 2
}
