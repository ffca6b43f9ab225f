// RUN: whence-opt -p 'relay-bind-sizes{sizes="seq:4"}' --audit --print-debuginfo %s | filecheck %s

// A symbol becomes a number in types and attributes; another one stays open. Every op is the one it was.

relay.func @main(%x: tensor<?x8xf32, #relay.sizes<seq>> loc("x"), %y: tensor<?x?xf32, #relay.sizes<batch, seq>> loc("y")) -> (tensor<?x2x4xf32, #relay.sizes<seq>>, tensor<?x?xf32, #relay.sizes<batch, seq>>) {
  %0 = relay.reshape %x {newshape = #relay.sizes<seq, 2, 4>} : (tensor<?x8xf32, #relay.sizes<seq>>) -> tensor<?x2x4xf32, #relay.sizes<seq>> loc("split")
  %1 = relay.negative %y : (tensor<?x?xf32, #relay.sizes<batch, seq>>) -> tensor<?x?xf32, #relay.sizes<batch, seq>> loc("minus")
  relay.return %0, %1 : tensor<?x2x4xf32, #relay.sizes<seq>>, tensor<?x?xf32, #relay.sizes<batch, seq>> loc("end")
} loc("main")

// CHECK: relay.func @main(%x: tensor<4x8xf32> loc("x"), %y: tensor<?x4xf32, #relay.sizes<batch>> loc("y"))
// CHECK-NEXT: %0 = relay.reshape %x {newshape = [4, 2, 4]} : (tensor<4x8xf32>) -> tensor<4x2x4xf32> loc("split")
// CHECK-NEXT: %1 = relay.negative %y : {{.*}} -> tensor<?x4xf32, #relay.sizes<batch>> loc("minus")
// CHECK-NEXT: relay.return %0, %1 : {{.*}} loc("end")
// CHECK-NEXT: } loc("main")
