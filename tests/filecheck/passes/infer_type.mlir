// RUN: whence-opt --disable-verify -p relay-infer-type --print-debuginfo %s | filecheck %s

// A parameter that grew: what reads it grows, and so do the function and its caller.

relay.func @main(%x: tensor<8xf32> loc("x")) -> (tensor<4xf32>) {
  %0 = relay.nn.relu %x : (tensor<8xf32>) -> tensor<4xf32> loc("act")
  %1 = relay.call @half(%0) : (tensor<4xf32>) -> tensor<4xf32> loc("call")
  relay.return %1 : tensor<4xf32> loc("end")
} loc("main")
relay.func @half(%y: tensor<8xf32> loc("y")) -> (tensor<4xf32>) {
  %0 = relay.negative %y : (tensor<8xf32>) -> tensor<4xf32> loc("minus")
  relay.return %0 : tensor<4xf32> loc("out")
} loc("half")

// CHECK: relay.func @main(%x: tensor<8xf32> loc("x")) -> (tensor<8xf32>) {
// CHECK-NEXT: relay.nn.relu %x : (tensor<8xf32>) -> tensor<8xf32> loc("act")
// CHECK-NEXT: relay.call @half(%{{.*}}) : (tensor<8xf32>) -> tensor<8xf32> loc("call")
// CHECK: relay.func @half(%y: tensor<8xf32> loc("y")) -> (tensor<8xf32>) {
// CHECK-NEXT: relay.negative %y : (tensor<8xf32>) -> tensor<8xf32> loc("minus")
