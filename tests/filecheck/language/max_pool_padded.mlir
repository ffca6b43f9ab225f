// RUN: whence-opt %s -p convert-te-to-tir | filecheck %s

// Positions outside of the image count as the least number; the load behind the guard never leaves the image.

// CHECK:      tir.for %c in 4 {
// CHECK-NEXT:   tir.for %y in 7 {
// CHECK-NEXT:     tir.for %x_ in 7 {
// CHECK:            tir.store %{{.*}}, %out[%c, %y, %x_] : f32, !tir.buffer<4x7x7xf32>
// CHECK-NEXT:       tir.for %dy in 3 {
// CHECK-NEXT:         tir.for %dx in 3 {
// CHECK:                %{{.*}} = tir.load %x[%c, %y * 2 + %dy - 1, %x_ * 2 + %dx - 1] if [%y * 2 + %dy - 1, %y * -2 + %dy * -1 + 13, %x_ * 2 + %dx - 1, %x_ * -2 + %dx * -1 + 13] >= 0 else 0.000000e+00 : f32 : !tir.buffer<4x13x13xf32> -> f32
// CHECK-NEXT:           %{{.*}} = arith.constant -3.40282347e+38 : f32
// CHECK-NEXT:           %{{.*}} = arith.select %{{.*}}, %{{.*}}, %{{.*}} : f32
// CHECK-NEXT:           %{{.*}} = arith.maximumf %{{.*}}, %{{.*}} fastmath<nsz> : f32
// CHECK-NEXT:           tir.store %{{.*}}, %out[%c, %y, %x_] : f32, !tir.buffer<4x7x7xf32>

te.func @max_pool(%x: tensor<4x13x13xf32>) -> (tensor<4x7x7xf32>) {
  %pool = te.compute "pool" (%c in 4, %y in 7, %x_ in 7) max(%dy in 3, %dx in 3) : tensor<4x7x7xf32> {
    %0 = te.index [%y * 2 + %dy]
    %1 = arith.constant 1 : index
    %2 = arith.cmpi sge, %0, %1 : index
    %3 = te.index [%y * 2 + %dy]
    %4 = arith.constant 14 : index
    %5 = arith.cmpi slt, %3, %4 : index
    %6 = arith.andi %2, %5 : i1
    %7 = te.index [%x_ * 2 + %dx]
    %8 = arith.constant 1 : index
    %9 = arith.cmpi sge, %7, %8 : index
    %10 = arith.andi %6, %9 : i1
    %11 = te.index [%x_ * 2 + %dx]
    %12 = arith.constant 14 : index
    %13 = arith.cmpi slt, %11, %12 : index
    %14 = arith.andi %10, %13 : i1
    %15 = te.read %x[%c, %y * 2 + %dy - 1, %x_ * 2 + %dx - 1] else 0.0 : f32 : tensor<4x13x13xf32>
    %16 = arith.constant -3.40282347e+38 : f32
    %17 = arith.select %14, %15, %16 : f32
    te.yield %17 : f32
  }
  te.return %pool : tensor<4x7x7xf32>
}
