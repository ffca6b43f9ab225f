// RUN: whence-opt %s -p "tir-unroll{explicit=true}" --print-debuginfo | filecheck %s
// RUN: whence-opt %s -p "tir-unroll" --print-debuginfo | filecheck %s --check-prefix=ROLLED

// CHECK-LABEL: tir.prim_func @f
// CHECK-NEXT:   tir.for %j in 4 {
// CHECK-NEXT:     %0 = tir.load %a[%j] : !tir.buffer<8xf32> -> f32 loc("load")
// CHECK-NEXT:     %1 = arith.constant 0 : index loc("cast")
// CHECK-NEXT:     %2 = arith.index_cast %1 : index to i32 loc("cast")
// CHECK-NEXT:     tir.if [%j - 1] >= 0 {
// CHECK-NEXT:       tir.store %0, %b[1] : f32, !tir.buffer<2xf32> loc("store")
// CHECK-NEXT:     } loc("if")
// CHECK-NEXT:     %3 = tir.load %a[%j + 4] : !tir.buffer<8xf32> -> f32 loc("load")
// CHECK-NEXT:     %4 = arith.constant 1 : index loc("cast")
// CHECK-NEXT:     %5 = arith.index_cast %4 : index to i32 loc("cast")
// CHECK-NEXT:     tir.if [%j - 2] >= 0 {
// CHECK-NEXT:       tir.store %3, %b[0] : f32, !tir.buffer<2xf32> loc("store")
// CHECK-NEXT:     } loc("if")
// CHECK-NEXT:   } loc("j")

// ROLLED: tir.for unrolled %i in 2 {
tir.prim_func @f(%a: !tir.buffer<8xf32>, %b: !tir.buffer<2xf32>) outputs 1 {
  tir.for %j in 4 {
    tir.for unrolled %i in 2 {
      %0 = tir.load %a[%j + %i * 4] : !tir.buffer<8xf32> -> f32 loc("load")
      %1 = arith.index_cast %i : index to i32 loc("cast")
      tir.if [%j - %i - 1] >= 0 {
        tir.store %0, %b[1 - %i] : f32, !tir.buffer<2xf32> loc("store")
      } loc("if")
    } loc("i")
  } loc("j")
} loc("f")
