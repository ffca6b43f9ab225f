// RUN: xdsl-opt %s -p relay-fold-constant --print-debuginfo | filecheck %s

// One constant stands for the whole computation: the op first, then what it was made of.
relay.func @chain(%x: tensor<2xf32>) -> (tensor<2xf32>) {
  %a = relay.constant dense<[1.0, 4.0]> : tensor<2xf32> loc("a")
  %0 = relay.sqrt %a : (tensor<2xf32>) -> tensor<2xf32> loc("sqrt")
  %b = relay.constant dense<0.5> : tensor<f32> loc("b")
  %1 = relay.subtract %0, %b : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32> loc("sub")
  %2 = relay.multiply %x, %1 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32> loc("mul")
  relay.return %2 : tensor<2xf32> loc("return")
} loc("main")

// CHECK-LABEL: @chain
// CHECK-NEXT: %[[C:.*]] = relay.constant dense<[5.000000e-01, 1.500000e+00]> : tensor<2xf32> loc(fused["sub", "sqrt", "a", "b"])
// CHECK-NEXT: relay.multiply %x, %[[C]] : {{.*}} loc("mul")

// A constant that something else reads stays; an op that nobody reads is none of this pass's business.
relay.func @shared(%x: tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>) {
  %a = relay.constant dense<[7, -7]> : tensor<2xi32> loc("a")
  %two = relay.constant dense<2> : tensor<i32> loc("two")
  %0 = relay.divide %a, %two : (tensor<2xi32>, tensor<i32>) -> tensor<2xi32> loc("div")
  %1 = relay.add %x, %a : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi32> loc("add")
  %unread = relay.negative %a : (tensor<2xi32>) -> tensor<2xi32> loc("unread")
  relay.return %0, %1 : tensor<2xi32>, tensor<2xi32> loc("return")
} loc("main")

// CHECK-LABEL: @shared
// CHECK-NEXT: %a = relay.constant dense<[7, -7]> : tensor<2xi32> loc("a")
// CHECK-NEXT: %[[C:.*]] = relay.constant dense<[3, -3]> : tensor<2xi32> loc(fused["div", "a", "two"])
// CHECK-NEXT: relay.add %x, %a
// CHECK-NEXT: relay.negative %a
// CHECK-NEXT: relay.return %[[C]]

// All results of an op fold; those that nobody reads leave nothing behind. Dropout never folds.
relay.func @several() -> (tensor<2xf32>, tensor<2xf32>) {
  %a = relay.constant dense<1.0> : tensor<1x2xf32> loc("a")
  %s = relay.constant dense<[3.0, 5.0]> : tensor<2xf32> loc("s")
  %0, %1, %2 = relay.nn.batch_norm %a, %s, %s, %s, %s : (tensor<1x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<1x2xf32>, tensor<2xf32>, tensor<2xf32>) loc("bn")
  %3, %4 = relay.nn.dropout %1 : (tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) loc("drop")
  relay.return %3, %2 : tensor<2xf32>, tensor<2xf32> loc("return")
} loc("main")

// CHECK-LABEL: @several
// CHECK-NEXT: %[[MEAN:.*]] = relay.constant dense<[3.000000e+00, 5.000000e+00]> : tensor<2xf32> loc(fused["bn", "a", "s"])
// CHECK-NEXT: %[[VARIANCE:.*]] = relay.constant dense<[3.000000e+00, 5.000000e+00]> : tensor<2xf32> loc(fused["bn", "a", "s"])
// CHECK-NEXT: %[[DROPPED:.*]], %{{.*}} = relay.nn.dropout %[[MEAN]]
// CHECK-NEXT: relay.return %[[DROPPED]], %[[VARIANCE]]

// Nothing folds inside a primitive function, and nothing whose values are not at hand.
relay.func primitive @fused() -> (tensor<f32>) {
  %a = relay.constant dense<1.0> : tensor<f32> loc("a")
  %0 = relay.exp %a : (tensor<f32>) -> tensor<f32> loc("exp")
  relay.return %0 : tensor<f32> loc("exp")
} loc("fused")
relay.func @missing() -> (tensor<100xf32>) {
  %w = relay.constant @w : tensor<100xf32> loc("w")
  %0 = relay.negative %w : (tensor<100xf32>) -> tensor<100xf32> loc("neg")
  relay.return %0 : tensor<100xf32> loc("return")
} loc("main")

// CHECK-LABEL: @fused
// CHECK:      relay.exp
// CHECK-LABEL: @missing
// CHECK:      relay.negative
