// RUN: xdsl-opt %s -p relay-dead-code-elimination --print-debuginfo | filecheck %s

relay.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>) {
  %unread = relay.constant dense<1.0> : tensor<f32> loc("constant")
  %0 = relay.add %x, %unread : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32> loc("add")
  %1 = relay.exp %0 : (tensor<4xf32>) -> tensor<4xf32> loc("exp")
  %2 = relay.call @main(%1) : (tensor<4xf32>) -> tensor<4xf32> loc("call")
  %3 = relay.nn.relu %x : (tensor<4xf32>) -> tensor<4xf32> loc("relu")
  relay.return %3 : tensor<4xf32> loc("return")
} loc("main")

// CHECK-LABEL: @main
// CHECK-NEXT: %[[RELU:.*]] = relay.nn.relu %x : {{.*}} loc("relu")
// CHECK-NEXT: relay.return %[[RELU]]
