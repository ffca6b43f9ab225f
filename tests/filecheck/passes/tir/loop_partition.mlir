// RUN: whence-opt %s -p "tir-loop-partition{const-loops=true},tir-simplify" --print-debuginfo | filecheck %s
// RUN: whence-opt %s -p "tir-loop-partition" | filecheck %s --check-prefix OFF

// The first pass pads, the last one is the tail of an uneven split; none in between has a guard.
// CHECK-LABEL: tir.prim_func @both
tir.prim_func @both(%a: !tir.buffer<8xf32>, %b: !tir.buffer<8xf32>) outputs 1 {
  // CHECK:      arith.constant 0.000000e+00 : f32 loc("pad")
  // CHECK-NEXT: tir.store %{{.*}}, %b[0] : f32, !tir.buffer<8xf32> loc("copy")
  // CHECK-NEXT: tir.for %i in 6 {
  // CHECK-NEXT:   %{{.*}} = tir.load %a[%i] : !tir.buffer<8xf32> -> f32 loc("pad")
  // CHECK-NEXT:   tir.store %{{.*}}, %b[%i + 1] : f32, !tir.buffer<8xf32> loc("copy")
  // CHECK-NEXT: } loc("loop")
  // CHECK-NEXT: %{{.*}} = tir.load %a[6] : !tir.buffer<8xf32> -> f32 loc("pad")
  // CHECK-NEXT: } loc("f")
  tir.for %i in 8 {
    %0 = tir.load %a[%i - 1] if [%i - 1] >= 0 else 0.0 : f32 : !tir.buffer<8xf32> -> f32 loc("pad")
    tir.if likely [6 - %i] >= 0 {
      tir.store %0, %b[%i] : f32, !tir.buffer<8xf32> loc("copy")
    } loc("tail")
  } loc("loop")
} loc("f")

// The outer loop decides for most passes; only in its last one the inner loop is split.
// CHECK-LABEL: tir.prim_func @nested
tir.prim_func @nested(%b: !tir.buffer<14xf32>) outputs 1 {
  %c = arith.constant 1.0 : f32 loc("c")
  // CHECK:      tir.for %o in 3 {
  // CHECK-NEXT:   tir.for %i in 4 {
  // CHECK-NEXT:     tir.store %c, %b[%o * 4 + %i]
  // CHECK:      tir.for %[[I:i_?[0-9]*]] in 2 {
  // CHECK-NEXT:   tir.store %c, %b[%[[I]] + 12]
  // CHECK-NOT: tir.if
  tir.for %o in 4 {
    tir.for %i in 4 {
      tir.if likely [13 - %o * 4 - %i] >= 0 {
        tir.store %c, %b[%o * 4 + %i] : f32, !tir.buffer<14xf32> loc("s")
      } loc("if")
    } loc("i")
  } loc("o")
} loc("g")

// A variable outside of maps stays what it was; plain branches and parallel loops are left alone.
// CHECK-LABEL: tir.prim_func @count
tir.prim_func @count(%a: !tir.buffer<4xf32>, %b: !tir.buffer<4xi64>) outputs 1 {
  // CHECK:      tir.for %[[I:i_?[0-9]*]] in 3 {
  // CHECK-NEXT:   %[[K:[0-9]+]] = tir.index [%[[I]] + 1] : index loc("loop")
  // CHECK:        arith.index_cast %[[K]] : index to i64 loc("count")
  tir.for %i in 4 {
    %0 = tir.load %a[%i - 1] if [%i - 1] >= 0 else 0.0 : f32 : !tir.buffer<4xf32> -> f32 loc("l")
    %1 = arith.index_cast %i : index to i64 loc("count")
    tir.store %1, %b[%i] : i64, !tir.buffer<4xi64> loc("s")
  } loc("loop")
  // CHECK:      tir.for %plain in 4 {
  // CHECK-NEXT:   tir.if [%plain - 1] >= 0
  tir.for %plain in 4 {
    tir.if [%plain - 1] >= 0 {
      %2 = arith.constant 1 : i64 loc("l")
      tir.store %2, %b[%plain] : i64, !tir.buffer<4xi64> loc("s")
    } loc("if")
  } loc("loop")
  // CHECK:      tir.for parallel %p in 4 {
  // CHECK-NEXT:   tir.if likely [%p * -1 + 2] >= 0
  tir.for parallel %p in 4 {
    tir.if likely [2 - %p] >= 0 {
      %3 = arith.constant 1 : i64 loc("l")
      tir.store %3, %b[%p] : i64, !tir.buffer<4xi64> loc("s")
    } loc("if")
  } loc("loop")
} loc("h")

