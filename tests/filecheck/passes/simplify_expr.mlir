// RUN: xdsl-opt %s -p relay-simplify-expr --print-debuginfo | filecheck %s

// The last of three reshapes does it all; the transposes undo each other.
relay.func @moves(%x: tensor<2x3x4xf32>) -> (tensor<4x6xf32>, tensor<2x3x4xf32>, tensor<3x2x4xf32>) {
  %0 = relay.reshape %x {newshape = [24]} : (tensor<2x3x4xf32>) -> tensor<24xf32> loc("r1")
  %1 = relay.expand_dims %0 : (tensor<24xf32>) -> tensor<1x24xf32> loc("r2")
  %2 = relay.reshape %1 {newshape = [4, -1]} : (tensor<1x24xf32>) -> tensor<4x6xf32> loc("r3")
  %3 = relay.transpose %x {axes = [2, 0, 1]} : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32> loc("t1")
  %4 = relay.transpose %3 {axes = [1, 2, 0]} : (tensor<4x2x3xf32>) -> tensor<2x3x4xf32> loc("t2")
  %5 = relay.transpose %x : (tensor<2x3x4xf32>) -> tensor<4x3x2xf32> loc("t3")
  %6 = relay.transpose %5 {axes = [1, 2, 0]} : (tensor<4x3x2xf32>) -> tensor<3x2x4xf32> loc("t4")
  relay.return %2, %4, %6 : tensor<4x6xf32>, tensor<2x3x4xf32>, tensor<3x2x4xf32> loc("return")
} loc("main")

// CHECK-LABEL: @moves
// CHECK-NEXT: %[[RESHAPED:.*]] = relay.reshape %x {newshape = [4, 6]} : {{.*}} loc(fused["r3", "r2", "r1"])
// CHECK-NEXT: %[[MOVED:.*]] = relay.transpose %x {axes = [1, 0, 2]} : {{.*}} loc(fused["t4", "t3"])
// CHECK-NEXT: relay.return %[[RESHAPED]], %x, %[[MOVED]]

// Ops that leave their input as it is.
relay.func @nothing(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>) {
  %zero = relay.constant dense<0.0> : tensor<3xf32> loc("zero")
  %one = relay.constant dense<1.0> : tensor<f32> loc("one")
  %0 = relay.add %zero, %x : (tensor<3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32> loc("add")
  %1 = relay.multiply %0, %one : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32> loc("mul")
  %2 = relay.divide %1, %one : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32> loc("div")
  %3 = relay.cast %2 {dtype = "float32"} : (tensor<2x3xf32>) -> tensor<2x3xf32> loc("cast")
  %4 = relay.strided_slice %3 {begin = [0], end = [100]} : (tensor<2x3xf32>) -> tensor<2x3xf32> loc("slice")
  %5 = relay.nn.relu %4 : (tensor<2x3xf32>) -> tensor<2x3xf32> loc("relu")
  relay.return %5 : tensor<2x3xf32> loc("return")
} loc("main")

// CHECK-LABEL: @nothing
// CHECK-NEXT: %[[RELU:.*]] = relay.nn.relu %x : {{.*}} loc("relu")
// CHECK-NEXT: relay.return %[[RELU]]

// These do something: a broadcast, a division of one, a reversal, a reshape that others read.
relay.func @something(%x: tensor<1x2xf32>) -> (tensor<3x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<2x1xf32>, tensor<2xf32>) {
  %zeros = relay.constant dense<0.0> : tensor<3x2xf32> loc("zeros")
  %one = relay.constant dense<1.0> : tensor<f32> loc("one")
  %0 = relay.add %x, %zeros : (tensor<1x2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32> loc("add")
  %1 = relay.divide %one, %x : (tensor<f32>, tensor<1x2xf32>) -> tensor<1x2xf32> loc("div")
  %2 = relay.strided_slice %x {begin = [1], end = [-3], strides = [-1], axes = [1]} : (tensor<1x2xf32>) -> tensor<1x2xf32> loc("reverse")
  %3 = relay.reshape %x {newshape = [2]} : (tensor<1x2xf32>) -> tensor<2xf32> loc("flat")
  %4 = relay.reshape %3 {newshape = [2, 1]} : (tensor<2xf32>) -> tensor<2x1xf32> loc("column")
  relay.return %0, %1, %2, %4, %3 : tensor<3x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<2x1xf32>, tensor<2xf32> loc("return")
} loc("main")

// CHECK-LABEL: @something
// CHECK: relay.add {{.*}} loc("add")
// CHECK: relay.divide {{.*}} loc("div")
// CHECK: relay.strided_slice {{.*}} loc("reverse")
// CHECK: relay.reshape %x {{.*}} loc("flat")
// CHECK: relay.reshape %x {{.*}} loc("column")
