// RUN: xdsl-opt %s -p relay-capture-postdfsindex-in-spans,relay-annotate-spans --print-debuginfo | filecheck %s

// The post-DFS index and the next operator that everything goes through; line and column of the text.
relay.func @diamond(%x: tensor<4xf32> loc("x")) -> (tensor<4xf32>) {
  %0 = relay.exp %x : (tensor<4xf32>) -> tensor<4xf32> loc("a")
  %1 = relay.tanh %0 : (tensor<4xf32>) -> tensor<4xf32> loc("b")
  %2 = relay.negative %0 : (tensor<4xf32>) -> tensor<4xf32> loc("c")
  %3 = relay.add %1, %2 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("d")
  relay.return %3 : tensor<4xf32> loc("return")
} loc("main")

// CHECK-LABEL: @diamond(
// CHECK-NEXT: %0 = relay.exp %x : {{.*}} loc(fused["a", "index":0:3, "GeneratedSource":3:5])
// CHECK-NEXT: %1 = relay.tanh %0 : {{.*}} loc(fused["b", "index":1:3, "GeneratedSource":4:5])
// CHECK-NEXT: %2 = relay.negative %0 : {{.*}} loc(fused["c", "index":2:3, "GeneratedSource":5:5])
// CHECK-NEXT: %3 = relay.add %1, %2 : {{.*}} loc(fused["d", "index":3:0, "GeneratedSource":6:5])
// CHECK-NEXT: relay.return %3 : tensor<4xf32> loc(fused["return", "GeneratedSource":7:5])
