// RUN: whence-opt %s -p schedule-apply --audit --print-debuginfo | filecheck %s
// RUN: whence-opt %s -p "convert-te-to-tir,tir-simplify,tir-vectorize" --audit --print-debuginfo | filecheck %s --check-prefix VECTOR

// Sum and sum of squares in one pass, by a reduction of two numbers; mean and variance are inlined.

// CHECK:      tir.for parallel %i in 4 {
// CHECK-NEXT:   %moments.v0 = tir.alloc : !tir.buffer<1xf32, local> loc("norm"("net.onnx":4:0))
// CHECK-NEXT:   %moments.v1 = tir.alloc : !tir.buffer<1xf32, local> loc("norm"("net.onnx":4:0))
// CHECK:        tir.store %{{.*}}, %moments.v0[0] : f32, !tir.buffer<1xf32, local> loc("norm"("net.onnx":4:0))
// CHECK-NEXT:   tir.store %{{.*}}, %moments.v1[0] : f32, !tir.buffer<1xf32, local> loc("norm"("net.onnx":4:0))
// CHECK-NEXT:   tir.for %k in 64 {
// CHECK:          tir.store %{{.*}}, %moments.v0[0] : f32, !tir.buffer<1xf32, local> loc("norm"("net.onnx":4:0))
// CHECK-NEXT:     tir.store %{{.*}}, %moments.v1[0] : f32, !tir.buffer<1xf32, local> loc("norm"("net.onnx":4:0))
// CHECK:        tir.for %j.outer in 4 {
// CHECK-NEXT:     tir.for vectorized %j.inner in 16 {
// CHECK:            tir.store %{{.*}}, %out[%i, %j.outer * 16 + %j.inner] : f32, !tir.buffer<4x64xf32> loc(fused["scale"("net.onnx":5:0), "norm"("net.onnx":4:0)])

// VECTOR:      tir.for parallel %i in 4 {
// VECTOR:        tir.for %k in 64 {
// VECTOR:        tir.for %j.outer in 4 {
// VECTOR:          %{{.*}} = math.rsqrt %{{.*}} : f32 loc("scale"("net.onnx":5:0))
// VECTOR:          tir.store %{{.*}}, %out[%i, %j.outer * 16] : vector<16xf32>, !tir.buffer<4x64xf32> loc(fused["scale"("net.onnx":5:0), "norm"("net.onnx":4:0)])

