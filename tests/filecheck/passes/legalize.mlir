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
