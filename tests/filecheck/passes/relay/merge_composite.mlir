// RUN: whence-opt -p "relay-merge-composite{compiler=onnxruntime}" --audit --print-debuginfo %s | filecheck %s

// A product with its bias and activation is one function; sin is not in the table.

relay.func @main(%x: tensor<1x4xf32> loc("x")) -> (tensor<1x2xf32>) {
  %w = relay.constant dense<1.0> : tensor<2x4xf32> loc("w")
  %b = relay.constant dense<2.0> : tensor<2xf32> loc("b")
  %0 = relay.nn.dense %x, %w : (tensor<1x4xf32>, tensor<2x4xf32>) -> tensor<1x2xf32> loc("fc")
  %1 = relay.nn.bias_add %0, %b : (tensor<1x2xf32>, tensor<2xf32>) -> tensor<1x2xf32> loc("bias")
  %2 = relay.nn.relu %1 : (tensor<1x2xf32>) -> tensor<1x2xf32> loc("act")
  %3 = relay.sin %2 : (tensor<1x2xf32>) -> tensor<1x2xf32> loc("wave")
  relay.return %3 : tensor<1x2xf32> loc("end")
} loc("main")

// CHECK: relay.func @main
// CHECK-NEXT: %0 = relay.call @onnxruntime_dense(%x) : (tensor<1x4xf32>) -> tensor<1x2xf32> loc(fused["act", "bias", "fc"])
// CHECK-NEXT: relay.sin %0
// CHECK: relay.func @onnxruntime_dense(%x: tensor<1x4xf32> loc("x")) -> (tensor<1x2xf32>)
// CHECK-SAME: PartitionedFromPattern = "nn.dense_nn.bias_add_nn.relu_", Composite = "onnxruntime.dense"
// CHECK: relay.nn.dense {{.*}} loc("fc")
// CHECK: relay.nn.bias_add {{.*}} loc("bias")
// CHECK-NEXT: relay.nn.relu {{.*}} loc("act")
// CHECK: } loc(fused["act", "bias", "fc"])
