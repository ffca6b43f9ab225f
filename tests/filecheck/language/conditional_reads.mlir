// RUN: whence-opt %s -p schedule-apply | filecheck %s

// Two tensors side by side, and what is above the diagonal made zero; reads outside of either are guarded.

// CHECK:      tir.prim_func @concat_tril(%a: !tir.buffer<8x10xf32>, %b: !tir.buffer<8x6xf32>, %out: !tir.buffer<8x16xf32>) outputs 1 {
// CHECK-NEXT:   tir.for %i in 8 {
// CHECK-NEXT:     tir.for %j in 16 {
// CHECK:            %{{.*}} = arith.cmpi sle, %{{.*}}, %{{.*}} : index
// CHECK:            %{{.*}} = arith.cmpi slt, %{{.*}}, %{{.*}} : index
// CHECK-NEXT:       %{{.*}} = tir.load %a[%i, %j] if [%j * -1 + 9] >= 0 else 0.000000e+00 : f32 : !tir.buffer<8x10xf32> -> f32
// CHECK-NEXT:       %{{.*}} = tir.load %b[%i, %j - 10] if [%j - 10] >= 0 else 0.000000e+00 : f32 : !tir.buffer<8x6xf32> -> f32
// CHECK-NEXT:       %{{.*}} = arith.select %{{.*}}, %{{.*}}, %{{.*}} : f32
// CHECK:            %{{.*}} = arith.select %{{.*}}, %{{.*}}, %{{.*}} : f32
// CHECK-NEXT:       tir.store %{{.*}}, %out[%i, %j] : f32, !tir.buffer<8x16xf32>

te.func @concat_tril(%a: tensor<8x10xf32>, %b: tensor<8x6xf32>) -> (tensor<8x16xf32>) {
  %joined = te.compute "joined" (%i in 8, %j in 16) : tensor<8x16xf32> {
    %0 = te.index [%j]
    %1 = arith.constant 10 : index
    %2 = arith.cmpi slt, %0, %1 : index
    %3 = te.read %a[%i, %j] else 0.0 : f32 : tensor<8x10xf32>
    %4 = te.read %b[%i, %j - 10] else 0.0 : f32 : tensor<8x6xf32>
    %5 = arith.select %2, %3, %4 : f32
    te.yield %5 : f32
  }
  %lower = te.compute "lower" (%i in 8, %j in 16) : tensor<8x16xf32> {
    %0 = te.index [%j]
    %1 = te.index [%i]
    %2 = arith.cmpi sle, %0, %1 : index
    %3 = te.read %joined[%i, %j] : tensor<8x16xf32>
    %4 = arith.constant 0.0 : f32
    %5 = arith.select %2, %3, %4 : f32
    te.yield %5 : f32
  }
  te.return %lower : tensor<8x16xf32>
}
schedule.sequence @concat_tril {
  %joined = schedule.stage "joined"
  schedule.compute_inline %joined
}
