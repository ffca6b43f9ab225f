// RUN: whence-opt %s -p "tir-vectorize" --print-debuginfo | filecheck %s

// Loops whose lanes depend on each other, or that have no vector form, are serial and otherwise as they were; a
// loop that looks elements up needs no jumps.
tir.prim_func @lanes(%a: !tir.buffer<32xf32>, %t: !tir.buffer<32xi32>, %out: !tir.buffer<32xf32>) outputs 1 {
  %c = arith.constant 1.0 : f32 loc("c")
  // CHECK: tir.for %divides in 16 {
  tir.for vectorized %divides in 16 {
    %0 = tir.load %a[%divides floordiv 2] : !tir.buffer<32xf32> -> f32 loc("l")
    tir.store %0, %out[%divides] : f32, !tir.buffer<32xf32> loc("s")
  } loc("j")
  // CHECK: tir.for %halves in 16 {
  tir.for vectorized %halves in 16 {
    tir.if likely [5 - %halves floordiv 2] >= 0 {
      tir.store %c, %out[%halves] : f32, !tir.buffer<32xf32> loc("s")
    } loc("if")
  } loc("j")
  // CHECK: tir.for unrolled %gather in 16 {
  tir.for vectorized %gather in 16 {
    %2 = tir.load %t[%gather] : !tir.buffer<32xi32> -> i32 loc("l")
    %3 = arith.index_cast %2 : i32 to index loc("l")
    %4 = tir.load %a[%3] : !tir.buffer<32xf32> -> f32 loc("l")
    tir.store %4, %out[%gather] : f32, !tir.buffer<32xf32> loc("s")
  } loc("j")
  // CHECK: tir.for %recurrence in 16 {
  tir.for vectorized %recurrence in 16 {
    %5 = tir.load %out[%recurrence] : !tir.buffer<32xf32> -> f32 loc("l")
    tir.store %5, %out[%recurrence + 1] : f32, !tir.buffer<32xf32> loc("s")
  } loc("j")
  // CHECK: tir.for %reduction in 16 {
  tir.for vectorized %reduction in 16 {
    %6 = tir.load %a[%reduction] : !tir.buffer<32xf32> -> f32 loc("l")
    %7 = tir.load %out[0] : !tir.buffer<32xf32> -> f32 loc("l")
    %8 = arith.addf %6, %7 : f32 loc("l")
    tir.store %8, %out[0] : f32, !tir.buffer<32xf32> loc("s")
  } loc("j")
  // CHECK: tir.for %counter in 16 {
  tir.for vectorized %counter in 16 {
    %9 = tir.load %out[0] : !tir.buffer<32xf32> -> f32 loc("l")
    %10 = arith.addf %9, %c : f32 loc("l")
    tir.store %10, %out[0] : f32, !tir.buffer<32xf32> loc("s")
  } loc("j")
  // CHECK: tir.for %overlap in 16 {
  tir.for vectorized %overlap in 16 {
    tir.for %k in 3 {
      %11 = tir.load %a[%overlap] : !tir.buffer<32xf32> -> f32 loc("l")
      tir.store %11, %out[%overlap + %k] : f32, !tir.buffer<32xf32> loc("s")
    } loc("k")
  } loc("j")
  // CHECK: tir.for %call in 16 {
  tir.for vectorized %call in 16 {
    %12 = tir.load %a[%call] : !tir.buffer<32xf32> -> f32 loc("l")
    %13 = tir.call_extern "expf"(%12) : (f32) -> f32 loc("l")
    tir.store %13, %out[%call] : f32, !tir.buffer<32xf32> loc("s")
  } loc("j")
  // CHECK: tir.for %own in 16 {
  tir.for vectorized %own in 16 {
    %t2 = tir.alloc : !tir.buffer<1xf32, local> loc("t")
    tir.store %c, %t2[0] : f32, !tir.buffer<1xf32, local> loc("s")
  } loc("j")
} loc("g")

// Rows that are at least as far apart as there are lanes do not meet.
// CHECK: tir.prim_func @rows
// CHECK: vector<8xf32>
tir.prim_func @rows(%a: !tir.buffer<8x8xf32>) outputs 1 {
  tir.for vectorized %j in 8 {
    tir.for %k in 7 {
      %0 = tir.load %a[%k + 1, %j] : !tir.buffer<8x8xf32> -> f32 loc("l")
      tir.store %0, %a[%k, %j] : f32, !tir.buffer<8x8xf32> loc("s")
    } loc("k")
  } loc("j")
} loc("h")
