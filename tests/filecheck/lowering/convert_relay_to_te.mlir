// RUN: whence-opt %s -p 'convert-relay-to-te{target="llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=haswell"}' --audit --print-debuginfo | filecheck %s

// main stays and calls the te.func under the same name; stages, ops in them and primitives have their operators' layers.

// CHECK:      relay.func @main
// CHECK-NEXT:   relay.call @scaled(
relay.func @main(%x: tensor<64xf32> loc("x")) -> (tensor<64xf32>) {
  %0 = relay.call @scaled(%x) : (tensor<64xf32>) -> tensor<64xf32> loc(fused["act"("m.onnx":1:0), "scale"("m.onnx":0:0)])
  relay.return %0 : tensor<64xf32> loc("act"("m.onnx":1:0))
} loc("main")

// CHECK:      te.func @scaled(%p0: tensor<64xf32> loc("x")) -> (tensor<64xf32>) {
// CHECK-NEXT:   %multiply = te.compute "multiply" (%ax0 in 64) : tensor<64xf32> {
// CHECK-NEXT:     %0 = te.read %p0[%ax0] : tensor<64xf32> loc("scale"("m.onnx":0:0))
// CHECK:          arith.mulf {{.*}} loc("scale"("m.onnx":0:0))
// CHECK:        } loc("scale"("m.onnx":0:0))
// CHECK-NEXT:   %relu = te.compute "relu" (%ax0_1 in 64) : tensor<64xf32> {
// CHECK-NEXT:     te.read %multiply[%ax0_1] : tensor<64xf32> loc("act"("m.onnx":1:0))
// CHECK:        } loc("act"("m.onnx":1:0))
// CHECK-NEXT:   te.return %relu : tensor<64xf32> loc("act"("m.onnx":1:0))
// CHECK-NEXT: } loc(fused["act"("m.onnx":1:0), "scale"("m.onnx":0:0)])
// CHECK-NEXT: schedule.sequence @scaled attributes {strategies = {relu = "injective"}} {
// CHECK-NEXT:   %multiply = schedule.stage "multiply" loc("scale"("m.onnx":0:0))
// CHECK-NEXT:   schedule.compute_inline %multiply loc("scale"("m.onnx":0:0))
// CHECK-NEXT:   %relu = schedule.stage "relu" loc("act"("m.onnx":1:0))
// CHECK-NEXT:   %ax0 = schedule.axes %relu : 1 loc("act"("m.onnx":1:0))
// CHECK-NEXT:   schedule.fused %ax0 loc("act"("m.onnx":1:0))
// CHECK-NEXT:   %ax0.outer, %ax0.inner = schedule.split %ax0 factor 8 loc("act"("m.onnx":1:0))
// CHECK-NEXT:   schedule.vectorize %ax0.inner loc("act"("m.onnx":1:0))
relay.func primitive @scaled(%p0: tensor<64xf32> loc("x")) -> (tensor<64xf32>) {
  %0 = relay.constant dense<2.0> : tensor<f32> loc("scale"("m.onnx":0:0))
  %1 = relay.multiply %p0, %0 : (tensor<64xf32>, tensor<f32>) -> tensor<64xf32> loc("scale"("m.onnx":0:0))
  %2 = relay.nn.relu %1 : (tensor<64xf32>) -> tensor<64xf32> loc("act"("m.onnx":1:0))
  relay.return %2 : tensor<64xf32> loc("act"("m.onnx":1:0))
} loc(fused["act"("m.onnx":1:0), "scale"("m.onnx":0:0)])
