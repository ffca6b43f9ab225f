// RUN: whence-opt %s -p schedule-apply | filecheck %s
// RUN: whence-opt %s -p "convert-te-to-tir,tir-simplify,tir-vectorize,tir-flatten-buffer,tir-remove-no-op,convert-tir-to-llvm" | filecheck %s --check-prefix LLVM

// Rows in parallel, each with a row of its own for what lies between; 16 lanes in both stages.

// CHECK:      tir.prim_func @threads(%a: !tir.buffer<32x64xf32>, %out: !tir.buffer<32x64xf32>) outputs 1 {
// CHECK-NEXT:   tir.for parallel %i in 32 {
// CHECK-NEXT:     %b = tir.alloc : !tir.buffer<1x64xf32, local>
// CHECK-NEXT:     tir.for %j.outer in 4 {
// CHECK-NEXT:       tir.for vectorized %j.inner in 16 {
// CHECK:              tir.store %{{.*}}, %b[0, %j.outer * 16 + %j.inner] : f32, !tir.buffer<1x64xf32, local>
// CHECK:          tir.for %j.outer_1 in 4 {
// CHECK-NEXT:       tir.for vectorized %j.inner_1 in 16 {
// CHECK:              tir.store %{{.*}}, %out[%i, %j.outer_1 * 16 + %j.inner_1] : f32, !tir.buffer<32x64xf32>

// LLVM:      llvm.func @threads(%a: !llvm.ptr {llvm.noalias, llvm.readonly}, %out: !llvm.ptr {llvm.noalias}, %{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr)
// LLVM:        %{{.*}} = llvm.alloca %{{.*}} x !llvm.struct<(!llvm.ptr, !llvm.ptr)> {alignment = 64 : i64} : (i64) -> !llvm.ptr
// LLVM:        llvm.call @whence_parallel_for(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) : (!llvm.ptr, !llvm.ptr, !llvm.ptr, i64) -> ()
// LLVM:      llvm.func internal @threads_par0(%{{.*}}: !llvm.ptr, %{{.*}}: i64, %{{.*}}: i64)
// LLVM:      llvm.func internal @threads_par0_body(%{{.*}}: !llvm.ptr {llvm.noalias, llvm.readonly}, %{{.*}}: !llvm.ptr {llvm.noalias}, %{{.*}}: i64, %{{.*}}: i64)
// LLVM:        %{{.*}} = llvm.alloca %{{.*}} x f32 {alignment = 64 : i64} : (i64) -> !llvm.ptr
// LLVM:        llvm.store %{{.*}}, %{{.*}} {alignment = 64 : i64} : vector<16xf32>, !llvm.ptr
// LLVM:        llvm.store %{{.*}}, %{{.*}} {alignment = 4 : i64} : vector<16xf32>, !llvm.ptr
// LLVM:      llvm.func @whence_parallel_for(!llvm.ptr, !llvm.ptr, !llvm.ptr, i64)

te.func @threads(%a: tensor<32x64xf32>) -> (tensor<32x64xf32>) {
  %b = te.compute "b" (%i in 32, %j in 64) : tensor<32x64xf32> {
    %0 = te.read %a[%i, %j] : tensor<32x64xf32>
    %1 = arith.negf %0 : f32
    te.yield %1 : f32
  }
  %c = te.compute "c" (%i in 32, %j in 64) : tensor<32x64xf32> {
    %0 = te.read %b[%i, %j] : tensor<32x64xf32>
    %1 = math.absf %0 : f32
    te.yield %1 : f32
  }
  te.return %c : tensor<32x64xf32>
}
schedule.sequence @threads {
  %b = schedule.stage "b"
  %c = schedule.stage "c"
  %i, %j = schedule.axes %c : 2
  schedule.compute_at %b, %c, %i
  schedule.parallel %i
  %i_1, %j_1 = schedule.axes %b : 2
  %j.outer, %j.inner = schedule.split %j_1 factor 16
  schedule.vectorize %j.inner
  %j.outer_1, %j.inner_1 = schedule.split %j factor 16
  schedule.vectorize %j.inner_1
}
