// RUN: whence-opt %s -p "tir-lower-match-buffer" --print-debuginfo --audit | filecheck %s
// RUN: whence-opt %s -p "tir-lower-match-buffer,tir-simplify" | filecheck %s --check-prefix SIMPLE

// The dims of a view are the last ones of its source.
// CHECK-LABEL: tir.prim_func @rows
// CHECK-NOT:  tir.decl_buffer
// CHECK:      tir.load %a[%i, %j + 16] : {{.*}} loc("load")
// CHECK:      tir.store %{{.*}}, %b[%i, %j] : {{.*}} loc("store")
// SIMPLE-LABEL: tir.prim_func @rows
// SIMPLE:      %0 = tir.load %a[%i, %j + 16] : !tir.buffer<8x64xf32> -> f32
// SIMPLE-NEXT: %1 = tir.load %a[%i, %j * 2] if [%j - 2] >= 0 else 0.000000e+00 : f32 : !tir.buffer<8x64xf32> -> f32
// SIMPLE:      tir.store %{{.*}}, %b[%i, %j] : f32, !tir.buffer<8x16xf32>
tir.prim_func @rows(%a: !tir.buffer<8x64xf32>, %b: !tir.buffer<8x16xf32>) outputs 1 {
  tir.for %i in 8 {
    tir.for %j in 16 {
      %row = tir.decl_buffer %a[%i, 0] : !tir.buffer<8x64xf32> -> !tir.buffer<64xf32> loc("row")
      %part = tir.decl_buffer %row[16] : !tir.buffer<64xf32> -> !tir.buffer<16xf32> loc("part")
      %0 = tir.load %part[%j] : !tir.buffer<16xf32> -> f32 loc("load")
      %1 = tir.load %row[%j * 2] if [%j - 2] >= 0 else 0.0 : f32 : !tir.buffer<64xf32> -> f32 loc("load")
      %2 = arith.addf %0, %1 : f32 loc("add")
      %out = tir.decl_buffer %b[%i, 0] : !tir.buffer<8x16xf32> -> !tir.buffer<16xf32> loc("out")
      tir.store %2, %out[%j] : f32, !tir.buffer<16xf32> loc("store")
    } loc("j")
  } loc("i")
} loc("f")

// Strides of its own: the diagonal, and rows of another shape.
// SIMPLE-LABEL: tir.prim_func @strided
// SIMPLE:      %0 = tir.load %a[%i, %i] : !tir.buffer<8x8xf32> -> f32
// SIMPLE-NEXT: %1 = tir.load %a[%i floordiv 2, (%i mod 2) * 4 + 3] : !tir.buffer<8x8xf32> -> f32
// SIMPLE-NEXT: %2 = tir.load %a[0, %i] stride 8 : !tir.buffer<8x8xf32> -> vector<4xf32>
tir.prim_func @strided(%a: !tir.buffer<8x8xf32>, %b: !tir.buffer<8xf32>) outputs 1 {
  %diagonal = tir.decl_buffer %a[0, 0] strides [9] : !tir.buffer<8x8xf32> -> !tir.buffer<8xf32> loc("diagonal")
  %narrow = tir.decl_buffer %a[0, 0] strides [4, 1] : !tir.buffer<8x8xf32> -> !tir.buffer<16x4xf32> loc("narrow")
  tir.for %i in 8 {
    %0 = tir.load %diagonal[%i] : !tir.buffer<8xf32> -> f32 loc("load")
    %1 = tir.load %narrow[%i, 3] : !tir.buffer<16x4xf32> -> f32 loc("load")
    %column = tir.decl_buffer %a[0, %i] strides [8] : !tir.buffer<8x8xf32> -> !tir.buffer<8xf32> loc("column")
    %2 = tir.load %column[0] : !tir.buffer<8xf32> -> vector<4xf32> loc("load")
    %3 = vector.reduction <add>, %2 : vector<4xf32> into f32 loc("sum")
    %4 = arith.addf %0, %1 : f32 loc("add")
    %5 = arith.addf %3, %4 : f32 loc("add")
    tir.store %5, %b[%i] : f32, !tir.buffer<8xf32> loc("store")
  } loc("i")
} loc("f")

// Masked vectors go through views as others do.
// SIMPLE-LABEL: tir.prim_func @masked
// SIMPLE:      %1 = tir.masked_load %0, %a[%i, 4] else dense<0.000000e+00> : vector<4xf32> : !tir.buffer<8x8xf32> -> vector<4xf32>
// SIMPLE-NEXT: tir.masked_store %1, %0, %b[%i, 0] : vector<4xf32>, !tir.buffer<8x4xf32>
tir.prim_func @masked(%a: !tir.buffer<8x8xf32>, %b: !tir.buffer<8x4xf32>) outputs 1 {
  tir.for %i in 8 {
    %row = tir.decl_buffer %a[%i, 4] : !tir.buffer<8x8xf32> -> !tir.buffer<4xf32> loc("row")
    %out = tir.decl_buffer %b[%i, 0] : !tir.buffer<8x4xf32> -> !tir.buffer<4xf32> loc("out")
    %0 = tir.mask [2] steps [-1] >= 0 : vector<4xi1> loc("mask")
    %1 = tir.masked_load %0, %row[0] else dense<0.0> : vector<4xf32> : !tir.buffer<4xf32> -> vector<4xf32> loc("load")
    tir.masked_store %1, %0, %out[0] : vector<4xf32>, !tir.buffer<4xf32> loc("store")
  } loc("i")
} loc("f")
