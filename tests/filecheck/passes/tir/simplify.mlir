// RUN: whence-opt %s -p "tir-simplify" --print-debuginfo | filecheck %s

// Guards that always hold go, the others stay; what the ranges decide is decided.
// CHECK-LABEL: tir.prim_func @guards
// CHECK-NEXT:   tir.for %i in 8 {
// CHECK-NEXT:     %0 = tir.load %a[%i - 1] if [%i - 1] >= 0 else 0.000000e+00 : f32 : !tir.buffer<16xf32> -> f32 loc("padded")
// CHECK-NEXT:     %1 = tir.load %a[%i] : !tir.buffer<16xf32> -> f32 loc("inside")
// CHECK-NEXT:     %2 = arith.constant 5.000000e-01 : f32 loc("outside")
// CHECK-NEXT:     %3 = arith.constant dense<5.000000e-01> : vector<4xf32> loc("lanes")
// CHECK-NEXT:     tir.store %2, %out[%i] : f32, !tir.buffer<8xf32> loc("outside")
// CHECK-NEXT:   } loc("i")
tir.prim_func @guards(%a: !tir.buffer<16xf32>, %out: !tir.buffer<8xf32>) outputs 1 {
  tir.for %i in 8 {
    %0 = tir.load %a[%i - 1] if [%i - 1, 16 - %i] >= 0 else 0.0 : f32 : !tir.buffer<16xf32> -> f32 loc("padded")
    %1 = tir.load %a[(%i * 4 + 3) floordiv 4] if [%i, 7 - %i] >= 0 else 0.0 : f32 : !tir.buffer<16xf32> -> f32 loc("inside")
    %2 = tir.load %a[%i + 16] if [%i - 8] >= 0 else 0.5 : f32 : !tir.buffer<16xf32> -> f32 loc("outside")
    %3 = tir.load %a[%i + 16] if [%i - 6, 3 - %i] >= 0 else dense<0.5> : vector<4xf32> : !tir.buffer<16xf32> -> vector<4xf32> loc("lanes")
    tir.store %2, %out[%i] : f32, !tir.buffer<8xf32> loc("outside")
  } loc("i")
} loc("f")

// Loops of one pass and of none, and the numbers that are left of their variables.
// CHECK-LABEL: tir.prim_func @loops
// CHECK-NEXT:   tir.for %i in 4 {
// CHECK-NEXT:     %j = arith.constant 0 : index loc("j")
// CHECK-NEXT:     %0 = tir.load %a[%i, 0] : !tir.buffer<4x8xf32> -> f32 loc("load")
// CHECK-NEXT:     %1 = arith.index_cast %j : index to i32 loc("cast")
// CHECK-NEXT:     tir.store %0, %out[%i] : f32, !tir.buffer<4xf32> loc("store")
// CHECK-NEXT:   } loc("i")
// CHECK-NEXT: } loc("g")
tir.prim_func @loops(%a: !tir.buffer<4x8xf32>, %out: !tir.buffer<4xf32>) outputs 1 {
  tir.for %i in 4 {
    tir.for vectorized %j in 1 {
      %0 = tir.load %a[(%i * 8 + %j) floordiv 8, (%i * 8 + %j) mod 8] : !tir.buffer<4x8xf32> -> f32 loc("load")
      %1 = arith.index_cast %j : index to i32 loc("cast")
      tir.store %0, %out[%i + %j] : f32, !tir.buffer<4xf32> loc("store")
      tir.for %k in 0 {
        tir.store %0, %out[%k] : f32, !tir.buffer<4xf32> loc("never")
      } loc("k")
    } loc("j")
  } loc("i")
} loc("g")

// An `if` that is decided leaves the ops of the branch, with their locations; one that is not narrows the ranges within.
// CHECK-LABEL: tir.prim_func @ifs
// CHECK-NEXT:   tir.for %i in 8 {
// CHECK-NEXT:     %0 = tir.load %a[%i] : !tir.buffer<8xf32> -> f32 loc("load")
// CHECK-NEXT:     tir.store %0, %out[%i] : f32, !tir.buffer<8xf32> loc("else")
// CHECK-NEXT:     tir.if likely [%i * -1 + 5] >= 0 {
// CHECK-NEXT:       tir.store %0, %out[%i] : f32, !tir.buffer<8xf32> loc("store")
// CHECK-NEXT:     } loc("maybe")
// CHECK-NEXT:     tir.if [%i * -1] >= 0 {
// CHECK-NEXT:       tir.store %0, %out[0] : f32, !tir.buffer<8xf32> loc("first")
// CHECK-NEXT:     } loc("one")
// CHECK-NEXT:   } loc("i")
tir.prim_func @ifs(%a: !tir.buffer<8xf32>, %out: !tir.buffer<8xf32>) outputs 1 {
  tir.for %i in 8 {
    tir.if [%i, 7 - %i] >= 0 {
      %0 = tir.load %a[%i] : !tir.buffer<8xf32> -> f32 loc("load")
      tir.if [%i - 8] >= 0 {
        tir.store %0, %out[0] : f32, !tir.buffer<8xf32> loc("then")
      } else {
        tir.store %0, %out[%i] : f32, !tir.buffer<8xf32> loc("else")
      } loc("never")
      tir.if likely [5 - %i, %i] >= 0 {
        tir.if [6 - %i] >= 0 {
          tir.store %0, %out[%i mod 6] : f32, !tir.buffer<8xf32> loc("store")
        } loc("store")
      } loc("maybe")
      tir.if [0 - %i] >= 0 {
        tir.store %0, %out[%i] : f32, !tir.buffer<8xf32> loc("first")
      } loc("one")
    } loc("always")
  } loc("i")
} loc("h")

