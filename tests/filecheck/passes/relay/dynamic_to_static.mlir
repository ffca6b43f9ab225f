// RUN: xdsl-opt %s -p relay-dynamic-to-static --print-debuginfo | filecheck %s

// The shape is computed of constants and of extents that are known; what reads the result is typed anew.
relay.func @main(%x: tensor<2x3xf32> loc("x"), %n: tensor<i64> loc("n")) -> (tensor<?x?xf32>) {
  %0 = relay.shape_of %x {dtype = "int64"} : (tensor<2x3xf32>) -> tensor<2xi64> loc("extents")
  %1 = relay.constant dense<[1, -3]> : tensor<2xi64> loc("less")
  %2 = relay.subtract %0, %1 : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64> loc("shape")
  %3 = relay.dyn.reshape %x, %2 : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<?x?xf32> loc("flat")
  %4 = relay.exp %3 : (tensor<?x?xf32>) -> tensor<?x?xf32> loc("exp")
  %5 = relay.dyn.expand_dims %4, %n : (tensor<?x?xf32>, tensor<i64>) -> tensor<?x?x?xf32> loc("axes")
  relay.return %4 : tensor<?x?xf32> loc("return")
} loc("main")

// CHECK-LABEL: @main(
// CHECK-SAME: -> (tensor<1x6xf32>)
// CHECK-NEXT: %0 = relay.reshape %x {newshape = [1, 6]} : (tensor<2x3xf32>) -> tensor<1x6xf32> loc("flat")
// CHECK-NEXT: %1 = relay.exp %0 : (tensor<1x6xf32>) -> tensor<1x6xf32> loc("exp")
// A value of a run decides here.
// CHECK-NEXT: relay.dyn.expand_dims %1, %n : {{.*}} loc("axes")
