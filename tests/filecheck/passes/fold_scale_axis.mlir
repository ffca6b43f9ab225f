// RUN: xdsl-opt %s -p relay-fold-scale-axis --print-debuginfo | filecheck %s

// Through the bias and the relu, for the factor is positive.
relay.func @after(%x: tensor<1x2xf32>) -> (tensor<1x2xf32>) {
  %w = relay.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32> loc("w")
  %b = relay.constant dense<[1.0, 1.0]> : tensor<2xf32> loc("b")
  %0 = relay.nn.dense %x, %w : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32> loc("dense")
  %1 = relay.nn.bias_add %0, %b : (tensor<1x2xf32>, tensor<2xf32>) -> tensor<1x2xf32> loc("bias")
  %2 = relay.nn.relu %1 : (tensor<1x2xf32>) -> tensor<1x2xf32> loc("relu")
  %s = relay.constant dense<[2.0, 3.0]> : tensor<2xf32> loc("s")
  %3 = relay.multiply %2, %s : (tensor<1x2xf32>, tensor<2xf32>) -> tensor<1x2xf32> loc("scale")
  relay.return %3 : tensor<1x2xf32> loc("return")
} loc("main")

// CHECK-LABEL: @after
// CHECK-NOT:  relay.multiply
// CHECK:      %[[W:.*]] = relay.constant dense<{{\[}}[2.000000e+00, 4.000000e+00], [9.000000e+00, 1.200000e+01]]> : tensor<2x2xf32> loc(fused["scale", "w", "s"])
// CHECK-NEXT: %[[DENSE:.*]] = relay.nn.dense %x, %[[W]] : {{.*}} loc("dense")
// CHECK-NEXT: %[[B:.*]] = relay.constant dense<[2.000000e+00, 3.000000e+00]> : tensor<2xf32> loc(fused["scale", "b", "s"])
// CHECK-NEXT: %[[BIASED:.*]] = relay.nn.bias_add %[[DENSE]], %[[B]] : {{.*}} loc("bias")
// CHECK-NEXT: %[[RELU:.*]] = relay.nn.relu %[[BIASED]] : {{.*}} loc("relu")
// CHECK-NEXT: relay.return %[[RELU]]

relay.func @before(%x: tensor<1x2xf32>) -> (tensor<1x1xf32>) {
  %s = relay.constant dense<[2.0, -3.0]> : tensor<2xf32> loc("s")
  %w = relay.constant dense<[[1.0, 2.0]]> : tensor<1x2xf32> loc("w")
  %0 = relay.multiply %s, %x : (tensor<2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32> loc("scale")
  %1 = relay.nn.dense %0, %w : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x1xf32> loc("dense")
  relay.return %1 : tensor<1x1xf32> loc("return")
} loc("main")

// CHECK-LABEL: @before
// CHECK-NEXT: %[[W:.*]] = relay.constant dense<{{\[}}[2.000000e+00, -6.000000e+00]]> {{.*}} loc(fused["scale", "w", "s"])
// CHECK-NEXT: relay.nn.dense %x, %[[W]] : {{.*}} loc("dense")

// A negative factor does not pass a relu, a second reader keeps the product as it was.
relay.func @kept(%x: tensor<1x2xf32>) -> (tensor<1x1xf32>, tensor<1x1xf32>, tensor<1x1xf32>) {
  %w = relay.constant dense<[[1.0, 2.0]]> : tensor<1x2xf32> loc("w")
  %s = relay.constant dense<-1.0> : tensor<f32> loc("s")
  %0 = relay.nn.dense %x, %w : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x1xf32> loc("dense")
  %1 = relay.nn.relu %0 : (tensor<1x1xf32>) -> tensor<1x1xf32> loc("relu")
  %2 = relay.multiply %1, %s : (tensor<1x1xf32>, tensor<f32>) -> tensor<1x1xf32> loc("scale")
  %3 = relay.nn.dense %x, %w : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x1xf32> loc("shared")
  %4 = relay.multiply %3, %s : (tensor<1x1xf32>, tensor<f32>) -> tensor<1x1xf32> loc("scale2")
  relay.return %2, %3, %4 : tensor<1x1xf32>, tensor<1x1xf32>, tensor<1x1xf32> loc("return")
} loc("main")

// CHECK-LABEL: @kept
// CHECK: relay.multiply {{.*}} loc("scale")
// CHECK: relay.multiply {{.*}} loc("scale2")
