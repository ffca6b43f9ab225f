// RUN: whence-opt %s -p schedule-apply --audit --print-debuginfo | filecheck %s

// The padding is inlined: a guarded load inside of the sum. Images and filters are one parallel loop, a row of sums is
// local.

// CHECK:      tir.for parallel %n.f.fused in 8 {
// CHECK-NEXT:   tir.for %y in 14 {
// CHECK-NEXT:     %conv = tir.alloc : !tir.buffer<1x1x1x14xf32, local> loc("conv1"("net.onnx":0:0))
// CHECK-NEXT:     tir.for %x_ in 14 {
// CHECK:            tir.store %{{.*}}, %conv[0, 0, 0, %x_] : f32, !tir.buffer<1x1x1x14xf32, local> loc("conv1"("net.onnx":0:0))
// CHECK-NEXT:       tir.for %c in 3 {
// CHECK-NEXT:         tir.for %dy in 3 {
// CHECK-NEXT:           tir.for %dx in 3 {
// CHECK:                  %{{.*}} = tir.load %x[0, %c, %y + %dy - 1, %x_ + %dx - 1] if [%y + %dy - 1, %y * -1 + %dy * -1 + 14, %x_ + %dx - 1, %x_ * -1 + %dx * -1 + 14] >= 0 else 0.000000e+00 : f32 : !tir.buffer<1x3x14x14xf32> -> f32 loc("conv1"("net.onnx":0:0))
// CHECK:                  tir.store %{{.*}}, %conv[0, 0, 0, %x_] : f32, !tir.buffer<1x1x1x14xf32, local> loc("conv1"("net.onnx":0:0))
// CHECK:          tir.for %x__1 in 14 {
// CHECK:            tir.store %{{.*}}, %out[0, %n.f.fused, %y, %x__1] : f32, !tir.buffer<1x8x14x14xf32> loc("relu1"("net.onnx":1:0))

te.func @conv2d(%x: tensor<1x3x14x14xf32> loc("conv1"("net.onnx":0:0)), %w: tensor<8x3x3x3xf32> loc("conv1"("net.onnx":0:0))) -> (tensor<1x8x14x14xf32>) {
  %pad = te.compute "pad" (%n in 1, %c in 3, %y in 16, %x_ in 16) : tensor<1x3x16x16xf32> {
    %0 = te.index [%y] loc("conv1"("net.onnx":0:0))
    %1 = arith.constant 1 : index loc("conv1"("net.onnx":0:0))
    %2 = arith.cmpi sge, %0, %1 : index loc("conv1"("net.onnx":0:0))
    %3 = arith.constant 15 : index loc("conv1"("net.onnx":0:0))
    %4 = arith.cmpi slt, %0, %3 : index loc("conv1"("net.onnx":0:0))
    %5 = arith.andi %2, %4 : i1 loc("conv1"("net.onnx":0:0))
    %6 = te.index [%x_] loc("conv1"("net.onnx":0:0))
    %7 = arith.constant 1 : index loc("conv1"("net.onnx":0:0))
    %8 = arith.cmpi sge, %6, %7 : index loc("conv1"("net.onnx":0:0))
    %9 = arith.andi %5, %8 : i1 loc("conv1"("net.onnx":0:0))
    %10 = arith.constant 15 : index loc("conv1"("net.onnx":0:0))
    %11 = arith.cmpi slt, %6, %10 : index loc("conv1"("net.onnx":0:0))
    %12 = arith.andi %9, %11 : i1 loc("conv1"("net.onnx":0:0))
    %13 = te.read %x[%n, %c, %y - 1, %x_ - 1] else 0.0 : f32 : tensor<1x3x14x14xf32> loc("conv1"("net.onnx":0:0))
    %14 = arith.constant 0.0 : f32 loc("conv1"("net.onnx":0:0))
    %15 = arith.select %12, %13, %14 : f32 loc("conv1"("net.onnx":0:0))
    te.yield %15 : f32 loc("conv1"("net.onnx":0:0))
  } loc("conv1"("net.onnx":0:0))
  %conv = te.compute "conv" (%n in 1, %f in 8, %y in 14, %x_ in 14) sum(%c in 3, %dy in 3, %dx in 3) : tensor<1x8x14x14xf32> {
    %0 = te.read %pad[%n, %c, %y + %dy, %x_ + %dx] : tensor<1x3x16x16xf32> loc("conv1"("net.onnx":0:0))
    %1 = te.read %w[%f, %c, %dy, %dx] : tensor<8x3x3x3xf32> loc("conv1"("net.onnx":0:0))
    %2 = arith.mulf %0, %1 : f32 loc("conv1"("net.onnx":0:0))
    te.yield %2 : f32 loc("conv1"("net.onnx":0:0))
  } loc("conv1"("net.onnx":0:0))
  %relu = te.compute "relu" (%n in 1, %f in 8, %y in 14, %x_ in 14) : tensor<1x8x14x14xf32> {
    %0 = te.read %conv[%n, %f, %y, %x_] : tensor<1x8x14x14xf32> loc("relu1"("net.onnx":1:0))
    %1 = arith.constant 0.0 : f32 loc("relu1"("net.onnx":1:0))
    %2 = arith.maximumf %0, %1 : f32 loc("relu1"("net.onnx":1:0))
    te.yield %2 : f32 loc("relu1"("net.onnx":1:0))
  } loc("relu1"("net.onnx":1:0))
  te.return %relu : tensor<1x8x14x14xf32> loc(fused["conv1"("net.onnx":0:0), "relu1"("net.onnx":1:0)])
} loc(fused["conv1"("net.onnx":0:0), "relu1"("net.onnx":1:0)])
schedule.sequence @conv2d {
  %pad = schedule.stage "pad" loc("conv1"("net.onnx":0:0))
  schedule.compute_inline %pad loc("conv1"("net.onnx":0:0))
  %relu = schedule.stage "relu" loc("relu1"("net.onnx":1:0))
  %n, %f, %y, %x_ = schedule.axes %relu : 4 loc("relu1"("net.onnx":1:0))
  %n.f.fused = schedule.fuse %n, %f loc("relu1"("net.onnx":1:0))
  schedule.fused %n.f.fused loc("relu1"("net.onnx":1:0))
  schedule.parallel %n.f.fused loc("relu1"("net.onnx":1:0))
  %conv = schedule.stage "conv" loc("conv1"("net.onnx":0:0))
  schedule.compute_at %conv, %relu, %y loc("conv1"("net.onnx":0:0))
} loc(fused["conv1"("net.onnx":0:0), "relu1"("net.onnx":1:0)])
