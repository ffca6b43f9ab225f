// RUN: whence-opt %s | filecheck %s
// RUN: whence-opt %s | whence-opt - | filecheck %s

relay.func @main(%x: tensor<?x4xf32>, %y: tensor<1x4xf32>, %b: tensor<4xf32>) -> (tensor<?x4xf32>) {
  %0 = relay.concatenate %x, %y {axis = 0} : (tensor<?x4xf32>, tensor<1x4xf32>) -> tensor<?x4xf32>
  // What does not depend on the open extent is as it always is.
  %1 = relay.reshape %0 {newshape = [-1, 2]} : (tensor<?x4xf32>) -> tensor<?x2xf32>
  %2 = relay.transpose %1 : (tensor<?x2xf32>) -> tensor<2x?xf32>
  %3 = relay.sum %2 {axis = [1]} : (tensor<2x?xf32>) -> tensor<2xf32>
  %4 = relay.nn.bias_add %0, %b : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  // A type may leave open what the rule knows, and say more than it does.
  %5 = relay.exp %y : (tensor<1x4xf32>) -> tensor<?x4xf32>
  %6 = relay.exp %5 : (tensor<?x4xf32>) -> tensor<1x4xf32>
  relay.return %4 : tensor<?x4xf32>
}
// CHECK: relay.concatenate %x, %y : (tensor<?x4xf32>, tensor<1x4xf32>) -> tensor<?x4xf32>
// CHECK-NEXT: relay.reshape %{{.*}} {newshape = [-1, 2]} : (tensor<?x4xf32>) -> tensor<?x2xf32>
// CHECK-NEXT: relay.transpose
// CHECK-NEXT: relay.sum %{{.*}} -> tensor<2xf32>
// CHECK-NEXT: relay.nn.bias_add
// CHECK-NEXT: relay.exp %y : (tensor<1x4xf32>) -> tensor<?x4xf32>
// CHECK-NEXT: relay.exp %{{.*}} : (tensor<?x4xf32>) -> tensor<1x4xf32>
