// RUN: whence-opt -p relay-concretize --audit --print-debuginfo %s | filecheck %s

// The shape is known, and the operator keeps its location; what was read for its shape alone is gone.

relay.func @main(%x: tensor<4xf32> loc("x"), %y: tensor<2x2xf16> loc("y")) -> (tensor<2x2xf32>, tensor<4xf16>) {
  %0 = relay.exp %y : (tensor<2x2xf16>) -> tensor<2x2xf16> loc("other")
  %1 = relay.reshape_like %x, %0 : (tensor<4xf32>, tensor<2x2xf16>) -> tensor<2x2xf32> loc("like")
  %2 = relay.cast_like %x, %y : (tensor<4xf32>, tensor<2x2xf16>) -> tensor<4xf16> loc("cast")
  relay.return %1, %2 : tensor<2x2xf32>, tensor<4xf16> loc("end")
} loc("main")

// CHECK-LABEL: @main
// CHECK-NEXT: %0 = relay.reshape %x {newshape = [2, 2]} : (tensor<4xf32>) -> tensor<2x2xf32> loc("like")
// CHECK-NEXT: %1 = relay.cast %x {dtype = "float16"} : (tensor<4xf32>) -> tensor<4xf16> loc("cast")
// CHECK-NEXT: relay.return %0, %1

// A shape of symbolic sizes is known as well.

relay.func @sized(%x: tensor<4xf32> loc("x"), %y: tensor<?xf32, #relay.sizes<n>> loc("y")) -> (tensor<?xf32, #relay.sizes<n>>) {
  %0 = relay.zeros_like %y : (tensor<?xf32, #relay.sizes<n>>) -> tensor<?xf32, #relay.sizes<n>> loc("zeros")
  relay.return %0 : tensor<?xf32, #relay.sizes<n>> loc("end")
} loc("sized")

// CHECK-LABEL: @sized
// CHECK-NEXT: relay.zeros {shape = #relay.sizes<n>, dtype = "float32"} : {{.*}} loc("zeros")
