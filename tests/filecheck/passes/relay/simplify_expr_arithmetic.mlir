// RUN: xdsl-opt %s -p relay-simplify-expr --print-debuginfo | filecheck %s

// A factor goes before a term; two factors are one.
relay.func @affine(%x: tensor<4xf32> loc("x")) -> (tensor<4xf32>) {
  %a = relay.constant dense<3.0> : tensor<f32> loc("a")
  %b = relay.constant dense<2.0> : tensor<f32> loc("b")
  %0 = relay.multiply %x, %b : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32> loc("first")
  %1 = relay.add %a, %0 : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32> loc("shift")
  %2 = relay.multiply %1, %b : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32> loc("second")
  relay.return %2 : tensor<4xf32> loc("return")
} loc("main")

// CHECK-LABEL: @affine(
// CHECK-NEXT: %const = relay.constant dense<4.000000e+00> : tensor<f32> loc(fused["second", "first", "b"])
// CHECK-NEXT: %0 = relay.multiply %x, %const : {{.*}} loc(fused["second", "first"])
// CHECK-NEXT: %const_1 = relay.constant dense<6.000000e+00> : tensor<f32> loc(fused["second", "shift", "b", "a"])
// CHECK-NEXT: %1 = relay.add %0, %const_1 : {{.*}} loc("shift")
// CHECK-NEXT: relay.return %1 : tensor<4xf32> loc("return")

// The number that fills a tensor is enough, and no tensor is made for its shape.
relay.func @numbers(%x: tensor<2x3xf32> loc("x"), %y: tensor<3xf32> loc("y")) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
  %c = relay.constant dense<0.5> : tensor<f32> loc("c")
  %0 = relay.full_like %x, %c : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32> loc("half")
  %1 = relay.maximum %0, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32> loc("max")
  %2 = relay.broadcast_to_like %y, %1 : (tensor<3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32> loc("wide")
  relay.return %1, %2 : tensor<2x3xf32>, tensor<2x3xf32> loc("return")
} loc("main")

// CHECK-LABEL: @numbers(
// CHECK-NEXT: %number = relay.constant dense<5.000000e-01> : tensor<f32> loc(fused["half", "c"])
// CHECK-NEXT: %0 = relay.maximum %number, %x : {{.*}} loc("max")
// CHECK-NEXT: %1 = relay.broadcast_to %y {shape = [2, 3]} : {{.*}} loc("wide")
// CHECK-NEXT: relay.return %0, %1 : tensor<2x3xf32>, tensor<2x3xf32> loc("return")

// A quotient by a root, twice a number, and a square.
relay.func @roots(%x: tensor<4xf32> loc("x"), %y: tensor<4xf32> loc("y")) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = relay.sqrt %x : (tensor<4xf32>) -> tensor<4xf32> loc("root")
  %1 = relay.divide %y, %0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("quotient")
  %2 = relay.multiply %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("xy")
  %3 = relay.add %2, %2 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("twice")
  %4 = relay.multiply %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("xx")
  %5 = relay.multiply %y, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("yy")
  %6 = relay.add %4, %3 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("s")
  %7 = relay.add %6, %5 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("t")
  relay.return %1, %7 : tensor<4xf32>, tensor<4xf32> loc("return")
} loc("main")

// CHECK-LABEL: @roots(
// CHECK-NEXT: %0 = relay.rsqrt %x : {{.*}} loc(fused["quotient", "root"])
// CHECK-NEXT: %1 = relay.multiply %y, %0 : {{.*}} loc("quotient")
// CHECK-NEXT: %2 = relay.add %x, %y : {{.*}} loc(fused["t", "s", "yy", "xx", "twice", "xy"])
// CHECK-NEXT: %3 = relay.multiply %2, %2 : {{.*}} loc(fused["t", "s", "yy", "xx", "twice", "xy"])
// CHECK-NEXT: relay.return %1, %3 : tensor<4xf32>, tensor<4xf32> loc("return")

// Casts that lose nothing go; one that may, stays.
relay.func @casts(%x: tensor<4xi8> loc("x"), %y: tensor<4xi32> loc("y")) -> (tensor<4xf32>, tensor<4xi32>) {
  %0 = relay.cast %x {dtype = "int32"} : (tensor<4xi8>) -> tensor<4xi32> loc("wide")
  %1 = relay.cast %0 {dtype = "float32"} : (tensor<4xi32>) -> tensor<4xf32> loc("float")
  %2 = relay.cast %y {dtype = "float32"} : (tensor<4xi32>) -> tensor<4xf32> loc("there")
  %3 = relay.cast %2 {dtype = "int32"} : (tensor<4xf32>) -> tensor<4xi32> loc("back")
  relay.return %1, %3 : tensor<4xf32>, tensor<4xi32> loc("return")
} loc("main")

// CHECK-LABEL: @casts(
// CHECK-NEXT: %0 = relay.cast %x {dtype = "float32"} : {{.*}} loc(fused["float", "wide"])
// CHECK-NEXT: %1 = relay.cast %y {dtype = "float32"} : {{.*}} loc("there")
// CHECK-NEXT: %2 = relay.cast %1 {dtype = "int32"} : {{.*}} loc("back")
// CHECK-NEXT: relay.return %0, %2 : tensor<4xf32>, tensor<4xi32> loc("return")
