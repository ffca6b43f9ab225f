// RUN: xdsl-opt %s -p canonicalize --print-debuginfo | filecheck %s
// RUN: whence-opt %s -p canonicalize --audit --print-debuginfo 2>&1 | filecheck %s

// What stands in a loop or branch that goes keeps its location; what the ranges decide has that of the op it replaces.
// CHECK:      tir.prim_func @decided
// CHECK-NEXT:   tir.for %i in 4 {
// CHECK-NEXT:     %v = tir.load %x[0] : !tir.buffer<1xf32> -> f32 loc("load")
// CHECK-NEXT:     tir.store %v, %out[%i] : f32, !tir.buffer<4xf32> loc("store")
// CHECK-NEXT:     %{{.*}} = arith.constant 7.000000e+00 : f32 loc("read")
// CHECK-NEXT:     tir.store %{{.*}}, %out[%i] : f32, !tir.buffer<4xf32> loc("again")
// CHECK-NEXT:     %{{.*}} = arith.constant 3 : index loc({{.*}}"index"{{.*}})
// CHECK-NEXT:     tir.call_extern "f"(%{{.*}}) : (index) -> () loc("call")
// CHECK-NEXT:   } loc("rows")
tir.prim_func @decided(%x: !tir.buffer<1xf32> loc("x"), %out: !tir.buffer<4xf32> loc("out")) outputs 1 {
  tir.for %i in 4 {
    tir.for %j in 1 {
      tir.if [%i + %j] >= 0 {
        %v = tir.load %x[%j] : !tir.buffer<1xf32> -> f32 loc("load")
        tir.store %v, %out[%i + %j] : f32, !tir.buffer<4xf32> loc("store")
      } loc("guard")
    } loc("unit")
    %0 = tir.load %out[%i + 9] if [%i - 4] >= 0 else 7.0 : f32 : !tir.buffer<4xf32> -> f32 loc("read")
    tir.store %0, %out[%i] : f32, !tir.buffer<4xf32> loc("again")
    %two = arith.constant 2 : index loc("two")
    %1 = tir.index [%two + 1] : index loc("index")
    tir.call_extern "f"(%1) : (index) -> () loc("call")
  } loc("rows")
} loc("decided")

// Loops whose extents only a call decides stay, as do indices of symbols.
// CHECK:      tir.prim_func @open
// CHECK-NEXT:   tir.for %i in s0 {
// CHECK-NEXT:     tir.if [%i - 1] >= 0 {
// CHECK-NEXT:       %v = tir.load %x[0] : !tir.buffer<1xf32> -> f32 loc("load")
// CHECK-NEXT:       tir.store %v, %out[%i] : f32, !tir.buffer<?xf32, [s0]> loc("store")
// CHECK:          %{{.*}} = tir.index [s0 - 1] : index loc("last")
tir.prim_func @open(%x: !tir.buffer<1xf32> loc("x"), %out: !tir.buffer<?xf32, [s0]> loc("out")) outputs 1 sizes ["n"] {
  tir.for %i in s0 {
    tir.if [%i - 1] >= 0 {
      tir.for %j in 1 {
        %v = tir.load %x[%j] : !tir.buffer<1xf32> -> f32 loc("load")
        tir.store %v, %out[%i + %j] : f32, !tir.buffer<?xf32, [s0]> loc("store")
      } loc("unit")
    } loc("guard")
  } loc("rows")
  %last = tir.index [s0 - 1] : index loc("last")
  tir.call_extern "f"(%last) : (index) -> () loc("call")
} loc("open")
