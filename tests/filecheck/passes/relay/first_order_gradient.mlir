// RUN: whence-opt %s -p relay-first-order-gradient --print-debuginfo --audit | filecheck %s

relay.func @main(%x: tensor<4xf32> loc("x"), %w: tensor<4xf32> loc("w")) -> (tensor<4xf32>) {
  %0 = relay.multiply %x, %w : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("multiply")
  %1 = relay.exp %0 : (tensor<4xf32>) -> tensor<4xf32> loc("exp")
  %2 = relay.add %1, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("add")
  relay.return %2 : tensor<4xf32> loc("return")
} loc("main")

// CHECK: relay.func @main(%x: tensor<4xf32> loc("x"), %w: tensor<4xf32> loc("w")) -> (tensor<4xf32>, tuple<tensor<4xf32>, tensor<4xf32>>) {
// CHECK-NEXT: %[[M:.*]] = relay.multiply %x, %w : {{.*}} loc("multiply")
// CHECK-NEXT: %[[E:.*]] = relay.exp %[[M]] : {{.*}} loc("exp")
// CHECK-NEXT: %[[A:.*]] = relay.add %[[E]], %x : {{.*}} loc("add")
// CHECK-NEXT: %[[ONES:.*]] = relay.ones_like %[[A]] : {{.*}} loc("main")
// CHECK-NEXT: %[[G:.*]] = relay.multiply %[[ONES]], %[[E]] : {{.*}} loc("exp")
// CHECK-NEXT: %[[GX:.*]] = relay.multiply %[[G]], %w : {{.*}} loc("multiply")
// CHECK-NEXT: %[[GW:.*]] = relay.multiply %[[G]], %x : {{.*}} loc("multiply")
// CHECK-NEXT: %[[X:.*]] = relay.add %[[ONES]], %[[GX]] : {{.*}} loc("x")
// CHECK-NEXT: %[[T:.*]] = relay.tuple %[[X]], %[[GW]] : {{.*}} loc("return")
// CHECK-NEXT: relay.return %[[A]], %[[T]]