// Without an uneven split nothing is taken apart unless asked to, by an option or a loop.
// OFF-LABEL: tir.prim_func @padded
// OFF:       tir.for %i in 8 {
// OFF-LABEL: tir.prim_func @hint
// OFF:       tir.for %i in 1 {
// OFF:       tir.for %i_1 in 7 {
tir.prim_func @padded(%a: !tir.buffer<8xf32>, %b: !tir.buffer<8xf32>) outputs 1 {
  tir.for %i in 8 {
    %0 = tir.load %a[%i - 1] if [%i - 1] >= 0 else 0.0 : f32 : !tir.buffer<8xf32> -> f32 loc("pad")
    tir.store %0, %b[%i] : f32, !tir.buffer<8xf32> loc("copy")
  } loc("copy")
} loc("f")
tir.prim_func @hint(%a: !tir.buffer<8xf32>, %b: !tir.buffer<8xf32>) outputs 1 {
  tir.for %i in 8 attributes {pragma_loop_partition_hint} {
    %0 = tir.load %a[%i - 1] if [%i - 1] >= 0 else 0.0 : f32 : !tir.buffer<8xf32> -> f32 loc("pad")
    tir.store %0, %b[%i] : f32, !tir.buffer<8xf32> loc("copy")
  } loc("copy")
} loc("f")

// A hint of 0 asks against it, whatever the options are.
// CHECK-LABEL: tir.prim_func @whole
// CHECK:       tir.for %i in 8 {
// CHECK-NEXT:    tir.load %a[%i - 1] if
tir.prim_func @whole(%a: !tir.buffer<8xf32>, %b: !tir.buffer<8xf32>) outputs 1 {
  tir.for %i in 8 attributes {pragma_loop_partition_hint = 0 : i64} {
    %0 = tir.load %a[%i - 1] if [%i - 1] >= 0 else 0.0 : f32 : !tir.buffer<8xf32> -> f32 loc("pad")
    tir.store %0, %b[%i] : f32, !tir.buffer<8xf32> loc("copy")
  } loc("copy")
} loc("f")

// A guard that never holds leaves no iterations free of it: the loop stays one.
// OFF-LABEL: tir.prim_func @never
// OFF:       tir.for %i in 4 {
// OFF-NEXT:    tir.if likely [%i * -1 - 1] >= 0 {
tir.prim_func @never(%b: !tir.buffer<4xf32>) outputs 1 {
  %c = arith.constant 1.0 : f32 loc("c")
  tir.for %i in 4 {
    tir.if likely [-1 - %i] >= 0 {
      tir.store %c, %b[%i] : f32, !tir.buffer<4xf32> loc("copy")
    } loc("tail")
  } loc("loop")
} loc("f")

// A guard of a quotient is one of its dividend.
// CHECK-LABEL: tir.prim_func @quotient
tir.prim_func @quotient(%a: !tir.buffer<2x3xf32>, %b: !tir.buffer<10xf32>) outputs 1 {
  // CHECK:      tir.for %[[I:i_?[0-9]*]] in 6 {
  // CHECK-NEXT:   tir.load %a[%[[I]] floordiv 3, %[[I]] mod 3] : !tir.buffer<2x3xf32> -> f32
  // CHECK:      tir.for %{{.*}} in 4 {
  // CHECK-NOT:    tir.load
  tir.for %i in 10 {
    %0 = tir.load %a[%i floordiv 3, %i mod 3] if [1 - %i floordiv 3] >= 0 else 0.0 : f32 : !tir.buffer<2x3xf32> -> f32 loc("l")
    tir.store %0, %b[%i] : f32, !tir.buffer<10xf32> loc("s")
  } loc("loop")
} loc("q")

// A parallel loop that asks for it becomes several.
// CHECK-LABEL: tir.prim_func @shared
tir.prim_func @shared(%a: !tir.buffer<6xf32>, %b: !tir.buffer<10xf32>) outputs 1 {
  // CHECK:      tir.for parallel %{{.*}} in 6 {
  // CHECK-NEXT:   tir.load %a[%{{.*}}] : !tir.buffer<6xf32> -> f32
  // CHECK:      tir.for parallel %{{.*}} in 4 {
  tir.for parallel %i in 10 attributes {pragma_loop_partition_hint = 1 : i64} {
    %0 = tir.load %a[%i] if [5 - %i] >= 0 else 0.0 : f32 : !tir.buffer<6xf32> -> f32 loc("l")
    tir.store %0, %b[%i] : f32, !tir.buffer<10xf32> loc("s")
  } loc("loop")
} loc("p")

// One around an uneven split has a branch inside, also where the guard has a quotient and another variable.
// CHECK-LABEL: tir.prim_func @shared_rows
tir.prim_func @shared_rows(%b: !tir.buffer<30x3xf32>) outputs 1 {
  %c = arith.constant 1.0 : f32 loc("c")
  // CHECK:      tir.for parallel %i in 24 {
  // CHECK-NEXT:   tir.if likely [%i * -1 + 20] >= 0 {
  // CHECK-NEXT:     tir.for %j in 4 {
  // CHECK-NEXT:       tir.store %c
  // CHECK:        } else {
  // CHECK-NEXT:     tir.for %[[J:j_?[0-9]*]] in 2 {
  // CHECK-NEXT:       tir.store %c
  tir.for parallel %i in 24 attributes {pragma_loop_partition_hint = 1 : i64} {
    tir.for %j in 4 {
      tir.if likely [29 - (%i floordiv 3) * 4 - %j] >= 0 {
        tir.store %c, %b[(%i floordiv 3) * 4 + %j, %i mod 3] : f32, !tir.buffer<30x3xf32> loc("s")
      } loc("if")
    } loc("j")
  } loc("i")
} loc("t")
