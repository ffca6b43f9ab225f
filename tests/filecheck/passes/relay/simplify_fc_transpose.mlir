// RUN: xdsl-opt %s -p relay-simplify-fc-transpose --print-debuginfo | filecheck %s

// The weight of a dense layer, but no transpose of anything else.
relay.func @layers(%x: tensor<1x2xf32> loc("x")) -> (tensor<1x2xf32>, tensor<2x1xf32>) {
  %w = relay.constant dense<1.0> : tensor<2x2xf32> loc("w")
  %0 = relay.transpose %w {axes = [1, 0]} : (tensor<2x2xf32>) -> tensor<2x2xf32> loc("turn")
  %1 = relay.nn.dense %x, %0 : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32> loc("fc")
  %2 = relay.transpose %1 : (tensor<1x2xf32>) -> tensor<2x1xf32> loc("result")
  relay.return %1, %2 : tensor<1x2xf32>, tensor<2x1xf32> loc("return")
} loc("main")

// CHECK-LABEL: @layers(
// CHECK-NEXT: %w = relay.constant dense<1.000000e+00> : tensor<2x2xf32> loc(fused["turn", "w"])
// CHECK-NEXT: %0 = relay.nn.dense %x, %w : {{.*}} loc("fc")
// CHECK-NEXT: %1 = relay.transpose %0 : {{.*}} loc("result")
// CHECK-NEXT: relay.return %0, %1 : tensor<1x2xf32>, tensor<2x1xf32> loc("return")
