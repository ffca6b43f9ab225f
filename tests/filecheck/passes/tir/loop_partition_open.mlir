// RUN: whence-opt %s -p "tir-loop-partition,tir-simplify" | filecheck %s

// Of a parallel loop of open extent the last iteration alone, in a branch, has fewer passes of the inner loop.
// CHECK-LABEL: tir.prim_func @shared
// CHECK:       tir.for parallel %o in (s0 + 3) floordiv 4 {
// CHECK-NEXT:    tir.if likely [%o * -1 + s0 floordiv 4 - 1] >= 0 {
// CHECK-NEXT:      tir.for %i in 4 {
// CHECK-NEXT:        %{{.*}} = tir.load %a[%o * 4 + %i]
// CHECK:         } else {
// CHECK-NEXT:      tir.for %[[L:i_?[0-9]*]] in s0 - 4*(s0 floordiv 4) {
// CHECK-NEXT:        %{{.*}} = tir.load %a[%[[L]] + (s0 floordiv 4) * 4]
tir.prim_func @shared(%a: !tir.buffer<?xf32, [s0]>, %b: !tir.buffer<?xf32, [s0]>) outputs 1 sizes ["n"] {
  tir.for parallel %o in (s0 + 3) floordiv 4 {
    tir.for %i in 4 {
      tir.if likely [%o * -4 - %i + s0 - 1] >= 0 {
        %0 = tir.load %a[%o * 4 + %i] : !tir.buffer<?xf32, [s0]> -> f32 loc("copy")
        tir.store %0, %b[%o * 4 + %i] : f32, !tir.buffer<?xf32, [s0]> loc("copy")
      } loc("tail")
    } loc("i")
  } loc("o")
} loc("f")
