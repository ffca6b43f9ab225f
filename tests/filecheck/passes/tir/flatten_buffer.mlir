// RUN: whence-opt %s -p "tir-flatten-buffer" --print-debuginfo | filecheck %s

// CHECK:      tir.prim_func @f(%a: !tir.buffer<32xf32> loc("data"), %s: !tir.buffer<1xf32> loc("scale"), %b: !tir.buffer<16xf32> loc("b"), %out: !tir.buffer<32xf32> loc("conv1")) outputs 1 {
// CHECK-NEXT:   %t = tir.alloc : !tir.buffer<32xf32, local> loc("conv1")
// CHECK-NEXT:   tir.for %i in 4 {
// CHECK-NEXT:     tir.for %j in 8 {
// CHECK-NEXT:       %0 = tir.load %a[%i * 8 + %j] : !tir.buffer<32xf32> -> f32 loc("load")
// CHECK-NEXT:       tir.store %0, %t[%i * 8 + %j * -1 + 7] : f32, !tir.buffer<32xf32, local> loc("store")
// CHECK-NEXT:       %1 = tir.load %a[%i * 8 + %j - 8] if [%i - 1] >= 0 else 0.000000e+00 : f32 : !tir.buffer<32xf32> -> f32 loc("pad")
// CHECK-NEXT:       %2 = tir.load %s[0] : !tir.buffer<1xf32> -> f32 loc("scale")
// CHECK-NEXT:       %3 = tir.load %b[%j] : !tir.buffer<16xf32> -> f32 loc("b")
// CHECK-NEXT:       tir.store %3, %out[%i * 8 + %j] : f32, !tir.buffer<32xf32> loc("reshape")
// CHECK-NEXT:     } loc("j")
// CHECK-NEXT:     %4 = tir.load %a[%i] stride 8 : !tir.buffer<32xf32> -> vector<4xf32> loc("column")
// CHECK-NEXT:   } loc("i")
// CHECK-NEXT: } loc("f")
tir.prim_func @f(%a: !tir.buffer<4x8xf32> loc("data"), %s: !tir.buffer<f32> loc("scale"), %b: !tir.buffer<16xf32> loc("b"), %out: !tir.buffer<2x2x8xf32> loc("conv1")) outputs 1 {
  %t = tir.alloc : !tir.buffer<4x8xf32, local> loc("conv1")
  tir.for %i in 4 {
    tir.for %j in 8 {
      %0 = tir.load %a[%i, %j] : !tir.buffer<4x8xf32> -> f32 loc("load")
      tir.store %0, %t[%i, 7 - %j] : f32, !tir.buffer<4x8xf32, local> loc("store")
      %1 = tir.load %a[%i - 1, %j] if [%i - 1] >= 0 else 0.0 : f32 : !tir.buffer<4x8xf32> -> f32 loc("pad")
      %2 = tir.load %s[] : !tir.buffer<f32> -> f32 loc("scale")
      %3 = tir.load %b[%j] : !tir.buffer<16xf32> -> f32 loc("b")
      tir.store %3, %out[%i floordiv 2, %i mod 2, %j] : f32, !tir.buffer<2x2x8xf32> loc("reshape")
    } loc("j")
    %4 = tir.load %a[0, %i] stride 8 : !tir.buffer<4x8xf32> -> vector<4xf32> loc("column")
  } loc("i")
} loc("f")
