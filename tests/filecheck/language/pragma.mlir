// RUN: whence-opt %s -p schedule-apply | filecheck %s

// Hints of three kinds: a number, none, a text.

// CHECK:      tir.prim_func @hints(%a: !tir.buffer<8x6xf32>, %out: !tir.buffer<8x6xf32>) outputs 1 {
// CHECK-NEXT:   tir.for %i in 8 attributes {pragma_auto_unroll_max_step = 16 : i64} {
// CHECK-NEXT:     tir.for %j in 6 attributes {pragma_novector, pragma_note = "few columns"} {
// CHECK:            tir.store %{{.*}}, %out[%i, %j] : f32, !tir.buffer<8x6xf32>

te.func @hints(%a: tensor<8x6xf32>) -> (tensor<8x6xf32>) {
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
schedule.sequence @hints {
  %b = schedule.stage "b"
  schedule.compute_inline %b
  %c = schedule.stage "c"
  %i, %j = schedule.axes %c : 2
  schedule.pragma %i "auto_unroll_max_step" = 16 : i64
  schedule.pragma %j "novector"
  schedule.pragma %j "note" = "few columns"
}
