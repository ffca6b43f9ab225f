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
