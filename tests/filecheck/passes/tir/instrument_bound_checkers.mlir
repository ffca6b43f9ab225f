// RUN: whence-opt %s -p "tir-instrument-bound-checkers" --print-debuginfo | filecheck %s

// Only what the loops do not prove is tested; the table names buffers and layers by number.
// CHECK-LABEL: tir.prim_func @scatter
// CHECK-SAME: attributes {bound_sites = {{\[}}["a", "gather"], ["out", "scatter", "take"]]}
tir.prim_func @scatter(%a: !tir.buffer<4x8xf32>, %n: !tir.buffer<4xi32>, %out: !tir.buffer<8xf32>) outputs 1 {
  tir.for %i in 4 {
    // CHECK:      tir.load %n[%i] : !tir.buffer<4xi32> -> i32
    %0 = tir.load %n[%i] : !tir.buffer<4xi32> -> i32 loc("n")
    // CHECK-NEXT: %[[K:[0-9]+]] = arith.index_cast
    %1 = arith.index_cast %0 : i32 to index loc("n")
    // CHECK-NEXT: tir.if [%[[K]] * -1 - 1] >= 0 {
    // CHECK-NEXT:   %site = arith.constant 0 : i64 loc("gather")
    // CHECK-NEXT:   %dimension = arith.constant 1 : i64 loc("gather")
    // CHECK-NEXT:   %[[X:[0-9]+]] = tir.index [%[[K]]] : index loc("gather")
    // CHECK-NEXT:   %[[Y:[0-9]+]] = arith.index_cast %[[X]] : index to i64 loc("gather")
    // CHECK-NEXT:   tir.call_extern "whence_bound_error"(%site, %dimension, %[[Y]]) : (i64, i64, i64) -> () loc("gather")
    // CHECK-NEXT: } loc("gather")
    // CHECK-NEXT: tir.if [%[[K]] - 8] >= 0 {
    // CHECK:      tir.load %a[%i, %[[K]]] if [%[[K]], %[[K]] * -1 + 7] >= 0 else 0.000000e+00 : f32
    %2 = tir.load %a[%i, %1] : !tir.buffer<4x8xf32> -> f32 loc("gather")
    // CHECK:      tir.if [%i * 3 - 8] >= 0 {
    // CHECK-NEXT:   arith.constant 1 : i64
    // CHECK:      tir.if [%i * -3 + 7] >= 0 {
    // CHECK-NEXT:   tir.store %{{.*}}, %out[%i * 3] : f32, !tir.buffer<8xf32> loc(fused["scatter", "take"])
    // CHECK-NEXT: } loc(fused["scatter", "take"])
    tir.store %2, %out[%i * 3] : f32, !tir.buffer<8xf32> loc(fused["scatter", "take"])
  } loc("i")
} loc("f")

// CHECK-LABEL: tir.prim_func @sure
// CHECK-SAME: bound_sites = []
// CHECK-NOT: whence_bound_error
tir.prim_func @sure(%a: !tir.buffer<8xf32>, %numbers: !tir.buffer<4xi8>, %out: !tir.buffer<16xf32>) outputs 1 {
  tir.for %i in 4 {
    %0 = tir.load %a[%i * 4 - 4] if [%i - 1, 2 - %i] >= 0 else 0.0 : f32 : !tir.buffer<8xf32> -> f32 loc("l")
    tir.if [2 - %i] >= 0 {
      tir.store %0, %out[%i * 7] : f32, !tir.buffer<16xf32> loc("s")
    } loc("if")
    %n = tir.load %numbers[%i] : !tir.buffer<4xi8> -> i8 loc("clip")
    %k = arith.index_cast %n : i8 to index loc("clip")
    %zero = arith.constant 0 : index loc("clip")
    %last = arith.constant 7 : index loc("clip")
    %1 = arith.maxsi %k, %zero : index loc("clip")
    %2 = arith.minsi %1, %last : index loc("clip")
    %3 = tir.load %a[%2] : !tir.buffer<8xf32> -> f32 loc("clip")
    tir.store %3, %out[%i] : f32, !tir.buffer<16xf32> loc("s")
  } loc("i")
} loc("g")
