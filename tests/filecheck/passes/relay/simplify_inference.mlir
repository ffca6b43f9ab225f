// RUN: whence-opt %s -p relay-simplify-inference --print-debuginfo --audit | filecheck %s

// A batch norm gives a tuple; who asks for its data gets all of the arithmetic, and stands before the batch norm.
// CHECK-LABEL: relay.func @main
relay.func @main(%x: tensor<1x2xf32> loc("x"), %v: tensor<2xf32> loc("v")) -> (tensor<1x2xf32>) {
  %0, %1, %2 = relay.nn.batch_norm %x, %v, %v, %v, %v : (tensor<1x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<1x2xf32>, tensor<2xf32>, tensor<2xf32>) loc("batch_norm")
  %t = relay.tuple %0, %1, %2 : tuple<tensor<1x2xf32>, tensor<2xf32>, tensor<2xf32>> loc("batch_norm")
  %y = relay.tuple_get_item %t[0] : tuple<tensor<1x2xf32>, tensor<2xf32>, tensor<2xf32>> loc("get")
  relay.return %y : tensor<1x2xf32> loc("return")
} loc("main")
// CHECK-NEXT: relay.constant dense<1.000000e-05> : tensor<f32> loc(fused["get", "batch_norm"])
// CHECK-NEXT: relay.constant dense<1.000000e+00> : tensor<f32> loc(fused["get", "batch_norm"])
// CHECK-NEXT: relay.add {{.*}} loc(fused["get", "batch_norm"])
// CHECK-NEXT: relay.sqrt {{.*}} loc(fused["get", "batch_norm"])
// CHECK-NEXT: relay.divide {{.*}} loc(fused["get", "batch_norm"])
// CHECK-NEXT: relay.multiply {{.*}} loc(fused["get", "batch_norm"])
// CHECK-NEXT: relay.negative {{.*}} loc(fused["get", "batch_norm"])
// CHECK-NEXT: relay.multiply {{.*}} loc(fused["get", "batch_norm"])
// CHECK-NEXT: relay.add {{.*}} loc(fused["get", "batch_norm"])
// CHECK-NEXT: relay.multiply %x, {{.*}} loc(fused["get", "batch_norm"])
// CHECK-NEXT: relay.add {{.*}} loc(fused["get", "batch_norm"])
// CHECK-NEXT: relay.return
