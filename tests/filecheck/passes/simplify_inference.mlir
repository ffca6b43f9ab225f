// RUN: xdsl-opt %s -p relay-simplify-inference --print-debuginfo | filecheck %s

// The statistics and the arithmetic of a batch norm, in TVM's order, all located at the batch norm.
relay.func @batch_norm(%x: tensor<1x2x3x3xf32>, %g: tensor<2xf32>, %b: tensor<2xf32>, %m: tensor<2xf32>, %v: tensor<2xf32>) -> (tensor<1x2x3x3xf32>) {
  %0, %1, %2 = relay.nn.batch_norm %x, %g, %b, %m, %v {epsilon = 0.25} : (tensor<1x2x3x3xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<1x2x3x3xf32>, tensor<2xf32>, tensor<2xf32>) loc("bn"("m.onnx":3:0))
  relay.return %0 : tensor<1x2x3x3xf32> loc("return")
} loc("main")

// CHECK-LABEL: @batch_norm
// CHECK:      %epsilon = relay.constant dense<2.500000e-01> : tensor<f32> loc("bn"("m.onnx":3:0))
// CHECK-NEXT: %one = relay.constant dense<1.000000e+00> : tensor<f32> loc("bn"("m.onnx":3:0))
// CHECK-NEXT: %[[SUM:.*]] = relay.add %v, %epsilon : {{.*}} loc("bn"("m.onnx":3:0))
// CHECK-NEXT: %[[ROOT:.*]] = relay.sqrt %[[SUM]] : {{.*}} loc("bn"("m.onnx":3:0))
// CHECK-NEXT: %[[INVERSE:.*]] = relay.divide %one, %[[ROOT]] : {{.*}} loc("bn"("m.onnx":3:0))
// CHECK-NEXT: %[[SCALE:.*]] = relay.multiply %[[INVERSE]], %g : {{.*}} loc("bn"("m.onnx":3:0))
// CHECK-NEXT: %[[NEGATIVE:.*]] = relay.negative %m : {{.*}} loc("bn"("m.onnx":3:0))
// CHECK-NEXT: %[[PRODUCT:.*]] = relay.multiply %[[NEGATIVE]], %[[SCALE]] : {{.*}} loc("bn"("m.onnx":3:0))
// CHECK-NEXT: %[[SHIFT:.*]] = relay.add %[[PRODUCT]], %b : {{.*}} loc("bn"("m.onnx":3:0))
// CHECK-NEXT: %[[SCALE3:.*]] = relay.expand_dims %[[SCALE]] {axis = 1, num_newaxis = 2} : (tensor<2xf32>) -> tensor<2x1x1xf32> loc("bn"("m.onnx":3:0))
// CHECK-NEXT: %[[SHIFT3:.*]] = relay.expand_dims %[[SHIFT]] {axis = 1, num_newaxis = 2} : (tensor<2xf32>) -> tensor<2x1x1xf32> loc("bn"("m.onnx":3:0))
// CHECK-NEXT: %[[SCALED:.*]] = relay.multiply %x, %[[SCALE3]] : {{.*}} loc("bn"("m.onnx":3:0))
// CHECK-NEXT: %[[RESULT:.*]] = relay.add %[[SCALED]], %[[SHIFT3]] : {{.*}} loc("bn"("m.onnx":3:0))
// CHECK-NEXT: relay.return %[[RESULT]]

// On the last axis nothing needs expanding; gamma and beta go unread; the statistics pass through.
relay.func @plain(%x: tensor<1x2xf32>, %m: tensor<2xf32>, %v: tensor<2xf32>) -> (tensor<1x2xf32>, tensor<2xf32>, tensor<2xf32>) {
  %g = relay.constant dense<1.0> : tensor<2xf32> loc("gamma")
  %0, %1, %2 = relay.nn.batch_norm %x, %g, %g, %m, %v {axis = -1, scale = false, center = false} : (tensor<1x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<1x2xf32>, tensor<2xf32>, tensor<2xf32>) loc("bn")
  relay.return %0, %1, %2 : tensor<1x2xf32>, tensor<2xf32>, tensor<2xf32> loc("return")
} loc("main")

// CHECK-LABEL: @plain
// CHECK-NOT:  relay.expand_dims
// CHECK-NOT:  dense<1.000000e+00> : tensor<2xf32>
// CHECK:      %[[SCALED:.*]] = relay.multiply %x, %{{.*}} loc(fused["bn", "gamma"])
// CHECK-NEXT: %[[RESULT:.*]] = relay.add %[[SCALED]], %{{.*}} loc(fused["bn", "gamma"])
// CHECK-NEXT: relay.return %[[RESULT]], %m, %v

relay.func @dropout(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0, %1 = relay.nn.dropout %x : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) loc("drop")
  %2 = relay.nn.relu %0 : (tensor<4xf32>) -> tensor<4xf32> loc("relu")
  %3, %mask = relay.nn.dropout %2 : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) loc("masked")
  relay.return %3, %mask : tensor<4xf32>, tensor<4xf32> loc("return")
} loc("main")

// CHECK-LABEL: @dropout
// CHECK-NEXT: %[[RELU:.*]] = relay.nn.relu %x : (tensor<4xf32>) -> tensor<4xf32> loc("relu")
// CHECK-NEXT: %[[MASK:.*]] = relay.ones_like %[[RELU]] : {{.*}} loc("masked")
// CHECK-NEXT: relay.return %[[RELU]], %[[MASK]]
