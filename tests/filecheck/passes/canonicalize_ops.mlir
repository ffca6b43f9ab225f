// RUN: xdsl-opt %s -p relay-canonicalize-ops --print-debuginfo | filecheck %s

relay.func @main(%x: tensor<1x4x8x8xf32>, %b: tensor<4xf32>) -> (tensor<1x4x8x8xf32>) {
  %0 = relay.nn.bias_add %x, %b : (tensor<1x4x8x8xf32>, tensor<4xf32>) -> tensor<1x4x8x8xf32> loc("conv"("m.onnx":0:0))
  relay.return %0 : tensor<1x4x8x8xf32> loc("return")
} loc("main")
relay.func @last(%x: tensor<3x4xf32>, %b: tensor<4xf32>) -> (tensor<3x4xf32>) {
  %0 = relay.nn.bias_add %x, %b {axis = -1} : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<3x4xf32> loc("dense")
  relay.return %0 : tensor<3x4xf32> loc("return")
} loc("last")

// CHECK-LABEL: @main
// CHECK-NEXT: %[[B:.*]] = relay.expand_dims %b {axis = 1, num_newaxis = 2} : (tensor<4xf32>) -> tensor<4x1x1xf32> loc("conv"("m.onnx":0:0))
// CHECK-NEXT: relay.add %x, %[[B]] : (tensor<1x4x8x8xf32>, tensor<4x1x1xf32>) -> tensor<1x4x8x8xf32> loc("conv"("m.onnx":0:0))
// CHECK-LABEL: @last
// CHECK-NEXT: relay.add %x, %b : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<3x4xf32> loc("dense")
