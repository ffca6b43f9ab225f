// RUN: whence-opt %s -p "tir-narrow-datatype" --print-debuginfo | filecheck %s

// Arithmetic on a position, on its way to a comparison and to a float.
// CHECK-LABEL: tir.prim_func @position
tir.prim_func @position(%b: !tir.buffer<100xf32>) outputs 1 {
  %one = arith.constant 1.0 : f32 loc("c")
  tir.for %i in 100 {
    // CHECK:      %[[I:[0-9]+]] = arith.index_cast %i : index to i32 loc("cast")
    // CHECK-NEXT: %[[C:[0-9]+]] = arith.constant 7 : i32 loc("c")
    // CHECK-NEXT: %[[M:[0-9]+]] = arith.muli %[[I]], %[[C]] : i32 loc("mul")
    // CHECK-NEXT: %[[F:[0-9]+]] = arith.sitofp %[[M]] : i32 to f32 loc("float")
    // CHECK-NEXT: arith.cmpi slt, %[[M]], %[[C]] : i32 loc("less")
    // CHECK-NOT: i64
    %0 = arith.index_cast %i : index to i64 loc("cast")
    %1 = arith.constant 7 : i64 loc("c")
    %2 = arith.muli %0, %1 : i64 loc("mul")
    %3 = arith.sitofp %2 : i64 to f32 loc("float")
    %4 = arith.cmpi slt, %2, %1 : i64 loc("less")
    %5 = arith.select %4, %3, %one : f32 loc("select")
    tir.store %5, %b[%i] : f32, !tir.buffer<100xf32> loc("s")
  } loc("i")
} loc("f")

// Wide: what may not fit, what comes from memory, what is stored.
// CHECK-LABEL: tir.prim_func @wide
tir.prim_func @wide(%n: !tir.buffer<8xi64>, %b: !tir.buffer<8xf32>, %m: !tir.buffer<8xi64>) outputs 2 {
  tir.for %i in 8 {
    // CHECK: arith.muli %{{.*}}, %{{.*}} : i64 loc("big")
    // CHECK: arith.addi %{{.*}}, %{{.*}} : i64 loc("data")
    // CHECK: arith.muli %{{.*}}, %{{.*}} : i64 loc("stored")
    %0 = arith.index_cast %i : index to i64 loc("cast")
    %1 = arith.constant 2000000000 : i64 loc("c")
    %2 = arith.muli %0, %1 : i64 loc("big")
    %3 = arith.sitofp %2 : i64 to f32 loc("float")
    tir.store %3, %b[%i] : f32, !tir.buffer<8xf32> loc("s")
    %4 = tir.load %n[%i] : !tir.buffer<8xi64> -> i64 loc("l")
    %5 = arith.addi %4, %0 : i64 loc("data")
    %6 = arith.sitofp %5 : i64 to f32 loc("float")
    tir.store %6, %b[%i] : f32, !tir.buffer<8xf32> loc("s")
    %7 = arith.muli %0, %0 : i64 loc("stored")
    tir.store %7, %m[%i] : i64, !tir.buffer<8xi64> loc("s")
  } loc("i")
} loc("g")
