// RUN: whence-opt %s -p "tir-inject-prefetch" --print-debuginfo | filecheck %s
// RUN: whence-opt %s -p "tir-inject-prefetch,convert-tir-to-llvm" --print-debuginfo | filecheck %s --check-prefix LLVM

// Of the named buffers, what moves with the loop is fetched ahead.
// CHECK-LABEL: tir.prim_func @named
// LLVM-LABEL: llvm.func @named
tir.prim_func @named(%a: !tir.buffer<8x64xf32>, %c: !tir.buffer<64xf32>, %b: !tir.buffer<8x64xf32>) outputs 1 {
  // CHECK:      tir.for %i in 8 {
  // CHECK-NEXT:   tir.for %j in 4 {
  // CHECK-NEXT:     tir.prefetch %a[%i + 2, %j * 16] locality 2 : !tir.buffer<8x64xf32> loc("a")
  // CHECK-NEXT:     tir.load %a[%i, %j * 16]
  // CHECK-NEXT:     tir.load %c[%j * 16]
  // CHECK-NEXT:     tir.load %b[%i, %j * 16]
  // LLVM:      %[[ROW:[0-9]+]] = llvm.getelementptr %a[
  // LLVM:      %[[AT:[0-9]+]] = llvm.getelementptr %[[ROW]][
  // LLVM-NEXT: %[[AHEAD:[0-9]+]] = llvm.getelementptr %[[AT]][
  // LLVM-NEXT: llvm.call_intrinsic "llvm.prefetch.p0"(%[[AHEAD]], %{{.*}}, %{{.*}}, %{{.*}}) : (!llvm.ptr, i32, i32, i32) -> () loc("a")
  // LLVM-NEXT: llvm.load %[[AT]]
  tir.for %i in 8 attributes {prefetch = [["a", 2], ["c", 2]]} {
    tir.for %j in 4 {
      %0 = tir.load %a[%i, %j * 16] : !tir.buffer<8x64xf32> -> vector<16xf32> loc("a")
      %1 = tir.load %c[%j * 16] : !tir.buffer<64xf32> -> vector<16xf32> loc("c")
      %2 = tir.load %b[%i, %j * 16] : !tir.buffer<8x64xf32> -> vector<16xf32> loc("b")
      %3 = arith.addf %0, %1 : vector<16xf32> loc("add")
      %4 = arith.addf %2, %3 : vector<16xf32> loc("add")
      tir.store %4, %b[%i, %j * 16] : vector<16xf32>, !tir.buffer<8x64xf32> loc("add")
    } loc("j")
  } loc("i")
} loc("f")

// A number alone is for all buffers.
// CHECK-LABEL: tir.prim_func @all
// CHECK: tir.for %i in 8 {
// CHECK-NEXT: tir.prefetch %a[%i + 1] locality 2 : !tir.buffer<8xf32> loc("l")
tir.prim_func @all(%a: !tir.buffer<8xf32>, %b: !tir.buffer<8xf32>) outputs 1 {
  tir.for %i in 8 attributes {prefetch = 1 : i64} {
    %0 = tir.load %a[%i] : !tir.buffer<8xf32> -> f32 loc("l")
    tir.store %0, %b[%i] : f32, !tir.buffer<8xf32> loc("s")
  } loc("i")
} loc("g")
