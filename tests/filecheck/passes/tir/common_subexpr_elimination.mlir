// RUN: whence-opt %s -p "tir-common-subexpr-elimination" --print-debuginfo | filecheck %s

// What an enclosing block computed is used inside; loads are equal however their indices are written.
// CHECK-LABEL: tir.prim_func @nested
tir.prim_func @nested(%a: !tir.buffer<4x8xf32>, %b: !tir.buffer<4xf32>, %c: !tir.buffer<4x4xf32>) outputs 2 {
  tir.for %i in 4 {
    // CHECK:      %[[L:[0-9]+]] = tir.load %a[%i, 3] : !tir.buffer<4x8xf32> -> f32 loc(fused["l0", "l1"])
    // CHECK-NEXT: %[[E:[0-9]+]] = math.exp %[[L]] : f32 loc(fused["e0", "e1"])
    // CHECK-NEXT: tir.store %[[E]], %b[%i]
    // CHECK-NEXT: tir.for %j in 4 {
    // CHECK-NEXT:   tir.store %[[E]], %c[%i, %j]
    %0 = tir.load %a[%i, 3] : !tir.buffer<4x8xf32> -> f32 loc("l0")
    %1 = math.exp %0 : f32 loc("e0")
    tir.store %1, %b[%i] : f32, !tir.buffer<4xf32> loc("s0")
    tir.for %j in 4 {
      %2 = tir.load %a[(%j + %i * 4) floordiv 4, 3] : !tir.buffer<4x8xf32> -> f32 loc("l1")
      %3 = math.exp %2 : f32 loc("e1")
      tir.store %3, %c[%i, %j] : f32, !tir.buffer<4x4xf32> loc("s1")
    } loc("j")
  } loc("i")
} loc("f")

// Not merged: a buffer that the kernel writes, or a function that gets it, another else value, blocks side by side.
// CHECK-LABEL: tir.prim_func @kept
tir.prim_func @kept(%a: !tir.buffer<8xf32>, %b: !tir.buffer<8xf32>) outputs 1 {
  // CHECK-COUNT-2: tir.load %b[0]
  %0 = tir.load %b[0] : !tir.buffer<8xf32> -> f32 loc("l")
  tir.store %0, %b[1] : f32, !tir.buffer<8xf32> loc("s")
  %1 = tir.load %b[0] : !tir.buffer<8xf32> -> f32 loc("l")
  tir.store %1, %b[2] : f32, !tir.buffer<8xf32> loc("s")
  // CHECK-COUNT-2: tir.load %t[0]
  %t = tir.alloc : !tir.buffer<8xf32> loc("t")
  %t0 = tir.load %t[0] : !tir.buffer<8xf32> -> f32 loc("l")
  tir.store %t0, %b[1] : f32, !tir.buffer<8xf32> loc("s")
  tir.call_extern "fill"(%t) : (!tir.buffer<8xf32>) -> () loc("call")
  %t1 = tir.load %t[0] : !tir.buffer<8xf32> -> f32 loc("l")
  tir.store %t1, %b[2] : f32, !tir.buffer<8xf32> loc("s")
  // CHECK-COUNT-2: tir.load %a[%i - 2] if [%i - 2] >= 0
  tir.for %i in 8 {
    %2 = tir.load %a[%i - 2] if [%i - 2] >= 0 else 0.0 : f32 : !tir.buffer<8xf32> -> f32 loc("l")
    %3 = tir.load %a[%i - 2] if [%i - 2] >= 0 else 1.0 : f32 : !tir.buffer<8xf32> -> f32 loc("l")
    %4 = arith.addf %2, %3 : f32 loc("l")
    tir.store %4, %b[%i] : f32, !tir.buffer<8xf32> loc("s")
  } loc("i")
  // CHECK-COUNT-2: tir.load %a[5]
  tir.for %i in 2 {
    %5 = tir.load %a[5] : !tir.buffer<8xf32> -> f32 loc("l")
    tir.store %5, %b[%i] : f32, !tir.buffer<8xf32> loc("s")
  } loc("i")
  tir.for %i in 2 {
    %6 = tir.load %a[5] : !tir.buffer<8xf32> -> f32 loc("l")
    tir.store %6, %b[%i + 4] : f32, !tir.buffer<8xf32> loc("s")
  } loc("i")
} loc("g")
