// RUN: whence-opt %s -p convert-te-to-tir | filecheck %s
// RUN: whence-opt %s -p "convert-te-to-tir,tir-simplify,tir-vectorize,tir-flatten-buffer,tir-remove-no-op,convert-tir-to-llvm" | filecheck %s --check-prefix LLVM

// Each pixel four times, and bytes as half floats.

// CHECK:      tir.prim_func @resize(%x: !tir.buffer<3x4x4xui8>, %out: !tir.buffer<3x8x8xf16>) outputs 1 {
// CHECK-NEXT:   tir.for %c in 3 {
// CHECK-NEXT:     tir.for %i in 8 {
// CHECK-NEXT:       tir.for %j in 8 {
// CHECK-NEXT:         %{{.*}} = tir.load %x[%c, %i floordiv 2, %j floordiv 2] : !tir.buffer<3x4x4xui8> -> i8
// CHECK-NEXT:         %{{.*}} = arith.uitofp %{{.*}} : i8 to f16
// CHECK:              %{{.*}} = arith.mulf %{{.*}}, %{{.*}} : f16
// CHECK-NEXT:         tir.store %{{.*}}, %out[%c, %i, %j] : f16, !tir.buffer<3x8x8xf16>

// LLVM:      llvm.func @resize(%x: !llvm.ptr {llvm.noalias, llvm.readonly}, %out: !llvm.ptr {llvm.noalias}, %{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr)
// LLVM:        %{{.*}} = llvm.load %{{.*}} {alignment = 1 : i64} : !llvm.ptr -> i8
// LLVM-NEXT:   %{{.*}} = llvm_ext.uitofp %{{.*}} : i8 to f16
// LLVM-NEXT:   %{{.*}} = llvm.fmul %{{.*}}, %{{.*}} : f16
// LLVM:        llvm.store %{{.*}}, %{{.*}} {alignment = 2 : i64} : f16, !llvm.ptr

te.func @resize(%x: tensor<3x4x4xui8>) -> (tensor<3x8x8xf16>) {
  %y = te.compute "y" (%c in 3, %i in 8, %j in 8) : tensor<3x8x8xf16> {
    %0 = te.read %x[%c, %i floordiv 2, %j floordiv 2] : tensor<3x4x4xui8>
    %1 = arith.uitofp %0 : i8 to f16
    %2 = arith.constant 0.5 : f16
    %3 = arith.mulf %1, %2 : f16
    te.yield %3 : f16
  }
  te.return %y : tensor<3x8x8xf16>
}
