// RUN: whence-opt %s -p "tir-lower-intrin" --print-debuginfo | filecheck %s

// Written out with comparisons and roots, all located at the function.
// CHECK-LABEL: tir.prim_func @vectors
tir.prim_func @vectors(%a: !tir.buffer<16xf32>, %b: !tir.buffer<16xf32>) outputs 1 {
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
} loc("f")

// A polynomial of the rest by ln(2), times a power of two made of bits.
// CHECK-LABEL: tir.prim_func @exponentials
tir.prim_func @exponentials(%a: !tir.buffer<16xf32>, %b: !tir.buffer<16xf32>) outputs 1 {
  // CHECK-NOT:  math.exp
  // CHECK:      tir.compare olt
  // CHECK-COUNT-9: math.fma {{.*}} : f32
  // CHECK:      arith.shli {{.*}} : i32
  // CHECK:      arith.bitcast {{.*}} : i32 to f32
  // CHECK:      arith.mulf
  %0 = tir.load %a[0] : !tir.buffer<16xf32> -> f32
  %1 = math.exp %0 : f32
  tir.store %1, %b[0] : f32, !tir.buffer<16xf32>
}

// Reduced in f64, so that no bit of a large angle is lost.
// CHECK-LABEL: tir.prim_func @angles
tir.prim_func @angles(%a: !tir.buffer<16xf32>, %b: !tir.buffer<16xf32>) outputs 1 {
  // CHECK:      arith.extf {{.*}} : vector<8xf32> to vector<8xf64>
  // CHECK-NOT:  math.cos
  // CHECK:      arith.truncf {{.*}} : vector<8xf64> to vector<8xf32>
  %0 = tir.load %a[0] : !tir.buffer<16xf32> -> vector<8xf32>
  %1 = math.cos %0 : vector<8xf32>
  tir.store %1, %b[0] : vector<8xf32>, !tir.buffer<16xf32>
}

// A power is a product where the exponent is known to be 2.
// CHECK-LABEL: tir.prim_func @powers
tir.prim_func @powers(%a: !tir.buffer<16xf32>, %b: !tir.buffer<16xf32>) outputs 1 {
  // CHECK:      %[[X:[0-9]+]] = tir.load %a[0]
  // CHECK-NEXT: arith.mulf %[[X]], %[[X]] : f32
  // CHECK-NEXT: tir.store
  // CHECK:      tir.load %b[1]
  // CHECK-NOT:  math.powf
  // CHECK:      arith.truncf {{.*}} : f64 to f32
  %two = arith.constant 2.0 : f32
  %0 = tir.load %a[0] : !tir.buffer<16xf32> -> f32
  %1 = math.powf %0, %two : f32
  tir.store %1, %b[0] : f32, !tir.buffer<16xf32>
  %2 = tir.load %b[1] : !tir.buffer<16xf32> -> f32
  %3 = math.powf %0, %2 : f32
  tir.store %3, %b[1] : f32, !tir.buffer<16xf32>
}

// Half precision is computed in f32; f64 stays.
// CHECK-LABEL: tir.prim_func @types
tir.prim_func @types(%h: !tir.buffer<2xf16>, %d: !tir.buffer<2xf64>) outputs 1 {
  // CHECK:      arith.extf %{{.*}} : f16 to f32
  // CHECK-NOT:  math.log
  // CHECK:      arith.truncf %{{.*}} : f32 to f16
  // CHECK:      math.sinh %{{.*}} : f64
  %0 = tir.load %h[0] : !tir.buffer<2xf16> -> f16
  %1 = math.log %0 : f16
  tir.store %1, %h[1] : f16, !tir.buffer<2xf16>
  %2 = tir.load %d[0] : !tir.buffer<2xf64> -> f64
  %3 = math.sinh %2 : f64
  tir.store %3, %d[1] : f64, !tir.buffer<2xf64>
}
