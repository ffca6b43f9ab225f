// RUN: xdsl-opt %s -p relay-remove-unused-functions --print-debuginfo | filecheck %s
// RUN: xdsl-opt %s -p relay-remove-unused-functions{entry=alone} | filecheck %s --check-prefix ALONE

relay.func @inner(%x: tensor<4xf32>) -> (tensor<4xf32>) {
  relay.return %x : tensor<4xf32>
} loc("inner")
relay.func @middle(%x: tensor<4xf32>) -> (tensor<4xf32>) {
  %0 = relay.call @inner(%x) : (tensor<4xf32>) -> tensor<4xf32>
  relay.return %0 : tensor<4xf32>
} loc("middle")
relay.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>) {
  %0 = relay.call @middle(%x) : (tensor<4xf32>) -> tensor<4xf32>
  relay.return %0 : tensor<4xf32>
} loc("main")
relay.func @alone(%x: tensor<4xf32>) -> (tensor<4xf32>) {
  relay.return %x : tensor<4xf32>
} loc("alone")

// CHECK: relay.func @inner
// CHECK: } loc("inner")
// CHECK: relay.func @middle
// CHECK: relay.func @main
// CHECK-NOT: relay.func @alone

// ALONE-NOT: @main
// ALONE: relay.func @alone
