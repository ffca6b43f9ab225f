// RUN: xdsl-opt %s --print-debuginfo | filecheck %s
// RUN: xdsl-opt %s --print-debuginfo | xdsl-opt --print-debuginfo | filecheck %s
// RUN: xdsl-opt %s --print-op-generic --print-debuginfo | xdsl-opt --print-debuginfo | filecheck %s
// RUN: xdsl-opt %s --print-op-generic --print-debuginfo | filecheck %s --check-prefix=GENERIC

// CHECK:      te.func @fused_nn_conv1d_nn_relu(%p0: tensor<1x3x9xf32> loc("data"), %p1: tensor<8x3x3xf32> loc("w")) -> (tensor<1x8x5xf32>) {
// CHECK-NEXT:   %conv = te.compute "conv" (%n in 1, %f in 8, %x in 5) sum(%rc in 3, %rx in 3) : tensor<1x8x5xf32> {
// CHECK-NEXT:     %0 = te.read %p0[%n, %rc, %x * 2 + %rx - 1] else 0.000000e+00 : f32 : tensor<1x3x9xf32> loc("conv1"("m.onnx":4:0))
// CHECK-NEXT:     %1 = te.read %p1[%f, %rc, %rx] : tensor<8x3x3xf32> loc("conv1"("m.onnx":4:0))
// CHECK-NEXT:     %2 = arith.mulf %0, %1 : f32 loc("conv1"("m.onnx":4:0))
// CHECK-NEXT:     te.yield %2 : f32 loc("conv1"("m.onnx":4:0))
// CHECK-NEXT:   } loc("conv1"("m.onnx":4:0))
// CHECK-NEXT:   %relu = te.compute "relu" (%n_1 in 1, %f_1 in 8, %x_1 in 5) : tensor<1x8x5xf32> {
// CHECK:        te.return %relu : tensor<1x8x5xf32> loc(fused["relu1"("m.onnx":5:0), "conv1"("m.onnx":4:0)])
// CHECK-NEXT: } loc(fused["relu1"("m.onnx":5:0), "conv1"("m.onnx":4:0)])

// GENERIC:      "te.compute"() <{label = "conv", reducer = "sum", extents = array<i64: 1, 8, 5>, reduce_extents = array<i64: 3, 3>}> ({
// GENERIC-NEXT: ^bb0(%n: index loc(unknown), %f: index loc(unknown), %x: index loc(unknown), %rc: index loc(unknown), %rx: index loc(unknown)):
// GENERIC-NEXT:   %0 = "te.read"(%p0, %n, %rc, %x, %rx) <{map = affine_map<(d0, d1, d2, d3) -> (d0, d1, (((d2 * 2) + d3) + -1))>, otherwise = 0.000000e+00 : f32}> : (tensor<1x3x9xf32>, index, index, index, index) -> f32 loc("conv1"("m.onnx":4:0))
te.func @fused_nn_conv1d_nn_relu(%p0: tensor<1x3x9xf32> loc("data"), %p1: tensor<8x3x3xf32> loc("w")) -> (tensor<1x8x5xf32>) {
  %conv = te.compute "conv" (%n in 1, %f in 8, %x in 5) sum(%rc in 3, %rx in 3) : tensor<1x8x5xf32> {
    %0 = te.read %p0[%n, %rc, %x * 2 + %rx - 1] else 0.0 : f32 : tensor<1x3x9xf32> loc("conv1"("m.onnx":4:0))
    %1 = te.read %p1[%f, %rc, %rx] : tensor<8x3x3xf32> loc("conv1"("m.onnx":4:0))
    %2 = arith.mulf %0, %1 : f32 loc("conv1"("m.onnx":4:0))
    te.yield %2 : f32 loc("conv1"("m.onnx":4:0))
  } loc("conv1"("m.onnx":4:0))
  %relu = te.compute "relu" (%n in 1, %f in 8, %x in 5) : tensor<1x8x5xf32> {
    %0 = te.read %conv[%n, %f, %x] : tensor<1x8x5xf32> loc("relu1"("m.onnx":5:0))
    %1 = arith.constant 0.0 : f32 loc("relu1"("m.onnx":5:0))
    %2 = arith.maximumf %0, %1 : f32 loc("relu1"("m.onnx":5:0))
    te.yield %2 : f32 loc("relu1"("m.onnx":5:0))
  } loc("relu1"("m.onnx":5:0))
  te.return %relu : tensor<1x8x5xf32> loc(fused["relu1"("m.onnx":5:0), "conv1"("m.onnx":4:0)])
} loc(fused["relu1"("m.onnx":5:0), "conv1"("m.onnx":4:0)])

