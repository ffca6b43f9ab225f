// RUN: whence-opt %s -p "convert-tir-to-llvm{flush_denormals=true}" --print-debuginfo | filecheck %s

// The mode of the thread is kept, bit 15 of it is set, and it is set back at the end.
// CHECK-LABEL: llvm.func @square(
// CHECK:         %[[MODES:[0-9]+]] = llvm.alloca %{{[0-9]+}} x i32 {alignment = 8 : i32} : (i32) -> !llvm.ptr loc("square1")
// CHECK:         llvm.call_intrinsic "llvm.x86.sse.stmxcsr"(%[[MODES]]) {{.*}} loc("square1")
// CHECK-NEXT:    %[[OLD:[0-9]+]] = llvm.load %[[MODES]]
// CHECK-NEXT:    %[[NEW:[0-9]+]] = llvm.or %[[OLD]], %{{[0-9]+}} : i32 loc("square1")
// CHECK-NEXT:    llvm.store %[[NEW]], %[[SET:[0-9]+]]
// CHECK-NEXT:    llvm.call_intrinsic "llvm.x86.sse.ldmxcsr"(%[[SET]])
// CHECK:         llvm.fmul
// CHECK:         llvm.call_intrinsic "llvm.x86.sse.ldmxcsr"(%[[MODES]])
// CHECK-NEXT:    llvm.return
tir.prim_func @square(%x: !tir.buffer<4xf32>, %y: !tir.buffer<4xf32>) outputs 1 {
  tir.for %i in 4 {
    %0 = tir.load %x[%i] : !tir.buffer<4xf32> -> f32 loc("square1")
    %1 = arith.mulf %0, %0 : f32 loc("square1")
    tir.store %1, %y[%i] : f32, !tir.buffer<4xf32> loc("square1")
  } loc("square1")
} loc("square1")

// What moves floats alone needs no mode.
// CHECK-LABEL: llvm.func @copy(
// CHECK-NOT:     mxcsr
tir.prim_func @copy(%x: !tir.buffer<4xf32>, %y: !tir.buffer<4xf32>) outputs 1 {
  tir.for %i in 4 {
    %0 = tir.load %x[%i] : !tir.buffer<4xf32> -> f32 loc("copy1")
    tir.store %0, %y[%i] : f32, !tir.buffer<4xf32> loc("copy1")
  } loc("copy1")
} loc("copy1")