// Indices: each value once, what is not used dropped, index ops and numbers folded in, data-dependent ones kept.
// CHECK-LABEL: tir.prim_func @indices
// CHECK-NEXT:   %c = arith.constant 2 : index loc("c")
// CHECK-NEXT:   tir.for %i in 8 {
// CHECK-NEXT:     tir.for %j in 3 {
// CHECK-NEXT:       %0 = tir.index [%i + 1] : index loc("index")
// CHECK-NEXT:       %1 = tir.load %a[%i * 3 + 1, 2] : !tir.buffer<64x8xf32> -> f32 loc("load")
// CHECK-NEXT:       %2 = tir.load %t[%i] : !tir.buffer<8xi32> -> i32 loc("table")
// CHECK-NEXT:       %3 = arith.index_cast %2 : i32 to index loc("table")
// CHECK-NEXT:       %4 = tir.load %a[%3, %i floordiv 2] : !tir.buffer<64x8xf32> -> f32 loc("take")
tir.prim_func @indices(%a: !tir.buffer<64x8xf32>, %t: !tir.buffer<8xi32>) outputs 0 {
  %c = arith.constant 2 : index loc("c")
  tir.for %i in 8 {
    tir.for %j in 3 {
      %0 = tir.index [%i + 1] : index loc("index")
      %1 = "tir.load"(%a, %i, %0, %i, %c, %j) <{map = affine_map<(d0, d1, d2, d3, d4) -> (d0 + d1 + d2, d3 + d4 floordiv 3)>}> : (!tir.buffer<64x8xf32>, index, index, index, index, index) -> f32 loc("load")
      %2 = tir.load %t[%i] : !tir.buffer<8xi32> -> i32 loc("table")
      %3 = arith.index_cast %2 : i32 to index loc("table")
      %4 = tir.load %a[%3, (%i * 2 + 1) floordiv 4] : !tir.buffer<64x8xf32> -> f32 loc("take")
    } loc("j")
  } loc("i")
} loc("k")

// Inside of the else branch the condition does not hold; comparisons of indices, and what selects by them, are decided.
// CHECK-LABEL: tir.prim_func @compared
// CHECK-NEXT:   tir.for %i in 8 {
// CHECK-NEXT:     tir.if [%i * -1 + 3] >= 0 {
// CHECK-NEXT:       %four = arith.constant 4 : index loc("four")
// CHECK-NEXT:       %low = arith.constant true loc("low")
// CHECK-NEXT:       %0 = tir.load %a[%i] : !tir.buffer<8xf32> -> f32 loc("load")
// CHECK-NEXT:       %zero = arith.constant 0.000000e+00 : f32 loc("zero")
// CHECK-NEXT:       tir.store %0, %out[%i] : f32, !tir.buffer<8xf32> loc("store")
// CHECK-NEXT:     } else {
// CHECK:            %low_1 = arith.constant false loc("low")
// CHECK:            %open = arith.cmpi slt, %index, %five : index loc("open")
// CHECK:            %high = arith.constant true loc("high")
// CHECK-NEXT:       %1 = tir.load %a[%i - 4] : !tir.buffer<8xf32> -> f32 loc("load")
tir.prim_func @compared(%a: !tir.buffer<8xf32>, %out: !tir.buffer<8xf32>) outputs 1 {
  tir.for %i in 8 {
    tir.if [3 - %i] >= 0 {
      %four = arith.constant 4 : index loc("four")
      %low = arith.cmpi slt, %i, %four : index loc("low")
      %0 = tir.load %a[%i] : !tir.buffer<8xf32> -> f32 loc("load")
      %zero = arith.constant 0.0 : f32 loc("zero")
      %1 = arith.select %low, %0, %zero : f32 loc("select")
      tir.store %1, %out[%i] : f32, !tir.buffer<8xf32> loc("store")
    } else {
      %four = arith.constant 4 : index loc("four")
      %low = arith.cmpi slt, %i, %four : index loc("low")
      %index = tir.index [%i] : index loc("index")
      %five = arith.constant 5 : index loc("five")
      %open = arith.cmpi slt, %index, %five : index loc("open")
      %cast = arith.index_cast %index : index to i32 loc("cast")
      %number = arith.constant 4 : i32 loc("four")
      %high = arith.cmpi uge, %cast, %number : i32 loc("high")
      %0 = tir.load %a[%i - 4] if [%i - 4] >= 0 else 0.0 : f32 : !tir.buffer<8xf32> -> f32 loc("load")
      tir.store %0, %out[%i] : f32, !tir.buffer<8xf32> loc("store")
    } loc("if")
  } loc("i")
} loc("l")

