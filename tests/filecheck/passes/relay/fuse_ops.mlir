// RUN: xdsl-opt %s -p relay-fuse-ops --print-debuginfo | filecheck %s

relay.func @main(%x: tensor<1x4xf32> loc("x"), %w: tensor<2x4xf32> loc("w")) -> (tensor<1x2xf32>) {
  %0 = relay.nn.dense %x, %w : (tensor<1x4xf32>, tensor<2x4xf32>) -> tensor<1x2xf32> loc("dense")
  %1 = relay.nn.relu %0 : (tensor<1x2xf32>) -> tensor<1x2xf32> loc("relu")
  relay.return %1 : tensor<1x2xf32> loc("return")
} loc("main")

// The call and the kernel stand for both layers, the output's first.
// CHECK-LABEL: relay.func @main
// CHECK-NEXT: %[[R:.*]] = relay.call @fused_nn_dense_nn_relu(%x, %w) : {{.*}} loc(fused["relu", "dense"])
// CHECK-NEXT: relay.return %[[R]]

// CHECK-LABEL: relay.func primitive @fused_nn_dense_nn_relu
// CHECK-SAME: %p0: tensor<1x4xf32> loc("x"), %p1: tensor<2x4xf32> loc("w")
// CHECK-NEXT: %[[D:.*]] = relay.nn.dense %p0, %p1 : {{.*}} loc("dense")
// CHECK-NEXT: %[[OUT:.*]] = relay.nn.relu %[[D]] : {{.*}} loc("relu")
// CHECK-NEXT: relay.return %[[OUT]] : tensor<1x2xf32> loc("relu")
// CHECK-NEXT: } loc(fused["relu", "dense"])

// A scalar goes into the kernel, a vector is a parameter; a second kernel of a name is numbered.
relay.func @constants(%x: tensor<2x2xf32> loc("x")) -> (tensor<2x2xf32>) {
  %one = relay.constant dense<1.0> : tensor<f32> loc("one")
  %v = relay.constant dense<[1.0, 2.0]> : tensor<2xf32> loc("v")
  %0 = relay.add %x, %one : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32> loc("a")
  %1 = relay.nn.lrn %0 : (tensor<2x2xf32>) -> tensor<2x2xf32> loc("lrn")
  %2 = relay.add %1, %v : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32> loc("b")
  relay.return %2 : tensor<2x2xf32> loc("return")
} loc("constants")

// CHECK-LABEL: relay.func @constants
// CHECK-NEXT: %[[V:.*]] = relay.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32> loc("v")
// CHECK-NEXT: %[[A:.*]] = relay.call @fused_add(%x) : {{.*}} loc("a")
// CHECK-NEXT: %[[L:.*]] = relay.call @fused_nn_lrn(%[[A]]) : {{.*}} loc("lrn")
// CHECK-NEXT: %[[B:.*]] = relay.call @fused_add_1(%[[L]], %[[V]]) : {{.*}} loc("b")

// CHECK-LABEL: relay.func primitive @fused_add(
// CHECK-NEXT: relay.constant dense<1.000000e+00> : tensor<f32> loc("one")
// CHECK-LABEL: relay.func primitive @fused_nn_lrn(
// CHECK-LABEL: relay.func primitive @fused_add_1(
// CHECK-SAME: %p0: tensor<2x2xf32> loc("lrn"), %p1: tensor<2xf32> loc("v")