// CHECK:      te.func @take(%table: tensor<10x4xf32>
// CHECK-NEXT:   %out = te.compute "out" (%i in 3, %j in 4) : tensor<3x4xf32> {
// CHECK-NEXT:     %0 = te.read %where[%i] : tensor<3xi64> loc("read")
// CHECK-NEXT:     %1 = arith.index_cast %0 : i64 to index loc("cast")
// CHECK-NEXT:     %2 = te.read %table[%1, (%i * 4 + %j) mod 4] : tensor<10x4xf32> loc("take")
// CHECK-NEXT:     te.yield %2 : f32 loc("take")
// CHECK-NEXT:   } loc("take")
// CHECK-NEXT:   %flat = te.compute "flat" (%k in 12) : tensor<12xi8> {
// CHECK-NEXT:     %3 = te.index [%k floordiv 4] loc("index")
te.func @take(%table: tensor<10x4xf32>, %where: tensor<3xi64>) -> (tensor<3x4xf32>, tensor<12xi8>) {
  %out = te.compute "out" (%i in 3, %j in 4) : tensor<3x4xf32> {
    %0 = te.read %where[%i] : tensor<3xi64> loc("read")
    %1 = arith.index_cast %0 : i64 to index loc("cast")
    %2 = te.read %table[%1, (%i * 4 + %j) mod 4] : tensor<10x4xf32> loc("take")
    te.yield %2 : f32 loc("take")
  } loc("take")
  %flat = te.compute "flat" (%k in 12) : tensor<12xi8> {
    %0 = te.index [%k floordiv 4] loc("index")
    %1 = arith.index_cast %0 : index to i8 loc("index")
    te.yield %1 : i8 loc("index")
  } loc("index")
  te.return %out, %flat : tensor<3x4xf32>, tensor<12xi8>
} loc("f")

// CHECK:      %best.v0, %best.v1 = te.compute "best" (%i in 4) reduce "argmax"(%k in 8) : tensor<4xi32>, tensor<4xf32> {
// CHECK-NEXT:   %0 = te.index [%k] loc("arg")
// CHECK-NEXT:   %1 = arith.index_cast %0 : index to i32 loc("arg")
// CHECK-NEXT:   %2 = te.read %a[%i, %k] : tensor<4x8xf32> loc("arg")
// CHECK-NEXT:   te.yield %1, %2 : i32, f32 loc("arg")
// CHECK-NEXT: } combine(%x0: i32 loc("arg"), %x1: f32 loc("arg"), %y0: i32 loc("arg"), %y1: f32 loc("arg")) from(-1 : i32, 0xff800000 : f32) {
// CHECK-NEXT:   %3 = arith.cmpf oge, %x1, %y1 : f32 loc("arg")
// CHECK-NEXT:   %4 = arith.select %3, %x0, %y0 : i32 loc("arg")
// CHECK-NEXT:   %5 = arith.select %3, %x1, %y1 : f32 loc("arg")
// CHECK-NEXT:   te.yield %4, %5 : i32, f32 loc("arg")
// CHECK-NEXT: } loc("arg")
// GENERIC:      "te.compute"() <{label = "best", reducer = "argmax", identity = [-1 : i32, 0xff800000 : f32], extents = array<i64: 4>, reduce_extents = array<i64: 8>}> ({
te.func @argmax(%a: tensor<4x8xf32>) -> (tensor<4xi32>, tensor<4xf32>) {
  %best.v0, %best.v1 = te.compute "best" (%i in 4) reduce "argmax"(%k in 8) : tensor<4xi32>, tensor<4xf32> {
    %0 = te.index [%k] loc("arg")
    %1 = arith.index_cast %0 : index to i32 loc("arg")
    %2 = te.read %a[%i, %k] : tensor<4x8xf32> loc("arg")
    te.yield %1, %2 : i32, f32 loc("arg")
  } combine(%x0: i32 loc("arg"), %x1: f32 loc("arg"), %y0: i32 loc("arg"), %y1: f32 loc("arg")) from(-1 : i32, 0xff800000 : f32) {
    %0 = arith.cmpf oge, %x1, %y1 : f32 loc("arg")
    %1 = arith.select %0, %x0, %y0 : i32 loc("arg")
    %2 = arith.select %0, %x1, %y1 : f32 loc("arg")
    te.yield %1, %2 : i32, f32 loc("arg")
  } loc("arg")
  te.return %best.v0, %best.v1 : tensor<4xi32>, tensor<4xf32> loc("arg")
} loc("arg")