// A minimum or maximum whose order the ranges decide is one of its operands; what is left of a clamp has bounds.
// CHECK-LABEL: tir.prim_func @clamped
// CHECK:            %low = arith.maxsi %before, %zero : index loc("low")
// CHECK-NOT:        minsi
// CHECK:            tir.load %a[%low]
// CHECK:            %high = arith.minsi
// CHECK:            tir.load %a[%high]
tir.prim_func @clamped(%a: !tir.buffer<8xf32>, %out: !tir.buffer<16xf32>) outputs 1 {
  tir.for %o in 4 {
    tir.for %i in 2 {
      %zero = arith.constant 0 : index loc("zero")
      %seven = arith.constant 7 : index loc("seven")
      %before = tir.index [%o * 2 + %i - 1] : index loc("before")
      %low = arith.maxsi %before, %zero : index loc("low")
      %inside = arith.minsi %low, %seven : index loc("inside")
      %0 = tir.load %a[%inside] : !tir.buffer<8xf32> -> f32 loc("load")
      tir.store %0, %out[%o * 2 + %i] : f32, !tir.buffer<16xf32> loc("store")
      %after = tir.index [%o * 2 + %i + 1] : index loc("after")
      %high = arith.minsi %seven, %after : index loc("high")
      %positive = arith.maxsi %zero, %high : index loc("positive")
      %1 = tir.load %a[%positive] : !tir.buffer<8xf32> -> f32 loc("load")
      tir.store %1, %out[%o * 2 + %i + 8] : f32, !tir.buffer<16xf32> loc("store")
    } loc("i")
  } loc("o")
} loc("m")

// Arithmetic that gives one of its operands; of floats, what holds for -0 and NaN, too.
// CHECK-LABEL: tir.prim_func @identities
// CHECK:      %x = tir.load
// CHECK-NEXT: %y = tir.load
// CHECK:      arith.xori %{{.*}} loc("f")
// CHECK-NEXT: %nothing = arith.constant 0 : i32 loc("x - x")
// CHECK:      %sum = arith.addf %y, %zero : f32 loc("y + 0")
// CHECK:      tir.store %x, %n[0]
// CHECK-NEXT: tir.store %nothing, %n[1]
// CHECK:      %none_at_all = arith.constant 0 : index loc("place - place")
// CHECK:      tir.store %sum, %out[0]
// CHECK-NEXT: tir.store %y, %out[1]
tir.prim_func @identities(%n: !tir.buffer<2xi32>, %out: !tir.buffer<2xf32>) outputs 2 {
  %none = arith.constant 0 : i32 loc("0")
  %one = arith.constant 1 : i32 loc("1")
  %true = arith.constant true loc("true")
  %x = tir.load %n[0] : !tir.buffer<2xi32> -> i32 loc("x")
  %y = tir.load %out[0] : !tir.buffer<2xf32> -> f32 loc("y")
  %0 = arith.addi %none, %x : i32 loc("a")
  %1 = arith.muli %0, %one : i32 loc("b")
  %2 = arith.divsi %1, %one : i32 loc("c")
  %3 = arith.maxsi %2, %x : i32 loc("d")
  %4 = arith.cmpi slt, %3, %none : i32 loc("e")
  %5 = arith.xori %4, %true : i1 loc("f")
  %6 = arith.xori %5, %true : i1 loc("g")
  %7 = arith.andi %6, %true : i1 loc("h")
  %8 = arith.select %7, %3, %x : i32 loc("i")
  %nothing = arith.subi %8, %x : i32 loc("x - x")
  %zero = arith.constant 0.0 : f32 loc("zero")
  %unit = arith.constant 1.0 : f32 loc("unit")
  %sum = arith.addf %y, %zero : f32 loc("y + 0")
  %9 = arith.mulf %y, %unit : f32 loc("j")
  %10 = arith.negf %9 : f32 loc("k")
  %11 = arith.negf %10 : f32 loc("l")
  tir.store %8, %n[0] : i32, !tir.buffer<2xi32> loc("s")
  tir.store %nothing, %n[1] : i32, !tir.buffer<2xi32> loc("s")
  %place = arith.index_cast %x : i32 to index loc("place")
  %none_at_all = arith.subi %place, %place : index loc("place - place")
  %same = arith.index_cast %none_at_all : index to i32 loc("same")
  tir.store %same, %n[1] : i32, !tir.buffer<2xi32> loc("s")
  tir.store %sum, %out[0] : f32, !tir.buffer<2xf32> loc("s")
  tir.store %11, %out[1] : f32, !tir.buffer<2xf32> loc("s")
} loc("m")
