// RUN: whence-opt %s -p convert-te-to-tir | filecheck %s
// RUN: whence-opt %s -p "convert-te-to-tir,tir-simplify,tir-vectorize,tir-flatten-buffer,tir-remove-no-op,convert-tir-to-llvm" | filecheck %s --check-prefix LLVM

// A matrix product as it is defined, and not scheduled: three loops, and the sum starts where it is stored.

// CHECK:      tir.prim_func @gemm(%A: !tir.buffer<16x26xf32>, %B: !tir.buffer<26x12xf32>, %out: !tir.buffer<16x12xf32>) outputs 1 {
// CHECK-NEXT:   tir.for %i in 16 {
// CHECK-NEXT:     tir.for %j in 12 {
// CHECK:            tir.store %{{.*}}, %out[%i, %j] : f32, !tir.buffer<16x12xf32>
// CHECK-NEXT:       tir.for %k in 26 {
// CHECK:              %{{.*}} = math.fma %{{.*}}, %{{.*}}, %{{.*}} : f32
// CHECK-NEXT:         tir.store %{{.*}}, %out[%i, %j] : f32, !tir.buffer<16x12xf32>

// LLVM:      llvm.func @gemm(%A: !llvm.ptr {llvm.noalias, llvm.readonly}, %B: !llvm.ptr {llvm.noalias, llvm.readonly}, %out: !llvm.ptr {llvm.noalias}, %{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr)
// LLVM:        %{{.*}} = llvm.call_intrinsic "llvm.fma.f32"(%{{.*}}, %{{.*}}, %{{.*}}) : (f32, f32, f32) -> f32

te.func @gemm(%A: tensor<16x26xf32>, %B: tensor<26x12xf32>) -> (tensor<16x12xf32>) {
  %C = te.compute "C" (%i in 16, %j in 12) sum(%k in 26) : tensor<16x12xf32> {
    %0 = te.read %A[%i, %k] : tensor<16x26xf32>
    %1 = te.read %B[%k, %j] : tensor<26x12xf32>
    %2 = arith.mulf %0, %1 : f32
    te.yield %2 : f32
  }
  te.return %C : tensor<16x12xf32>
}
