// RUN: xdsl-opt %s --verify-diagnostics | filecheck %s

// CHECK: tir.dot2: expected words of i32, got i64
tir.prim_func @wide(%a: !tir.buffer<8xi64>) outputs 1 {
  %0 = tir.load %a[0] : !tir.buffer<8xi64> -> i64
  %1 = tir.dot2 %0, %0 : i64
  tir.store %1, %a[0] : i64, !tir.buffer<8xi64>
}
