// RUN: whence-opt %s -p "tir-vectorize{vector_bits=256}" --print-debuginfo | filecheck %s

// Two vectors of terms are combined, and the lanes of what is left are; the order of a sum of floats is free.
// CHECK-LABEL: @sum
// CHECK-NEXT:    %[[A:.*]] = tir.load %a[0] : !tir.buffer<16xf32> -> vector<8xf32> loc("a")
// CHECK-NEXT:    %[[X:.*]] = arith.mulf %[[A]], %[[A]] : vector<8xf32> loc("square")
// CHECK-NEXT:    %[[B:.*]] = tir.load %a[8] : !tir.buffer<16xf32> -> vector<8xf32> loc("a")
// CHECK-NEXT:    %[[Y:.*]] = arith.mulf %[[B]], %[[B]] : vector<8xf32> loc("square")
// CHECK-NEXT:    %[[V:.*]] = arith.addf %[[X]], %[[Y]] : vector<8xf32> loc("add")
// CHECK-NEXT:    %[[OLD:.*]] = tir.load %out[0] : !tir.buffer<1xf32> -> f32 loc("old")
// CHECK-NEXT:    %[[NEW:.*]] = vector.reduction <add>, %[[V]], %[[OLD]] fastmath<reassoc> : vector<8xf32> into f32 loc("add")
// CHECK-NEXT:    tir.store %[[NEW]], %out[0] : f32, !tir.buffer<1xf32> loc("store")
// CHECK-NEXT:  } loc("g")
tir.prim_func @sum(%a: !tir.buffer<16xf32>, %out: !tir.buffer<1xf32>) outputs 1 {
  tir.for %k in 16 attributes {pragma_vector_reduction = 1 : i64} {
    %old = tir.load %out[0] : !tir.buffer<1xf32> -> f32 loc("old")
    %0 = tir.load %a[%k] : !tir.buffer<16xf32> -> f32 loc("a")
    %1 = arith.mulf %0, %0 : f32 loc("square")
    %2 = arith.addf %old, %1 : f32 loc("add")
    tir.store %2, %out[0] : f32, !tir.buffer<1xf32> loc("store")
  } loc("k")
} loc("g")

// The term may come first, flags stay, and an outer loop moves the element. 12 lanes are three vectors of 4.
// CHECK-LABEL: @kinds
// CHECK:         tir.for %i in 3 {
// CHECK:           vector.reduction <maximumf>, %{{.*}}, %{{.*}} fastmath<nsz> : vector<4xf32> into f32 loc("max")
// CHECK-NEXT:      tir.store %{{.*}}, %m[%i] : f32
// CHECK:           vector.reduction <minui>, %{{.*}}, %{{.*}} : vector<2xi64> into i64
// CHECK-NOT:     tir.for
tir.prim_func @kinds(%a: !tir.buffer<3x12xf32>, %b: !tir.buffer<3x2xi64>, %m: !tir.buffer<3xf32>, %n: !tir.buffer<3xi64>) outputs 2 {
  tir.for %i in 3 {
    tir.for %k in 12 attributes {pragma_vector_reduction = 1 : i64} {
      %0 = tir.load %a[%i, %k] : !tir.buffer<3x12xf32> -> f32 loc("a")
      %1 = tir.load %m[%i] : !tir.buffer<3xf32> -> f32 loc("old")
      %2 = arith.maximumf %0, %1 fastmath<nsz> : f32 loc("max")
      tir.store %2, %m[%i] : f32, !tir.buffer<3xf32> loc("store")
    } loc("k")
    tir.for %k in 2 attributes {pragma_vector_reduction = 1 : i64} {
      %3 = tir.load %b[%i, %k] : !tir.buffer<3x2xi64> -> i64 loc("b")
      %4 = tir.load %n[%i] : !tir.buffer<3xi64> -> i64 loc("old")
      %5 = arith.minui %4, %3 : i64 loc("min")
      tir.store %5, %n[%i] : i64, !tir.buffer<3xi64> loc("store")
    } loc("k")
  } loc("i")
} loc("g")

// Loops stay that do not combine, whose terms are alike, that use the element otherwise, whose element moves, or whose
// extent is odd.
// CHECK-LABEL: @stay
// CHECK-COUNT-5:  tir.for %{{.*}} attributes {pragma_vector_reduction = 1 : i64} {
// CHECK-NOT:      vector
tir.prim_func @stay(%a: !tir.buffer<16xf32>, %out: !tir.buffer<16xf32>) outputs 1 {
  tir.for %k in 16 attributes {pragma_vector_reduction = 1 : i64} {
    %0 = tir.load %out[0] : !tir.buffer<16xf32> -> f32 loc("l")
    %1 = tir.load %a[%k] : !tir.buffer<16xf32> -> f32 loc("l")
    %2 = arith.subf %0, %1 : f32 loc("sub")
    tir.store %2, %out[0] : f32, !tir.buffer<16xf32> loc("s")
  } loc("k")
  tir.for %k in 16 attributes {pragma_vector_reduction = 1 : i64} {
    %0 = tir.load %out[0] : !tir.buffer<16xf32> -> f32 loc("l")
    %1 = tir.load %a[3] : !tir.buffer<16xf32> -> f32 loc("l")
    %2 = arith.addf %0, %1 : f32 loc("add")
    tir.store %2, %out[0] : f32, !tir.buffer<16xf32> loc("s")
  } loc("k")
  tir.for %k in 16 attributes {pragma_vector_reduction = 1 : i64} {
    %0 = tir.load %out[0] : !tir.buffer<16xf32> -> f32 loc("l")
    %1 = tir.load %out[%k] : !tir.buffer<16xf32> -> f32 loc("l")
    %2 = arith.addf %0, %1 : f32 loc("add")
    tir.store %2, %out[0] : f32, !tir.buffer<16xf32> loc("s")
  } loc("k")
  tir.for %k in 16 attributes {pragma_vector_reduction = 1 : i64} {
    %0 = tir.load %out[%k] : !tir.buffer<16xf32> -> f32 loc("l")
    %1 = tir.load %a[%k] : !tir.buffer<16xf32> -> f32 loc("l")
    %2 = arith.addf %0, %1 : f32 loc("add")
    tir.store %2, %out[%k] : f32, !tir.buffer<16xf32> loc("s")
  } loc("k")
  tir.for %k in 15 attributes {pragma_vector_reduction = 1 : i64} {
    %0 = tir.load %out[0] : !tir.buffer<16xf32> -> f32 loc("l")
    %1 = tir.load %a[%k] : !tir.buffer<16xf32> -> f32 loc("l")
    %2 = arith.addf %0, %1 : f32 loc("add")
    tir.store %2, %out[0] : f32, !tir.buffer<16xf32> loc("s")
  } loc("k")
} loc("g")
