// RUN: xdsl-opt %s -p relay-eliminate-common-subexpr,relay-dead-code-elimination --print-debuginfo | filecheck %s

// Equal constants stay apart, but what is computed from them is computed once.
relay.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %a = relay.constant dense<1.0> : tensor<f32> loc("one")
  %b = relay.constant dense<1.0> : tensor<f32> loc("another one")
  %0 = relay.add %x, %a : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32> loc("first")
  %1 = relay.add %x, %b : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32> loc("second")
  %2 = relay.nn.relu %0 : (tensor<4xf32>) -> tensor<4xf32> loc("third")
  %3 = relay.nn.relu %1 : (tensor<4xf32>) -> tensor<4xf32> loc("fourth")
  %4 = relay.subtract %x, %b : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32> loc("fifth")
  relay.return %2, %3, %4 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32> loc("return")
} loc("main")

// CHECK-LABEL: @main
// CHECK-NEXT: %a = relay.constant {{.*}} loc("one")
// CHECK-NEXT: %b = relay.constant {{.*}} loc("another one")
// CHECK-NEXT: %[[ADD:.*]] = relay.add %x, %a : {{.*}} loc(fused["first", "second"])
// CHECK-NEXT: %[[RELU:.*]] = relay.nn.relu %[[ADD]] : {{.*}} loc(fused["third", "fourth"])
// CHECK-NEXT: %[[SUB:.*]] = relay.subtract %x, %b : {{.*}} loc("fifth")
// CHECK-NEXT: relay.return %[[RELU]], %[[RELU]], %[[SUB]]

// Other attributes, other value.
relay.func @different(%x: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %0 = relay.nn.softmax %x {axis = 0} : (tensor<4x4xf32>) -> tensor<4x4xf32> loc("rows")
  %1 = relay.nn.softmax %x {axis = 1} : (tensor<4x4xf32>) -> tensor<4x4xf32> loc("columns")
  relay.return %0, %1 : tensor<4x4xf32>, tensor<4x4xf32> loc("return")
} loc("main")

// CHECK-LABEL: @different
// CHECK: relay.nn.softmax
// CHECK: relay.nn.softmax
