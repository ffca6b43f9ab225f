// RUN: whence-opt %s -p schedule-apply | filecheck %s
// RUN: whence-opt %s -p "convert-te-to-tir,tir-simplify,tir-vectorize,tir-flatten-buffer,tir-remove-no-op,convert-tir-to-llvm" | filecheck %s --check-prefix LLVM

// A function of the C library between two stages: it gets the buffers, and a number.

// CHECK:      tir.prim_func @copied(%a: !tir.buffer<4x8xf32>, %out: !tir.buffer<4x8xf32>) outputs 1 {
// CHECK-NEXT:   %b = tir.alloc : !tir.buffer<4x8xf32>
// CHECK-NEXT:   tir.for %i in 4 {
// CHECK-NEXT:     tir.for %j in 8 {
// CHECK:            tir.store %{{.*}}, %b[%i, %j] : f32, !tir.buffer<4x8xf32>
// CHECK:        %c = tir.alloc : !tir.buffer<4x8xf32>
// CHECK:        tir.call_extern "memcpy"(%c, %b, %{{.*}}) : (!tir.buffer<4x8xf32>, !tir.buffer<4x8xf32>, i64) -> ()
// CHECK-NEXT:   tir.for %i_1 in 4 {
// CHECK-NEXT:     tir.for vectorized %j_1 in 8 {
// CHECK:            tir.store %{{.*}}, %out[%i_1, %j_1] : f32, !tir.buffer<4x8xf32>

// LLVM:        llvm.call @memcpy(%{{.*}}, %{{.*}}, %{{.*}}) : (!llvm.ptr, !llvm.ptr, i64) -> ()
// LLVM:      llvm.func @memcpy(!llvm.ptr, !llvm.ptr, i64)

te.func @copied(%a: tensor<4x8xf32>) -> (tensor<4x8xf32>) {
  %b = te.compute "b" (%i in 4, %j in 8) : tensor<4x8xf32> {
    %0 = te.read %a[%i, %j] : tensor<4x8xf32>
    %1 = arith.constant 2.0 : f32
    %2 = arith.mulf %0, %1 : f32
    te.yield %2 : f32
  }
  %c = te.extern "c" "memcpy"(out 0, %b, 128 : i64) : (tensor<4x8xf32>) -> (tensor<4x8xf32>)
  %d = te.compute "d" (%i in 4, %j in 8) : tensor<4x8xf32> {
    %0 = te.read %c[%i, %j] : tensor<4x8xf32>
    %1 = arith.constant 1.0 : f32
    %2 = arith.addf %0, %1 : f32
    te.yield %2 : f32
  }
  te.return %d : tensor<4x8xf32>
}
schedule.sequence @copied {
  %d = schedule.stage "d"
  %i, %j = schedule.axes %d : 2
  schedule.vectorize %j
}
