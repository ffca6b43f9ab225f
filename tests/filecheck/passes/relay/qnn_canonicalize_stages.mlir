// RUN: xdsl-opt %s -p relay-qnn-canonicalize --print-debuginfo | filecheck %s

// One scale per channel, and zero points that are all 0, as they broadcast to the data.
// CHECK-LABEL: @per_channel
// CHECK-DAG:  %[[Z:.*]] = relay.constant dense<0> : tensor<i32> loc("quantize")
// CHECK-DAG:  %[[S:.*]] = relay.expand_dims %s {axis = 1} : (tensor<3xf32>) -> tensor<3x1xf32> loc("quantize")
// CHECK:      relay.qnn.quantize %x, %[[S]], %[[Z]] : (tensor<2x3x4xf32>, tensor<3x1xf32>, tensor<i32>) -> tensor<2x3x4xi8> loc("quantize")
relay.func @per_channel(%x: tensor<2x3x4xf32>, %s: tensor<3xf32>) -> (tensor<2x3x4xi8>) {
  %none = relay.constant dense<0> : tensor<3xi32>
  %0 = relay.qnn.quantize %x, %s, %none {axis = 1} : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xi32>) -> tensor<2x3x4xi8> loc("quantize")
  relay.return %0 : tensor<2x3x4xi8> loc("return")
} loc("per_channel")

// CHECK-LABEL: @sum
// CHECK:      %[[O:.*]] = relay.constant dense<1.000000e+00> : tensor<f32> loc("sum")
// CHECK:      relay.qnn.quantize %{{.*}}, %[[O]], %{{.*}} -> tensor<4xi8> loc("sum")
relay.func @sum(%x: tensor<4xi8>, %y: tensor<4xi8>, %s: tensor<f32>, %z: tensor<i32>) -> (tensor<4xi8>) {
  %0 = relay.qnn.add %x, %y, %s, %z, %s, %z, %s, %z : (tensor<4xi8>, tensor<4xi8>, tensor<f32>, tensor<i32>, tensor<f32>, tensor<i32>, tensor<f32>, tensor<i32>) -> tensor<4xi8> loc("sum")
  relay.return %0 : tensor<4xi8> loc("return")
} loc("sum")
