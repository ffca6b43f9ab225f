// RUN: xdsl-opt %s -p 'relay-combine-parallel-batch-matmul{min_num_branches=2}' --print-debuginfo | filecheck %s

// Columns of different number, and what is added to each.
relay.func @columns(%x: tensor<2x3x4xf32> loc("x"), %a: tensor<2x4x5xf32> loc("a"), %b: tensor<2x4x6xf32> loc("b"), %p: tensor<5xf32> loc("p"), %q: tensor<6xf32> loc("q")) -> (tensor<2x3x5xf32>, tensor<2x3x6xf32>) {
  %0 = relay.nn.batch_matmul %x, %a {transpose_b = false} : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32> loc("query")
  %1 = relay.add %0, %p : (tensor<2x3x5xf32>, tensor<5xf32>) -> tensor<2x3x5xf32> loc("query_bias")
  %2 = relay.nn.batch_matmul %x, %b {transpose_b = false} : (tensor<2x3x4xf32>, tensor<2x4x6xf32>) -> tensor<2x3x6xf32> loc("key")
  %3 = relay.add %2, %q : (tensor<2x3x6xf32>, tensor<6xf32>) -> tensor<2x3x6xf32> loc("key_bias")
  relay.return %1, %3 : tensor<2x3x5xf32>, tensor<2x3x6xf32> loc("return")
} loc("main")

// CHECK-LABEL: @columns(
// CHECK-NEXT: %0 = relay.concatenate %a, %b {axis = 2} : {{.*}} loc(fused["query", "key"])
// CHECK-NEXT: %1 = relay.nn.batch_matmul %x, %0 {transpose_b = false} : {{.*}} loc(fused["query", "key"])
// CHECK-NEXT: %2 = relay.concatenate %p, %q : {{.*}} loc(fused["query_bias", "key_bias"])
// CHECK-NEXT: %3 = relay.add %1, %2 : {{.*}} loc(fused["query_bias", "key_bias"])
// CHECK-NEXT: %4 = relay.strided_slice %3 {begin = [0], end = [5], strides = [1], axes = [2]} : {{.*}} loc("query_bias")
// CHECK-NEXT: %5 = relay.strided_slice %3 {begin = [5], end = [11], strides = [1], axes = [2]} : {{.*}} loc("key_bias")
// CHECK-NEXT: relay.return %4, %5 : tensor<2x3x5xf32>, tensor<2x3x6xf32> loc("return")
