// RUN: whence-opt %s -p "tir-lower-intrin" --print-debuginfo | filecheck %s

// Written out with comparisons and roots, all located at the function; f64 and what LLVM lowering expands stay.
// CHECK-LABEL: tir.prim_func @f
tir.prim_func @f(%a: !tir.buffer<16xf32>, %b: !tir.buffer<16xf32>, %d: !tir.buffer<2xf64>) outputs 1 {
  // CHECK:      %[[X:[0-9]+]] = tir.load %a[0]
  // CHECK-NEXT: %[[A:[0-9]+]] = math.absf %[[X]] : vector<16xf32> loc("asin1")
  // CHECK-NEXT: arith.constant dense<5.000000e-01> : vector<16xf32> loc("asin1")
  // CHECK-NOT:  math.asin
  // CHECK:      math.sqrt {{.*}} : vector<16xf32> loc("asin1")
  // CHECK:      tir.select {{.*}} : vector<16xi1>, vector<16xf32> loc("asin1")
  // CHECK:      %[[R:[0-9]+]] = math.copysign %{{.*}}, %[[X]] : vector<16xf32> loc("asin1")
  // CHECK-NEXT: tir.store %[[R]], %b[0]
  %0 = tir.load %a[0] : !tir.buffer<16xf32> -> vector<16xf32> loc("l")
  %1 = math.asin %0 : vector<16xf32> loc("asin1")
  tir.store %1, %b[0] : vector<16xf32>, !tir.buffer<16xf32> loc("s")
  // CHECK: math.tanh
  // CHECK: math.sinh %{{.*}} : f64
  %2 = tir.load %a[0] : !tir.buffer<16xf32> -> f32 loc("l")
  %3 = math.tanh %2 : f32 loc("tanh1")
  tir.store %3, %b[0] : f32, !tir.buffer<16xf32> loc("s")
  %4 = tir.load %d[0] : !tir.buffer<2xf64> -> f64 loc("l")
  %5 = math.sinh %4 : f64 loc("sinh1")
  tir.store %5, %d[1] : f64, !tir.buffer<2xf64> loc("s")
} loc("f")
