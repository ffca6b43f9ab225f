// RUN: whence-opt %s -p "tir-remove-no-op" --print-debuginfo | filecheck %s

// CHECK:      tir.prim_func @f(%a: !tir.buffer<4xf32> loc(unknown), %out: !tir.buffer<4xf32> loc(unknown)) outputs 1 {
// CHECK-NEXT:   tir.for %i in 4 {
// CHECK-NEXT:     %0 = tir.load %a[%i] : !tir.buffer<4xf32> -> f32 loc("used")
// CHECK-NEXT:     tir.if [%i - 2] >= 0 {
// CHECK-NEXT:       tir.store %0, %out[%i] : f32, !tir.buffer<4xf32> loc("store")
// CHECK-NEXT:     } loc("half")
// CHECK-NEXT:     tir.if [%i - 3] >= 0 {
// CHECK-NEXT:     } else {
// CHECK-NEXT:       tir.store %0, %out[%i] : f32, !tir.buffer<4xf32> loc("store")
// CHECK-NEXT:     } loc("other")
// CHECK-NEXT:   } loc("i")
// CHECK-NEXT: } loc("f")
tir.prim_func @f(%a: !tir.buffer<4xf32>, %out: !tir.buffer<4xf32>) outputs 1 {
  %c = arith.constant 1.0 : f32 loc("c")
  %t = tir.alloc : !tir.buffer<4xf32> loc("t")
  tir.for %i in 4 {
    %0 = tir.load %a[%i] : !tir.buffer<4xf32> -> f32 loc("used")
    tir.if [%i - 2] >= 0 {
      tir.store %0, %out[%i] : f32, !tir.buffer<4xf32> loc("store")
    } else {
      %1 = arith.addf %0, %c : f32 loc("dead")
    } loc("half")
    tir.if [%i - 3] >= 0 {
      %2 = tir.load %a[%i] : !tir.buffer<4xf32> -> f32 loc("dead")
    } else {
      tir.store %0, %out[%i] : f32, !tir.buffer<4xf32> loc("store")
    } loc("other")
    tir.for parallel %j in 8 {
      tir.if [%j - 3] >= 0 {
        %3 = tir.load %a[%i] : !tir.buffer<4xf32> -> f32 loc("dead")
      } loc("empty")
    } loc("empty")
  } loc("i")
} loc("f")

// A store of what is there goes; one behind another store, of another place or of a guarded load stays.
// CHECK-LABEL: tir.prim_func @same
// CHECK-NEXT:   %c = arith.constant 1.000000e+00 : f32 loc("c")
// CHECK-NEXT:   tir.for %i in 4 {
// CHECK-NEXT:     %0 = tir.load %a[%i, 0] : !tir.buffer<4x2xf32> -> f32 loc("load")
// CHECK-NEXT:     tir.store %c, %a[0, 0] : f32, !tir.buffer<4x2xf32> loc("between")
// CHECK-NEXT:     tir.store %0, %a[%i, 0] : f32, !tir.buffer<4x2xf32> loc("behind")
// CHECK-NEXT:     %1 = tir.load %a[%i, 0] : !tir.buffer<4x2xf32> -> f32 loc("load")
// CHECK-NEXT:     tir.store %1, %a[%i, 1] : f32, !tir.buffer<4x2xf32> loc("elsewhere")
// CHECK-NEXT:     %2 = tir.load %a[%i, 0] if [%i - 1] >= 0 else 0.000000e+00 : f32 : !tir.buffer<4x2xf32> -> f32 loc("guarded")
// CHECK-NEXT:     tir.store %2, %a[%i, 0] : f32, !tir.buffer<4x2xf32> loc("guarded")
// CHECK-NEXT:   } loc("i")
tir.prim_func @same(%a: !tir.buffer<4x2xf32>) outputs 1 {
  %c = arith.constant 1.0 : f32 loc("c")
  tir.for %i in 4 {
    %0 = tir.load %a[%i, 0] : !tir.buffer<4x2xf32> -> f32 loc("same")
    tir.store %0, %a[%i * 2 - %i, 0] : f32, !tir.buffer<4x2xf32> loc("same")
    %1 = tir.load %a[%i, 0] : !tir.buffer<4x2xf32> -> f32 loc("load")
    tir.store %c, %a[0, 0] : f32, !tir.buffer<4x2xf32> loc("between")
    tir.store %1, %a[%i, 0] : f32, !tir.buffer<4x2xf32> loc("behind")
    %2 = tir.load %a[%i, 0] : !tir.buffer<4x2xf32> -> f32 loc("load")
    tir.store %2, %a[%i, 1] : f32, !tir.buffer<4x2xf32> loc("elsewhere")
    %3 = tir.load %a[%i, 0] if [%i - 1] >= 0 else 0.0 : f32 : !tir.buffer<4x2xf32> -> f32 loc("guarded")
    tir.store %3, %a[%i, 0] : f32, !tir.buffer<4x2xf32> loc("guarded")
  } loc("i")
} loc("same")
