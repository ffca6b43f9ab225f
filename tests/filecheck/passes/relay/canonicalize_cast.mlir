// RUN: xdsl-opt %s -p relay-canonicalize-cast --print-debuginfo | filecheck %s

// One reader keeps the cast that was there; the return reads what it did.
relay.func @readers(%x: tensor<4xi8> loc("x"), %a: tensor<4xi32> loc("a")) -> (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>) {
  %0 = relay.cast %x {dtype = "int32"} : (tensor<4xi8>) -> tensor<4xi32> loc("wide")
  %1 = relay.add %0, %a : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32> loc("left")
  %2 = relay.subtract %0, %a : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32> loc("right")
  relay.return %1, %2, %0 : tensor<4xi32>, tensor<4xi32>, tensor<4xi32> loc("return")
} loc("main")

// CHECK-LABEL: @readers(
// CHECK-NEXT: %0 = relay.cast %x {dtype = "int32"} : {{.*}} loc("wide")
// CHECK-NEXT: %1 = relay.cast %x {dtype = "int32"} : {{.*}} loc("wide")
// CHECK-NEXT: %2 = relay.cast %x {dtype = "int32"} : {{.*}} loc("wide")
// CHECK-NEXT: %3 = relay.add %1, %a : {{.*}} loc("left")
// CHECK-NEXT: %4 = relay.subtract %0, %a : {{.*}} loc("right")
// CHECK-NEXT: relay.return %3, %4, %2 : tensor<4xi32>, tensor<4xi32>, tensor<4xi32> loc("return")
