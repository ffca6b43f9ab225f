// RUN: whence-opt %s -p "convert-tir-to-llvm" | filecheck %s

// The kernel hands the loop to the pool; the wrapper unpacks; the body may trust that buffers do not overlap.
// CHECK:      llvm.func @rows(%x: !llvm.ptr {llvm.noalias, llvm.readonly}, %y: !llvm.ptr {llvm.noalias}, %[[WORK:[0-9]+]]: !llvm.ptr, %[[POOL:[0-9]+]]: !llvm.ptr)
// CHECK-SAME:   llvm_ext.workspace = 320 : i64
// CHECK:        llvm.mlir.addressof @rows_par0 : !llvm.ptr
// CHECK-NEXT:   llvm.call @whence_parallel_for(%[[POOL]], {{.*}}) : (!llvm.ptr, !llvm.ptr, !llvm.ptr, i64) -> ()
// CHECK:      llvm.func internal @rows_par0(%{{.*}}: !llvm.ptr, %{{.*}}: i64, %{{.*}}: i64)
// CHECK:        llvm.call @rows_par0_body(
// CHECK:      llvm.func internal @rows_par0_body(%{{.*}}: !llvm.ptr {llvm.noalias, llvm.readonly}, %{{.*}}: !llvm.ptr {llvm.noalias}, %{{.*}}: !llvm.ptr {llvm.noalias}, %{{.*}}: i64, %{{.*}}: i64)
// CHECK-SAME:   no_inline
// CHECK-NOT:    llvm.call
// CHECK:      llvm.func @whence_parallel_for(!llvm.ptr, !llvm.ptr, !llvm.ptr, i64)
tir.prim_func @rows(%x: !tir.buffer<8x8xf32>, %y: !tir.buffer<8x8xf32>) outputs 1 {
  %small = tir.alloc : !tir.buffer<3xf32>
  %t = tir.alloc : !tir.buffer<8x8xf32>
  tir.for parallel %i in 8 {
    tir.for parallel %j in 8 {
      %0 = tir.load %x[%i, %j] : !tir.buffer<8x8xf32> -> f32
      tir.store %0, %t[%i, %j] : f32, !tir.buffer<8x8xf32>
      tir.store %0, %y[%i, %j] : f32, !tir.buffer<8x8xf32>
    }
  }
}

// The declaration of the pool's function is shared, and a loop of one pass is no loop.
// CHECK:     llvm.func @again(
// CHECK-NOT: llvm.func @whence_parallel_for
// CHECK:     llvm.func @once(
// CHECK-NOT: llvm.br
tir.prim_func @again(%y: !tir.buffer<8xf32>) outputs 1 {
  %c = arith.constant 1.0 : f32
  tir.for parallel %i in 8 {
    tir.store %c, %y[%i] : f32, !tir.buffer<8xf32>
  }
}
tir.prim_func @once(%y: !tir.buffer<8xf32>) outputs 1 {
  %c = arith.constant 1.0 : f32
  tir.for parallel %i in 1 {
    tir.for %j in 0 {
      tir.store %c, %y[%j] : f32, !tir.buffer<8xf32>
    }
    tir.store %c, %y[%i] : f32, !tir.buffer<8xf32>
  }
}