// CHECK:      %s = te.state "s" : tensor<9x8xf32> loc("state")
// CHECK-NEXT: %next = te.compute "next" (%t in 9, %i in 8) : tensor<9x8xf32> {
// CHECK:      %sum = te.scan "sum" (%s from %x next %next : tensor<1x8xf32> -> tensor<9x8xf32>) loc("sum")
// CHECK-NEXT: %c = te.extern "c" packed "mm"(%sum, %x, out 0, %sum, 2 : i32) : (tensor<9x8xf32>, tensor<1x8xf32>) -> (tensor<9xf32>) loc("c")
// CHECK-NEXT: %d, %e = te.extern "d" "fill"(out 1, 1.000000e+00 : f64, out 0) : () -> (tensor<2xi8>, tensor<3xi8>) loc("d")
// GENERIC:      "te.scan"(%s, %x, %next) <{label = "sum", operandSegmentSizes = array<i32: 1, 1, 1>}> : (tensor<9x8xf32>, tensor<1x8xf32>, tensor<9x8xf32>) -> tensor<9x8xf32> loc("sum")
// GENERIC-NEXT: "te.extern"(%sum, %x) <{label = "c", callee = "mm", arguments = [#builtin.int<0>, #builtin.int<1>, #builtin.int<2>, #builtin.int<0>, 2 : i32], packed}>
te.func @stages(%x: tensor<1x8xf32>) -> (tensor<9xf32>, tensor<2xi8>, tensor<3xi8>) {
  %s = te.state "s" : tensor<9x8xf32> loc("state")
  %next = te.compute "next" (%t in 9, %i in 8) : tensor<9x8xf32> {
    %0 = te.read %s[%t - 1, %i] : tensor<9x8xf32> loc("next")
    te.yield %0 : f32 loc("next")
  } loc("next")
  %sum = te.scan "sum" (%s from %x next %next : tensor<1x8xf32> -> tensor<9x8xf32>) loc("sum")
  %c = te.extern "c" packed "mm"(%sum, %x, out 0, %sum, 2 : i32) : (tensor<9x8xf32>, tensor<1x8xf32>) -> (tensor<9xf32>) loc("c")
  %d, %e = te.extern "d" "fill"(out 1, 1.0 : f64, out 0) : () -> (tensor<2xi8>, tensor<3xi8>) loc("d")
  te.return %c, %d, %e : tensor<9xf32>, tensor<2xi8>, tensor<3xi8> loc("c")
} loc("c")

// CHECK:      %h = te.hybrid "h"(%a) : (tensor<4xf32>) -> (tensor<4xf32>) {
// CHECK-NEXT: ^bb0(%in: !tir.buffer<4xf32> loc("h"), %out: !tir.buffer<4xf32> loc("h")):
// CHECK-NEXT:   tir.for %i in 4 {
te.func @loops(%a: tensor<4xf32>) -> (tensor<4xf32>) {
  %h = te.hybrid "h"(%a) : (tensor<4xf32>) -> (tensor<4xf32>) {
  ^bb0(%in: !tir.buffer<4xf32> loc("h"), %out: !tir.buffer<4xf32> loc("h")):
    tir.for %i in 4 {
      %0 = tir.load %in[%i] : !tir.buffer<4xf32> -> f32 loc("h")
      tir.store %0, %out[%i] : f32, !tir.buffer<4xf32> loc("h")
    } loc("h")
  } loc("h")
  te.return %h : tensor<4xf32> loc("h")
} loc("h")

// CHECK:      te.func @from(
// CHECK:          te.yield %{{.*}}, %{{.*}} : f32, f32
te.func @from(%x: tensor<4x9xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>) {
  %c = te.compute "c" (%i in 4) sum(%k in 9) : tensor<4xf32> {
    %0 = te.read %x[%i, %k] : tensor<4x9xf32>
    %1 = te.read %y[%i] : tensor<4xf32>
    te.yield %0, %1 : f32, f32
  }
  te.return %c : tensor<4xf32>
}
