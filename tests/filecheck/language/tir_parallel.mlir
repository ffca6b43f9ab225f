// RUN: whence-opt %s -p "tir-flatten-buffer,convert-tir-to-llvm" | filecheck %s

// A parallel loop becomes a function that the pool calls; the row of each pass lives on its thread's stack.

// CHECK:      llvm.func @rows(%x: !llvm.ptr {llvm.noalias, llvm.readonly}, %y: !llvm.ptr {llvm.noalias}
// CHECK:        llvm.call @whence_parallel_for(
// CHECK:      llvm.func internal @rows_par0_body(
// CHECK:        llvm.alloca
// CHECK:        llvm.load {{.*}} -> vector<8xf32>
// CHECK:        llvm.store {{.*}} vector<8xf32>, !llvm.ptr
tir.prim_func @rows(%x: !tir.buffer<32x8xf32>, %y: !tir.buffer<32x8xf32>) outputs 1 {
  tir.for parallel %i in 32 {
    %t = tir.alloc : !tir.buffer<8xf32, local>
    %0 = tir.load %x[%i, 0] : !tir.buffer<32x8xf32> -> vector<8xf32>
    tir.store %0, %t[0] : vector<8xf32>, !tir.buffer<8xf32, local>
    tir.for %j in 8 {
      %1 = tir.load %t[%j * -1 + 7] : !tir.buffer<8xf32, local> -> f32
      tir.store %1, %y[%i, %j] : f32, !tir.buffer<32x8xf32>
    }
  }
}
