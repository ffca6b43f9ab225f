// RUN: xdsl-opt %s -p relay-legalize --print-debuginfo | filecheck %s

relay.func @phases(%x: tensor<1x4x8xf32>, %w: tensor<4x3x2xf32>) -> (tensor<1x3x16xf32>) {
  %0 = relay.nn.conv1d_transpose %x, %w {strides = [2]} : (tensor<1x4x8xf32>, tensor<4x3x2xf32>) -> tensor<1x3x16xf32> loc("up"("m.onnx":0:0))
  relay.return %0 : tensor<1x3x16xf32> loc("return")
} loc("phases")
relay.func @padded(%x: tensor<1x1x4xf32>, %w: tensor<1x1x3xf32>) -> (tensor<1x1x8xf32>) {
  %0 = relay.nn.conv1d_transpose %x, %w {strides = [2], output_padding = [1], padding = [1]} : (tensor<1x1x4xf32>, tensor<1x1x3xf32>) -> tensor<1x1x8xf32> loc("up")
  relay.return %0 : tensor<1x1x8xf32> loc("return")
} loc("padded")

// CHECK-LABEL: @phases
// CHECK-NEXT: %[[R:.*]] = relay.reshape %w {newshape = [1, 4, 3, 1, 2]} : (tensor<4x3x2xf32>) -> tensor<1x4x3x1x2xf32> loc("up"("m.onnx":0:0))
// CHECK-NEXT: %[[T:.*]] = relay.transpose %[[R]] {axes = [0, 4, 2, 1, 3]}
// CHECK-NEXT: %[[W:.*]] = relay.reshape %[[T]] {newshape = [6, 4, 1]}
// CHECK-NEXT: %[[C:.*]] = relay.nn.conv1d %x, %[[W]] {{.*}}: (tensor<1x4x8xf32>, tensor<6x4x1xf32>) -> tensor<1x6x8xf32> loc("up"("m.onnx":0:0))
// CHECK-NEXT: %[[S:.*]] = relay.reshape %[[C]] {newshape = [1, 1, 2, 3, 8]}
// CHECK-NEXT: %[[P:.*]] = relay.transpose %[[S]] {axes = [0, 1, 3, 4, 2]}
// CHECK-NEXT: relay.reshape %[[P]] {newshape = [1, 3, 16]} : (tensor<1x1x3x8x2xf32>) -> tensor<1x3x16xf32> loc("up"("m.onnx":0:0))
// CHECK-LABEL: @padded
// CHECK: relay.nn.pad
// CHECK: relay.strided_slice {{.*}}strides = [1, 1, 1, -1, 1]
// CHECK: relay.nn.conv1d {{.*}} -> tensor<1x2x5xf32>
// CHECK: relay.strided_slice {{.*}}(tensor<1x1x10xf32>) -> tensor<1x1x8xf32>
// CHECK-NOT: conv1d_transpose

// A product of few rows reads rows where it read columns of their transpose, which has to be for it alone.
relay.func @scores(%q: tensor<1x2x1x4xf32>, %k: tensor<1x2x9x4xf32>) -> (tensor<2x1x9xf32>) {
  %0 = relay.transpose %k {axes = [0, 1, 3, 2]} : (tensor<1x2x9x4xf32>) -> tensor<1x2x4x9xf32> loc("turn")
  %1 = relay.reshape %q {newshape = [2, 1, 4]} : (tensor<1x2x1x4xf32>) -> tensor<2x1x4xf32> loc("scores")
  %2 = relay.reshape %0 {newshape = [2, 4, 9]} : (tensor<1x2x4x9xf32>) -> tensor<2x4x9xf32> loc("scores")
  %3 = relay.nn.batch_matmul %1, %2 {transpose_b = false} : (tensor<2x1x4xf32>, tensor<2x4x9xf32>) -> tensor<2x1x9xf32> loc("scores")
  relay.return %3 : tensor<2x1x9xf32> loc("return")
} loc("scores")
relay.func @as_they_are(%q: tensor<5x4xf32>, %k: tensor<9x4xf32>, %f: tensor<2x2x9xf32>) -> (tensor<5x9xf32>, tensor<1x9xf32>, tensor<4x9xf32>, tensor<2x1x9xf32>) {
  %0 = relay.transpose %k : (tensor<9x4xf32>) -> tensor<4x9xf32> loc("turn")
  %1 = relay.nn.matmul %q, %0 : (tensor<5x4xf32>, tensor<4x9xf32>) -> tensor<5x9xf32> loc("many")
  %2 = relay.transpose %k : (tensor<9x4xf32>) -> tensor<4x9xf32> loc("shared")
  %one = relay.strided_slice %q {begin = [0, 0], end = [1, 4], strides = [1, 1]} : (tensor<5x4xf32>) -> tensor<1x4xf32> loc("one")
  %3 = relay.nn.matmul %one, %2 : (tensor<1x4xf32>, tensor<4x9xf32>) -> tensor<1x9xf32> loc("few")
  %4 = relay.transpose %f {axes = [1, 0, 2]} : (tensor<2x2x9xf32>) -> tensor<2x2x9xf32> loc("batches")
  %two = relay.strided_slice %f {begin = [0, 0, 0], end = [2, 1, 2], strides = [1, 1, 1]} : (tensor<2x2x9xf32>) -> tensor<2x1x2xf32> loc("two")
  %5 = relay.nn.batch_matmul %two, %4 {transpose_b = false} : (tensor<2x1x2xf32>, tensor<2x2x9xf32>) -> tensor<2x1x9xf32> loc("other")
  relay.return %1, %3, %2, %5 : tensor<5x9xf32>, tensor<1x9xf32>, tensor<4x9xf32>, tensor<2x1x9xf32> loc("return")
} loc("as_they_are")

// CHECK-LABEL: @scores
// CHECK-NOT: relay.transpose
// CHECK: %[[K:.*]] = relay.reshape %k {newshape = [2, 9, 4]} : {{.*}} loc(fused["scores", "turn"])
// CHECK-NEXT: relay.nn.batch_matmul %{{.*}}, %[[K]] : (tensor<2x1x4xf32>, tensor<2x9x4xf32>) -> tensor<2x1x9xf32> loc(fused["scores", "turn"])
// CHECK-LABEL: @as_they_are
// CHECK: %[[A:.*]] = relay.transpose %k {{.*}} loc("turn")
// CHECK-NEXT: relay.nn.matmul %q, %[[A]] {{.*}} loc("many")
// CHECK: %[[B:.*]] = relay.transpose %k {{.*}} loc("shared")
// CHECK: relay.nn.matmul %{{.*}}, %[[B]] {{.*}} loc("few")
// CHECK: %[[C:.*]] = relay.transpose %f {{.*}} loc("batches")
// CHECK: relay.nn.batch_matmul %{{.*}}, %[[C]] {transpose_b = false} {{.*}} loc("other")
