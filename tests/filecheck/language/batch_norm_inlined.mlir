// RUN: whence-opt %s -p schedule-apply --audit --print-debuginfo | filecheck %s
// RUN: whence-opt %s -p "convert-te-to-tir,tir-simplify,tir-vectorize" --audit --print-debuginfo | filecheck %s --check-prefix VECTOR

// Three elementwise stages of two layers in one loop; each op keeps the layer that it comes from.

// CHECK:      tir.prim_func @batch_norm(%x: !tir.buffer<4x6x32xf32> loc("bn"("net.onnx":3:0)), %scale: !tir.buffer<4xf32> loc("bn"("net.onnx":3:0)), %shift: !tir.buffer<4xf32> loc("bn"("net.onnx":3:0)), %out: !tir.buffer<4x6x32xf32> loc(fused["act"("net.onnx":4:0), "bn"("net.onnx":3:0)])) outputs 1 {
// CHECK-NEXT:   tir.for %c in 4 {
// CHECK-NEXT:     tir.for %y in 6 {
// CHECK-NEXT:       tir.for %x_.outer in 4 {
// CHECK-NEXT:         tir.for vectorized %x_.inner in 8 {
// CHECK-NEXT:           %{{.*}} = tir.load %x[%c, %y, %x_.outer * 8 + %x_.inner] : !tir.buffer<4x6x32xf32> -> f32 loc("bn"("net.onnx":3:0))
// CHECK-NEXT:           %{{.*}} = tir.load %scale[%c] : !tir.buffer<4xf32> -> f32 loc("bn"("net.onnx":3:0))
// CHECK-NEXT:           %{{.*}} = arith.mulf %{{.*}}, %{{.*}} : f32 loc("bn"("net.onnx":3:0))
// CHECK-NEXT:           %{{.*}} = tir.load %shift[%c] : !tir.buffer<4xf32> -> f32 loc("bn"("net.onnx":3:0))
// CHECK-NEXT:           %{{.*}} = arith.addf %{{.*}}, %{{.*}} : f32 loc("bn"("net.onnx":3:0))
// CHECK-NEXT:           %{{.*}} = arith.constant 0.000000e+00 : f32 loc("act"("net.onnx":4:0))
// CHECK-NEXT:           %{{.*}} = arith.maximumf %{{.*}}, %{{.*}} : f32 loc("act"("net.onnx":4:0))
// CHECK-NEXT:           %{{.*}} = arith.constant 6.000000e+00 : f32 loc("act"("net.onnx":4:0))
// CHECK-NEXT:           %{{.*}} = arith.minimumf %{{.*}}, %{{.*}} : f32 loc("act"("net.onnx":4:0))
// CHECK-NEXT:           tir.store %{{.*}}, %out[%c, %y, %x_.outer * 8 + %x_.inner] : f32, !tir.buffer<4x6x32xf32> loc(fused["act"("net.onnx":4:0), "bn"("net.onnx":3:0)])

// VECTOR:      %{{.*}} = arith.mulf %{{.*}}, %{{.*}} : vector<8xf32> loc("bn"("net.onnx":3:0))
// VECTOR:      %{{.*}} = arith.addf %{{.*}}, %{{.*}} : vector<8xf32> loc("bn"("net.onnx":3:0))
// VECTOR:      %{{.*}} = arith.constant dense<0.000000e+00> : vector<8xf32> loc("act"("net.onnx":4:0))
// VECTOR-NEXT: %{{.*}} = arith.maximumf %{{.*}}, %{{.*}} : vector<8xf32> loc("act"("net.onnx":4:0))
// VECTOR:      %{{.*}} = arith.constant dense<6.000000e+00> : vector<8xf32> loc("act"("net.onnx":4:0))
// VECTOR-NEXT: %{{.*}} = arith.minimumf %{{.*}}, %{{.*}} : vector<8xf32> loc("act"("net.onnx":4:0))
// VECTOR-NEXT: tir.store %{{.*}}, %out[%c, %y, %x_.outer * 8] : vector<8xf32>, !tir.buffer<4x6x32xf32> loc(fused["act"("net.onnx":4:0), "bn"("net.onnx":3:0)])

te.func @batch_norm(%x: tensor<4x6x32xf32> loc("bn"("net.onnx":3:0)), %scale: tensor<4xf32> loc("bn"("net.onnx":3:0)), %shift: tensor<4xf32> loc("bn"("net.onnx":3:0))) -> (tensor<4x6x32xf32>) {
  %scaled = te.compute "scaled" (%c in 4, %y in 6, %x_ in 32) : tensor<4x6x32xf32> attributes {tag = "broadcast"} {
    %0 = te.read %x[%c, %y, %x_] : tensor<4x6x32xf32> loc("bn"("net.onnx":3:0))
    %1 = te.read %scale[%c] : tensor<4xf32> loc("bn"("net.onnx":3:0))
    %2 = arith.mulf %0, %1 : f32 loc("bn"("net.onnx":3:0))
    te.yield %2 : f32 loc("bn"("net.onnx":3:0))
  } loc("bn"("net.onnx":3:0))
  %shifted = te.compute "shifted" (%c in 4, %y in 6, %x_ in 32) : tensor<4x6x32xf32> attributes {tag = "broadcast"} {
    %0 = te.read %scaled[%c, %y, %x_] : tensor<4x6x32xf32> loc("bn"("net.onnx":3:0))
    %1 = te.read %shift[%c] : tensor<4xf32> loc("bn"("net.onnx":3:0))
    %2 = arith.addf %0, %1 : f32 loc("bn"("net.onnx":3:0))
    te.yield %2 : f32 loc("bn"("net.onnx":3:0))
  } loc("bn"("net.onnx":3:0))
  %act = te.compute "act" (%c in 4, %y in 6, %x_ in 32) : tensor<4x6x32xf32> attributes {tag = "elemwise"} {
    %0 = te.read %shifted[%c, %y, %x_] : tensor<4x6x32xf32> loc("act"("net.onnx":4:0))
    %1 = arith.constant 0.0 : f32 loc("act"("net.onnx":4:0))
    %2 = arith.maximumf %0, %1 : f32 loc("act"("net.onnx":4:0))
    %3 = arith.constant 6.0 : f32 loc("act"("net.onnx":4:0))
    %4 = arith.minimumf %2, %3 : f32 loc("act"("net.onnx":4:0))
    te.yield %4 : f32 loc("act"("net.onnx":4:0))
  } loc("act"("net.onnx":4:0))
  te.return %act : tensor<4x6x32xf32> loc(fused["bn"("net.onnx":3:0), "act"("net.onnx":4:0)])
} loc(fused["bn"("net.onnx":3:0), "act"("net.onnx":4:0)])
schedule.sequence @batch_norm {
  %scaled = schedule.stage "scaled" loc("bn"("net.onnx":3:0))
  schedule.compute_inline %scaled loc("bn"("net.onnx":3:0))
  %shifted = schedule.stage "shifted" loc("bn"("net.onnx":3:0))
  schedule.compute_inline %shifted loc("bn"("net.onnx":3:0))
  %act = schedule.stage "act" loc("act"("net.onnx":4:0))
  %c, %y, %x_ = schedule.axes %act : 3 loc("act"("net.onnx":4:0))
  %x_.outer, %x_.inner = schedule.split %x_ factor 8 loc("act"("net.onnx":4:0))
  schedule.vectorize %x_.inner loc("act"("net.onnx":4:0))
} loc(fused["bn"("net.onnx":3:0), "act"("net.onnx":4:0)])
