// RUN: whence-opt %s -p "tir-storage-rewrite" --print-debuginfo | filecheck %s

// The second stage writes over its input, element by element; the third reads in another order, and so does not.
// CHECK-LABEL: tir.prim_func @chain
tir.prim_func @chain(%a: !tir.buffer<8xf32>, %out: !tir.buffer<8xf32>) outputs 1 {
  // CHECK:      %t = tir.alloc : !tir.buffer<16xf32> loc(fused["t", "u"])
  // CHECK-NEXT: %v = tir.alloc : !tir.buffer<8xf32> loc("v")
  %t = tir.alloc : !tir.buffer<8xf32> loc("t")
  %u = tir.alloc : !tir.buffer<16xf32> loc("u")
  %v = tir.alloc : !tir.buffer<8xf32> loc("v")
  tir.for %i in 8 {
    // CHECK: tir.store %{{.*}}, %t[%i] : f32, !tir.buffer<16xf32> loc("s")
    %0 = tir.load %a[%i] : !tir.buffer<8xf32> -> f32 loc("l")
    tir.store %0, %t[%i] : f32, !tir.buffer<8xf32> loc("s")
  } loc("i")
  // CHECK: tir.load %t[%j] : !tir.buffer<16xf32> -> f32
  // CHECK: tir.store %{{.*}}, %t[%j] : f32, !tir.buffer<16xf32>
  tir.for %j in 8 {
    %1 = tir.load %t[%j] : !tir.buffer<8xf32> -> f32 loc("l")
    tir.store %1, %u[%j] : f32, !tir.buffer<16xf32> loc("s")
  } loc("i")
  // CHECK: tir.load %t[%k * -1 + 7]
  // CHECK: tir.store %{{.*}}, %v[%k]
  tir.for %k in 8 {
    %2 = tir.load %u[7 - %k] : !tir.buffer<16xf32> -> f32 loc("l")
    tir.store %2, %v[%k] : f32, !tir.buffer<8xf32> loc("s")
  } loc("i")
  tir.for %m in 8 {
    %3 = tir.load %v[%m] : !tir.buffer<8xf32> -> f32 loc("l")
    tir.store %3, %out[%m] : f32, !tir.buffer<8xf32> loc("s")
  } loc("i")
} loc("f")

// Not shared: another scope, another element type, an attribute of its own, memory per thread.
// CHECK-LABEL: tir.prim_func @apart
tir.prim_func @apart(%out: !tir.buffer<8xf32>, %n: !tir.buffer<8xi32>) outputs 2 {
  // CHECK-COUNT-4: tir.alloc
  // CHECK: tir.for parallel
  // CHECK-NEXT: tir.alloc
  %c = arith.constant 0.0 : f32 loc("c")
  %k = arith.constant 0 : i32 loc("c")
  %a = tir.alloc : !tir.buffer<8xf32> loc("a")
  tir.store %c, %a[0] : f32, !tir.buffer<8xf32> loc("s")
  %b = tir.alloc : !tir.buffer<8xf32, local> loc("b")
  tir.store %c, %b[0] : f32, !tir.buffer<8xf32, local> loc("s")
  %d = tir.alloc : !tir.buffer<8xi32> loc("d")
  tir.store %k, %d[0] : i32, !tir.buffer<8xi32> loc("s")
  %e = tir.alloc {double_buffer} : !tir.buffer<8xf32> loc("e")
  tir.store %c, %e[0] : f32, !tir.buffer<8xf32> loc("s")
  tir.for parallel %i in 8 {
    %p = tir.alloc : !tir.buffer<8xf32, local> loc("p")
    tir.store %c, %p[0] : f32, !tir.buffer<8xf32, local> loc("s")
  } loc("i")
} loc("g")
