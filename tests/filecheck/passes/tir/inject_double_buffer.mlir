// RUN: whence-opt %s -p "tir-inject-double-buffer" --print-debuginfo | filecheck %s

// The copy of pass i + 1 comes before the use of pass i; constants serve both.
// CHECK-LABEL: tir.prim_func @tile
tir.prim_func @tile(%a: !tir.buffer<4x8xf32>, %b: !tir.buffer<4x8xf32>) outputs 1 {
  // CHECK:      %t = tir.alloc : !tir.buffer<2x8xf32, local> loc("t")
  // CHECK-NEXT: tir.for %i in 1 {
  // CHECK-NEXT:   tir.for %j in 8 {
  // CHECK-NEXT:     tir.load %a[0, %j] : !tir.buffer<4x8xf32> -> f32 loc("copy")
  // CHECK-NEXT:     tir.store %{{.*}}, %t[0, %j] : f32, !tir.buffer<2x8xf32, local> loc("copy")
  // CHECK-NEXT:   } loc("copy")
  // CHECK-NEXT: } loc("i")
  // CHECK-NEXT: tir.for %[[I:i_?[0-9]*]] in 3 {
  // CHECK-NEXT:   tir.for %[[J:j_?[0-9]*]] in 8 {
  // CHECK-NEXT:     tir.load %a[%[[I]] + 1, %[[J]]] : !tir.buffer<4x8xf32> -> f32 loc("copy")
  // CHECK-NEXT:     tir.store %{{.*}}, %t[(%[[I]] + 1) mod 2, %[[J]]] : f32, !tir.buffer<2x8xf32, local> loc("copy")
  // CHECK-NEXT:   } loc("copy")
  // CHECK-NEXT:   tir.for %[[K:k_?[0-9]*]] in 8 {
  // CHECK-NEXT:     tir.load %t[%[[I]] mod 2, %[[K]]] : !tir.buffer<2x8xf32, local> -> f32 loc("use")
  // CHECK-NEXT:     tir.store %{{.*}}, %b[%[[I]], %[[K]]] : f32, !tir.buffer<4x8xf32> loc("use")
  // CHECK:      tir.for %{{.*}} in 1 {
  // CHECK-NEXT:   tir.for %[[L:k_?[0-9]*]] in 8 {
  // CHECK-NEXT:     tir.load %t[1, %[[L]]] : !tir.buffer<2x8xf32, local> -> f32 loc("use")
  // CHECK-NEXT:     tir.store %{{.*}}, %b[3, %[[L]]] : f32, !tir.buffer<4x8xf32> loc("use")
  tir.for %i in 4 {
    %t = tir.alloc {double_buffer} : !tir.buffer<8xf32, local> loc("t")
    tir.for %j in 8 {
      %0 = tir.load %a[%i, %j] : !tir.buffer<4x8xf32> -> f32 loc("copy")
      tir.store %0, %t[%j] : f32, !tir.buffer<8xf32, local> loc("copy")
    } loc("copy")
    tir.for %k in 8 {
      %1 = tir.load %t[%k] : !tir.buffer<8xf32, local> -> f32 loc("use")
      tir.store %1, %b[%i, %k] : f32, !tir.buffer<4x8xf32> loc("use")
    } loc("use")
  } loc("i")
} loc("f")

// What the pass before writes cannot be read ahead; the buffer stays single.
// CHECK-LABEL: tir.prim_func @recurrence
tir.prim_func @recurrence(%b: !tir.buffer<5xf32>) outputs 1 {
  // CHECK:      tir.for %i in 4 {
  // CHECK-NEXT:   %t = tir.alloc : !tir.buffer<1xf32, local> loc("t")
  tir.for %i in 4 {
    %t = tir.alloc {double_buffer} : !tir.buffer<1xf32, local> loc("t")
    %0 = tir.load %b[%i] : !tir.buffer<5xf32> -> f32 loc("l")
    tir.store %0, %t[0] : f32, !tir.buffer<1xf32, local> loc("s")
    %1 = tir.load %t[0] : !tir.buffer<1xf32, local> -> f32 loc("l")
    tir.store %1, %b[%i + 1] : f32, !tir.buffer<5xf32> loc("s")
  } loc("i")
} loc("g")
