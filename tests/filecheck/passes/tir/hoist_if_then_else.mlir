// RUN: whence-opt %s -p "tir-hoist-if-then-else" --print-debuginfo | filecheck %s
// RUN: whence-opt %s -p "tir-hoist-if-then-else{limit=0}" | filecheck %s --check-prefix LIMIT

// Out of both loops that do not decide it; the load beside it has no effect of its own.
// CHECK-LABEL: tir.prim_func @nest
tir.prim_func @nest(%a: !tir.buffer<4xf32>, %b: !tir.buffer<4x4x4xf32>) outputs 1 {
  // CHECK:      tir.for %i in 4 {
  // CHECK-NEXT:   tir.if likely [%i - 2] >= 0 {
  // CHECK-NEXT:     tir.for %j in 4 {
  // CHECK-NEXT:       tir.for %k in 4 {
  // CHECK-NEXT:         tir.load %a[%k] : !tir.buffer<4xf32> -> f32 loc("l")
  // CHECK-NEXT:         tir.store %{{.*}}, %b[%i, %j, %k] : f32, !tir.buffer<4x4x4xf32> loc("s")
  // CHECK-NEXT:       } loc("k")
  // CHECK-NEXT:     } loc("j")
  // CHECK-NEXT:   } loc("if")
  // CHECK-NEXT: } loc("i")
  tir.for %i in 4 {
    tir.for %j in 4 {
      tir.for %k in 4 {
        %0 = tir.load %a[%k] : !tir.buffer<4xf32> -> f32 loc("l")
        tir.if likely [%i - 2] >= 0 {
          tir.store %0, %b[%i, %j, %k] : f32, !tir.buffer<4x4x4xf32> loc("s")
        } loc("if")
      } loc("k")
    } loc("j")
  } loc("i")
} loc("f")

// A store beside it stands in both branches, where it was; equal guards are hoisted as one.
// CHECK-LABEL: tir.prim_func @beside
// LIMIT-LABEL: tir.prim_func @beside
tir.prim_func @beside(%a: !tir.buffer<4xf32>, %b: !tir.buffer<4xf32>, %c: !tir.buffer<4xf32>) outputs 2 {
  // LIMIT:      tir.for %j
  // LIMIT-NEXT:   tir.load
  // LIMIT-NEXT:   tir.store
  // LIMIT-NEXT:   tir.if
  // CHECK:      tir.for %i in 4 {
  // CHECK-NEXT:   tir.if [%i - 1] >= 0 {
  // CHECK-NEXT:     tir.for %j in 4 {
  // CHECK-NEXT:       %[[X:[0-9]+]] = tir.load %a[%j]
  // CHECK-NEXT:       tir.store %[[X]], %b[%j] : f32, !tir.buffer<4xf32> loc("s0")
  // CHECK-NEXT:       tir.store %[[X]], %c[%j] : f32, !tir.buffer<4xf32> loc("s1")
  // CHECK-NEXT:       tir.store %[[X]], %c[0] : f32, !tir.buffer<4xf32> loc("s3")
  // CHECK-NEXT:     } loc("j")
  // CHECK-NEXT:   } else {
  // CHECK-NEXT:     tir.for %[[V:j_1]] in 4 {
  // CHECK-NEXT:       %[[Y:[0-9]+]] = tir.load %a[%[[V]]]
  // CHECK-NEXT:       tir.store %[[Y]], %b[%[[V]]] : f32, !tir.buffer<4xf32> loc("s0")
  // CHECK-NEXT:       tir.store %[[Y]], %b[0] : f32, !tir.buffer<4xf32> loc("s2")
  // CHECK-NEXT:     } loc("j")
  // CHECK-NEXT:   } loc(fused["if0", "if1"])
  tir.for %i in 4 {
    tir.for %j in 4 {
      %0 = tir.load %a[%j] : !tir.buffer<4xf32> -> f32 loc("l")
      tir.store %0, %b[%j] : f32, !tir.buffer<4xf32> loc("s0")
      tir.if [%i - 1] >= 0 {
        tir.store %0, %c[%j] : f32, !tir.buffer<4xf32> loc("s1")
      } else {
        tir.store %0, %b[0] : f32, !tir.buffer<4xf32> loc("s2")
      } loc("if0")
      tir.if [%i - 1] >= 0 {
        tir.store %0, %c[0] : f32, !tir.buffer<4xf32> loc("s3")
      } loc("if1")
    } loc("j")
  } loc("i")
} loc("g")

// A guard that the loop decides, or that is computed in it, stays.
// CHECK-LABEL: tir.prim_func @stays
tir.prim_func @stays(%n: !tir.buffer<4xi32>, %b: !tir.buffer<4xf32>) outputs 1 {
  %c = arith.constant 0.0 : f32 loc("c")
  // CHECK:      tir.for %i in 4 {
  // CHECK-NEXT:   tir.load
  // CHECK-NEXT:   arith.index_cast
  // CHECK-NEXT:   tir.if
  tir.for %i in 4 {
    %0 = tir.load %n[%i] : !tir.buffer<4xi32> -> i32 loc("l")
    %1 = arith.index_cast %0 : i32 to index loc("x")
    tir.if [%1 - 1] >= 0 {
      tir.store %c, %b[%i] : f32, !tir.buffer<4xf32> loc("s")
    } loc("if")
  } loc("i")
} loc("h")
