// RUN: whence-opt %s -p schedule-apply | filecheck %s
// RUN: whence-opt %s -p "convert-te-to-tir,tir-simplify" | filecheck %s --check-prefix SIMPLE

// A reshape is index arithmetic; inlined into a transposition, the division and the remainder go away.

// CHECK:      tir.prim_func @transpose(%x: !tir.buffer<6x8xf32>, %out: !tir.buffer<8x6xf32>) outputs 1 {
// CHECK-NEXT:   tir.for %i in 8 {
// CHECK-NEXT:     tir.for %j in 6 {
// CHECK-NEXT:       %{{.*}} = tir.load %x[%j, %i] : !tir.buffer<6x8xf32> -> f32
// CHECK-NEXT:       tir.store %{{.*}}, %out[%i, %j] : f32, !tir.buffer<8x6xf32>

// SIMPLE:      %{{.*}} = tir.load %x[%j, %i] : !tir.buffer<6x8xf32> -> f32

te.func @transpose(%x: tensor<6x8xf32>) -> (tensor<8x6xf32>) {
  %flat = te.compute "flat" (%i in 48) : tensor<48xf32> {
    %0 = te.read %x[%i floordiv 8, %i mod 8] : tensor<6x8xf32>
    te.yield %0 : f32
  }
  %turned = te.compute "turned" (%i in 8, %j in 6) : tensor<8x6xf32> {
    %0 = te.read %flat[%j * 8 + %i] : tensor<48xf32>
    te.yield %0 : f32
  }
  te.return %turned : tensor<8x6xf32>
}
schedule.sequence @transpose {
  %flat = schedule.stage "flat"
  schedule.compute_inline %flat
}
