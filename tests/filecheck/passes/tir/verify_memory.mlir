// RUN: whence-opt %s -p "tir-verify-memory" --verify-diagnostics --split-input-file | filecheck %s

// CHECK: Memory verification failed with the following errors:
// CHECK-NEXT: tir.load: expected a store to %t before it is read, got none (layer 'early')
// CHECK-NEXT: tir.load: expected an index in [0, 8) of dimension 0 of %a, got -1 to 6 (layer 'left')
// CHECK-NEXT: tir.store: expected an index in [0, 8) of dimension 0 of %b, got 2 to 9 (layer 'right')
// CHECK-NEXT: tir.prim_func: expected a store to every element of %b, got none to [0] (layer 'right')
tir.prim_func @bounds(%a: !tir.buffer<8xf32>, %b: !tir.buffer<8xf32>) outputs 1 {
  %t = tir.alloc : !tir.buffer<8xf32> loc("t")
  tir.for %i in 8 {
    %0 = tir.load %t[%i] : !tir.buffer<8xf32> -> f32 loc("early")
    %1 = tir.load %a[%i - 1] : !tir.buffer<8xf32> -> f32 loc("left")
    tir.store %0, %b[%i + 2] : f32, !tir.buffer<8xf32> loc("right")
    tir.store %1, %t[%i] : f32, !tir.buffer<8xf32> loc("late")
  } loc("i")
} loc("f")

// -----

// CHECK: Memory verification failed with the following errors:
// CHECK-NEXT: tir.store: expected iterations of a parallel loop over %i that touch different elements, got iterations i=0, j=1 and i=1, j=0 write %b[1] (layer 'sum', net.onnx node 3)
tir.prim_func @race(%a: !tir.buffer<4x4xf32>, %b: !tir.buffer<7xf32>) outputs 1 {
  tir.for parallel %i in 4 {
    tir.for %j in 4 {
      %0 = tir.load %a[%i, %j] : !tir.buffer<4x4xf32> -> f32 loc("l")
      tir.store %0, %b[%i + %j] : f32, !tir.buffer<7xf32> loc("sum"("net.onnx":3:0))
    } loc("j")
  } loc("i")
} loc("f")

// -----

// CHECK: tir.prim_func @right
tir.prim_func @right(%a: !tir.buffer<4x4xf32>, %b: !tir.buffer<16xf32>) outputs 1 {
  tir.for parallel %i in 4 {
    %t = tir.alloc : !tir.buffer<1xf32, local> loc("t")
    tir.for %j in 4 {
      %0 = tir.load %a[%i, %j] : !tir.buffer<4x4xf32> -> f32 loc("l")
      tir.store %0, %t[0] : f32, !tir.buffer<1xf32, local> loc("s")
      %1 = tir.load %t[0] : !tir.buffer<1xf32, local> -> f32 loc("l")
      tir.store %1, %b[%i * 4 + %j] : f32, !tir.buffer<16xf32> loc("s")
    } loc("j")
  } loc("i")
} loc("f")

// -----

// CHECK: Memory verification failed with the following errors:
// CHECK-NEXT: tir.store: expected iterations of a parallel loop over %i that touch different elements, got iterations i=0 and i=1 write %b[0] (layer 'halves')
// CHECK-NEXT: tir.store: expected iterations of a parallel loop over %i that touch different elements, got iterations i=0 and i=8 write %b[0] (layer 'rest')
// CHECK-NEXT: tir.store: expected iterations of a parallel loop over %i that touch different elements, got iteration i=0 reads %b[1] that i=1 writes (layer 'shift')
tir.prim_func @quotients(%b: !tir.buffer<16xf32>) outputs 1 {
  %c = arith.constant 1.0 : f32 loc("c")
  tir.for %z in 16 {
    tir.store %c, %b[%z] : f32, !tir.buffer<16xf32> loc("zero")
  } loc("z")
  tir.for parallel %i in 16 {
    tir.store %c, %b[%i floordiv 2] : f32, !tir.buffer<16xf32> loc("halves")
  } loc("i")
  tir.for parallel %i in 16 {
    tir.store %c, %b[%i mod 8] : f32, !tir.buffer<16xf32> loc("rest")
  } loc("i")
  tir.for parallel %i in 15 {
    %0 = tir.load %b[%i + 1] : !tir.buffer<16xf32> -> f32 loc("l")
    tir.store %0, %b[%i] : f32, !tir.buffer<16xf32> loc("shift")
  } loc("i")
} loc("f")

// -----

// CHECK: Memory verification failed with the following errors:
// CHECK-NEXT: tir.store: expected iterations of a parallel loop over %i that touch different elements, got iterations i=0 and i=1 write %b[0, 0] with s0 = 2 (layer 'halves')
tir.prim_func @open(%b: !tir.buffer<?x?xf32, [s0, s1]>) outputs 1 sizes ["n", "m"] {
  %c = arith.constant 1.0 : f32 loc("c")
  tir.for parallel %i in s0 * s1 {
    tir.store %c, %b[%i floordiv s1, %i mod s1] : f32, !tir.buffer<?x?xf32, [s0, s1]> loc("apart")
  } loc("i")
  tir.for parallel %i in s0 {
    tir.store %c, %b[%i floordiv 2, 0] : f32, !tir.buffer<?x?xf32, [s0, s1]> loc("halves")
  } loc("i")
} loc("f")
