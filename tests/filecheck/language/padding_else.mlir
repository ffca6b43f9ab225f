// RUN: whence-opt %s -p schedule-apply | filecheck %s

// A read of a padded tensor says what lies outside of it; nothing else has to be computed there.

// CHECK:      tir.for %i in 16 {
// CHECK-NEXT:   %{{.*}} = arith.constant 0xff800000 : f32
// CHECK-NEXT:   tir.store %{{.*}}, %out[%i] : f32, !tir.buffer<16xf32>
// CHECK-NEXT:   tir.for unrolled %k in 3 {
// CHECK:          tir.load %x[%i + %k - 1] if [%i + %k - 1, %i * -1 + %k * -1 + 16] >= 0 else -1.000000e+00 : f32
te.func @window(%x: tensor<16xf32>) -> (tensor<16xf32>) {
  %y = te.compute "y" (%i in 16) max(%k in 3) : tensor<16xf32> {
    %0 = te.read %x[%i + %k - 1] else -1.0 : f32 : tensor<16xf32>
    te.yield %0 : f32
  }
  te.return %y : tensor<16xf32>
}
schedule.sequence @window {
  %y = schedule.stage "y"
  %i, %k = schedule.axes %y : 2
  schedule.unroll %k
}
