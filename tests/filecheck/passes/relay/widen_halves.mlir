// RUN: xdsl-opt %s -p relay-widen-halves --print-debuginfo | filecheck %s
// RUN: xdsl-opt %s -p "relay-widen-halves{float16=0}" | filecheck %s --check-prefix NATIVE

// Weights and data are widened once each, results stay wide up to the return, and a cast of the model rounds.
relay.func @main(%x: tensor<2x4xf16> loc("x"), %w: tensor<3x4xf16> loc("w")) -> (tensor<2x3xf16>, tensor<2x3xf32>) {
  %0 = relay.nn.dense %x, %w {out_dtype = "float16"} : (tensor<2x4xf16>, tensor<3x4xf16>) -> tensor<2x3xf16> loc("fc")
  %1 = relay.nn.relu %0 : (tensor<2x3xf16>) -> tensor<2x3xf16> loc("act")
  %2 = relay.exp %0 : (tensor<2x3xf16>) -> tensor<2x3xf16> loc("exp")
  %3 = relay.cast %2 {dtype = "float32"} : (tensor<2x3xf16>) -> tensor<2x3xf32> loc("wide")
  %4 = relay.cast %3 {dtype = "float16"} : (tensor<2x3xf32>) -> tensor<2x3xf16> loc("round")
  %5 = relay.sqrt %4 : (tensor<2x3xf16>) -> tensor<2x3xf16> loc("root")
  %6 = relay.cast %5 {dtype = "float32"} : (tensor<2x3xf16>) -> tensor<2x3xf32> loc("result")
  relay.return %1, %6 : tensor<2x3xf16>, tensor<2x3xf32> loc("return")
} loc("main")

// CHECK-LABEL: @main(
// CHECK-NEXT: %0 = relay.cast %w {dtype = "float32"} : {{.*}} loc("fc")
// CHECK-NEXT: %1 = relay.cast %x {dtype = "float32"} : {{.*}} loc("fc")
// CHECK-NEXT: %2 = relay.nn.dense %1, %0 {out_dtype = "float32"} : {{.*}} -> tensor<2x3xf32> loc("fc")
// CHECK-NEXT: %3 = relay.nn.relu %2 : {{.*}} loc("act")
// CHECK-NEXT: %4 = relay.cast %3 {dtype = "float16"} : {{.*}} loc("act")
// CHECK-NEXT: %5 = relay.exp %2 : {{.*}} -> tensor<2x3xf32> loc("exp")
// CHECK-NEXT: %6 = relay.cast %5 {dtype = "float32"} : (tensor<2x3xf32>) -> tensor<2x3xf32> loc("wide")
// CHECK-NEXT: %7 = relay.cast %6 {dtype = "float16"} : {{.*}} loc("round")
// CHECK-NEXT: %8 = relay.cast %7 {dtype = "float32"} : {{.*}} loc("root")
// CHECK-NEXT: %9 = relay.sqrt %8 : {{.*}} loc("root")
// CHECK-NEXT: %10 = relay.cast %9 {dtype = "float32"} : (tensor<2x3xf32>) -> tensor<2x3xf32> loc("result")
// CHECK-NEXT: relay.return %4, %10 : tensor<2x3xf16>, tensor<2x3xf32> loc("return")

// NATIVE: relay.nn.dense %x, %w
// NATIVE-NOT: tensor<3x4xf32>

// A table is not widened for the rows that are taken of it.
relay.func @rows(%table: tensor<99x4xf16> loc("table"), %at: tensor<2xi32> loc("at")) -> (tensor<2x4xf16>) {
  %0 = relay.take %table, %at {axis = 0} : (tensor<99x4xf16>, tensor<2xi32>) -> tensor<2x4xf16> loc("rows")
  %1 = relay.tanh %0 : (tensor<2x4xf16>) -> tensor<2x4xf16> loc("tanh")
  relay.return %1 : tensor<2x4xf16> loc("return")
} loc("rows")

// CHECK-LABEL: @rows(
// CHECK-NEXT: %0 = relay.take %table, %at {axis = 0} : {{.*}} -> tensor<2x4xf16> loc("rows")
// CHECK-NEXT: %1 = relay.cast %0 {dtype = "float32"} : {{.*}} loc("tanh")