te.func @layernorm(%x: tensor<4x64xf32> loc("norm"("net.onnx":4:0)), %gamma: tensor<64xf32> loc("norm"("net.onnx":4:0)), %beta: tensor<64xf32> loc("norm"("net.onnx":4:0))) -> (tensor<4x64xf32>) {
  %moments.v0, %moments.v1 = te.compute "moments" (%i in 4) reduce "sums"(%k in 64) : tensor<4xf32>, tensor<4xf32> {
    %0 = te.read %x[%i, %k] : tensor<4x64xf32> loc("norm"("net.onnx":4:0))
    %1 = te.read %x[%i, %k] : tensor<4x64xf32> loc("norm"("net.onnx":4:0))
    %2 = te.read %x[%i, %k] : tensor<4x64xf32> loc("norm"("net.onnx":4:0))
    %3 = arith.mulf %1, %2 : f32 loc("norm"("net.onnx":4:0))
    te.yield %0, %3 : f32, f32 loc("norm"("net.onnx":4:0))
  } combine(%x0: f32 loc("norm"("net.onnx":4:0)), %x1: f32 loc("norm"("net.onnx":4:0)), %y0: f32 loc("norm"("net.onnx":4:0)), %y1: f32 loc("norm"("net.onnx":4:0))) from(0.0 : f32, 0.0 : f32) {
    %0 = arith.addf %x0, %y0 : f32 loc("norm"("net.onnx":4:0))
    %1 = arith.addf %x1, %y1 : f32 loc("norm"("net.onnx":4:0))
    te.yield %0, %1 : f32, f32 loc("norm"("net.onnx":4:0))
  } loc("norm"("net.onnx":4:0))
  %mean = te.compute "mean" (%i in 4) : tensor<4xf32> {
    %0 = te.read %moments.v0[%i] : tensor<4xf32> loc("norm"("net.onnx":4:0))
    %1 = arith.constant 0.015625 : f32 loc("norm"("net.onnx":4:0))
    %2 = arith.mulf %0, %1 : f32 loc("norm"("net.onnx":4:0))
    te.yield %2 : f32 loc("norm"("net.onnx":4:0))
  } loc("norm"("net.onnx":4:0))
  %var = te.compute "var" (%i in 4) : tensor<4xf32> {
    %0 = te.read %moments.v1[%i] : tensor<4xf32> loc("norm"("net.onnx":4:0))
    %1 = arith.constant 0.015625 : f32 loc("norm"("net.onnx":4:0))
    %2 = arith.mulf %0, %1 : f32 loc("norm"("net.onnx":4:0))
    %3 = te.read %mean[%i] : tensor<4xf32> loc("norm"("net.onnx":4:0))
    %4 = te.read %mean[%i] : tensor<4xf32> loc("norm"("net.onnx":4:0))
    %5 = arith.mulf %3, %4 : f32 loc("norm"("net.onnx":4:0))
    %6 = arith.subf %2, %5 : f32 loc("norm"("net.onnx":4:0))
    te.yield %6 : f32 loc("norm"("net.onnx":4:0))
  } loc("norm"("net.onnx":4:0))
  %y = te.compute "y" (%i in 4, %j in 64) : tensor<4x64xf32> {
    %0 = te.read %x[%i, %j] : tensor<4x64xf32> loc("scale"("net.onnx":5:0))
    %1 = te.read %mean[%i] : tensor<4xf32> loc("scale"("net.onnx":5:0))
    %2 = arith.subf %0, %1 : f32 loc("scale"("net.onnx":5:0))
    %3 = te.read %var[%i] : tensor<4xf32> loc("scale"("net.onnx":5:0))
    %4 = arith.constant 1.0e-05 : f32 loc("scale"("net.onnx":5:0))
    %5 = arith.addf %3, %4 : f32 loc("scale"("net.onnx":5:0))
    %6 = math.rsqrt %5 : f32 loc("scale"("net.onnx":5:0))
    %7 = arith.mulf %2, %6 : f32 loc("scale"("net.onnx":5:0))
    %8 = te.read %gamma[%j] : tensor<64xf32> loc("scale"("net.onnx":5:0))
    %9 = arith.mulf %7, %8 : f32 loc("scale"("net.onnx":5:0))
    %10 = te.read %beta[%j] : tensor<64xf32> loc("scale"("net.onnx":5:0))
    %11 = arith.addf %9, %10 : f32 loc("scale"("net.onnx":5:0))
    te.yield %11 : f32 loc("scale"("net.onnx":5:0))
  } loc("scale"("net.onnx":5:0))
  te.return %y : tensor<4x64xf32> loc(fused["norm"("net.onnx":4:0), "scale"("net.onnx":5:0)])
} loc(fused["norm"("net.onnx":4:0), "scale"("net.onnx":5:0)])
schedule.sequence @layernorm {
  %mean = schedule.stage "mean" loc("norm"("net.onnx":4:0))
  schedule.compute_inline %mean loc("norm"("net.onnx":4:0))
  %var = schedule.stage "var" loc("norm"("net.onnx":4:0))
  schedule.compute_inline %var loc("norm"("net.onnx":4:0))
  %y = schedule.stage "y" loc("scale"("net.onnx":5:0))
  %i, %j = schedule.axes %y : 2 loc("scale"("net.onnx":5:0))
  schedule.parallel %i loc("scale"("net.onnx":5:0))
  %moments = schedule.stage "moments" loc("norm"("net.onnx":4:0))
  schedule.compute_at %moments, %y, %i loc("norm"("net.onnx":4:0))
  %j.outer, %j.inner = schedule.split %j factor 16 loc("scale"("net.onnx":5:0))
  schedule.vectorize %j.inner loc("scale"("net.onnx":5:0))
} loc(fused["norm"("net.onnx":4:0), "scale"("net.onnx":5:0)])
