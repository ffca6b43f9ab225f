// RUN: whence-opt %s -p convert-te-to-tir | filecheck %s
// RUN: whence-opt %s -p "convert-te-to-tir,tir-simplify,tir-vectorize,tir-flatten-buffer,tir-remove-no-op,convert-tir-to-llvm" | filecheck %s --check-prefix LLVM

// A reduction of pairs, an index and a value: two outputs, written together.

// CHECK:      tir.prim_func @argmax(%x: !tir.buffer<4x50xf32>, %out: !tir.buffer<4xi32>, %out_1: !tir.buffer<4xf32>) outputs 2 {
// CHECK-NEXT:   tir.for %i in 4 {
// CHECK:          tir.store %{{.*}}, %out[%i] : i32, !tir.buffer<4xi32>
// CHECK-NEXT:     tir.store %{{.*}}, %out_1[%i] : f32, !tir.buffer<4xf32>
// CHECK-NEXT:     tir.for %k in 50 {
// CHECK:            %{{.*}} = arith.cmpf oge, %{{.*}}, %{{.*}} : f32
// CHECK-NEXT:       %{{.*}} = arith.select %{{.*}}, %{{.*}}, %{{.*}} : i32
// CHECK-NEXT:       %{{.*}} = arith.cmpf oge, %{{.*}}, %{{.*}} : f32
// CHECK-NEXT:       %{{.*}} = arith.select %{{.*}}, %{{.*}}, %{{.*}} : f32
// CHECK-NEXT:       tir.store %{{.*}}, %out[%i] : i32, !tir.buffer<4xi32>
// CHECK-NEXT:       tir.store %{{.*}}, %out_1[%i] : f32, !tir.buffer<4xf32>

// LLVM:      llvm.func @argmax(%x: !llvm.ptr {llvm.noalias, llvm.readonly}, %out: !llvm.ptr {llvm.noalias}, %out_1: !llvm.ptr {llvm.noalias}, %{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr)
// LLVM:        %{{.*}} = llvm.fcmp "oge" %{{.*}}, %{{.*}} : f32
// LLVM-NEXT:   %{{.*}} = llvm.select %{{.*}}, %{{.*}}, %{{.*}} : i1, i32
// LLVM-NEXT:   %{{.*}} = llvm.fcmp "oge" %{{.*}}, %{{.*}} : f32
// LLVM-NEXT:   %{{.*}} = llvm.select %{{.*}}, %{{.*}}, %{{.*}} : i1, f32

te.func @argmax(%x: tensor<4x50xf32>) -> (tensor<4xi32>, tensor<4xf32>) {
  %best.v0, %best.v1 = te.compute "best" (%i in 4) reduce "argmax"(%k in 50) : tensor<4xi32>, tensor<4xf32> {
    %0 = te.index [%k]
    %1 = arith.index_cast %0 : index to i32
    %2 = te.read %x[%i, %k] : tensor<4x50xf32>
    te.yield %1, %2 : i32, f32
  } combine(%x0: i32, %x1: f32, %y0: i32, %y1: f32) from(-1 : i32, -3.40282347e+38 : f32) {
    %0 = arith.cmpf oge, %x1, %y1 : f32
    %1 = arith.select %0, %x0, %y0 : i32
    %2 = arith.cmpf oge, %x1, %y1 : f32
    %3 = arith.select %2, %x1, %y1 : f32
    te.yield %1, %3 : i32, f32
  }
  te.return %best.v0, %best.v1 : tensor<4xi32>, tensor<4xf32>
}
