// RUN: whence-opt --verify-diagnostics --split-input-file %s | filecheck %s

relay.func @main(%x: tensor<?x4xf32>) -> (tensor<?x5xf32>) {
  %0 = relay.exp %x : (tensor<?x4xf32>) -> tensor<?x5xf32>
  relay.return %0 : tensor<?x5xf32>
}
// CHECK: relay.exp: expected result tensor<?x4xf32>, got tensor<?x5xf32>

// -----

relay.func @main(%x: tensor<?x4xf32>, %y: tensor<?x3xf32>) -> (tensor<?x4xf32>) {
  %0 = relay.add %x, %y : (tensor<?x4xf32>, tensor<?x3xf32>) -> tensor<?x4xf32>
  relay.return %0 : tensor<?x4xf32>
}
// CHECK: relay.add: expected operands that fit each other for some extents, got tensor<?x4xf32>, tensor<?x3xf32>

// -----

relay.func @main(%x: tensor<4xf32>, %s: tensor<3xf32>) -> () {
  %0 = relay.dyn.reshape %x, %s : (tensor<4xf32>, tensor<3xf32>) -> tensor<?x?x?xf32>
  relay.return
}
// CHECK: relay.dyn.reshape: expected an operand of integers or booleans newshape, got tensor<3xf32>

// -----

relay.func @main(%x: tensor<4xf32>, %s: tensor<?xi64>) -> () {
  %0 = relay.dyn.reshape %x, %s : (tensor<4xf32>, tensor<?xi64>) -> tensor<?x?xf32>
  relay.return
}
// CHECK: relay.dyn.reshape: expected a vector of known length for newshape, got tensor<?xi64>
