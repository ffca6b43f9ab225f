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
