// RUN: xdsl-opt %s --verify-diagnostics --parsing-diagnostics --split-input-file | filecheck %s

// CHECK: relay.nn.conv2d: expected a 4-d operand 0, got tensor<8x6x6xf32> (layer 'conv', m.onnx node 7)
relay.func @f(%x: tensor<8x6x6xf32>, %w: tensor<4x8x3x3xf32>) -> () {
  %0 = relay.nn.conv2d %x, %w : (tensor<8x6x6xf32>, tensor<4x8x3x3xf32>) -> tensor<4x4x4xf32> loc("conv"("m.onnx":7:0))
  relay.return
}

// -----

// CHECK: relay.nn.conv2d: expected 8 input channels = kernel input channels x groups, got 3 x 1
relay.func @f(%x: tensor<1x8x6x6xf32>, %w: tensor<4x3x3x3xf32>) -> () {
  %0 = relay.nn.conv2d %x, %w : (tensor<1x8x6x6xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x4x4xf32>
  relay.return
}

// -----

// CHECK: relay.nn.conv2d: expected output channels divisible by groups=2, got 3
relay.func @f(%x: tensor<1x8x6x6xf32>, %w: tensor<3x4x3x3xf32>) -> () {
  %0 = relay.nn.conv2d %x, %w {groups = 2} : (tensor<1x8x6x6xf32>, tensor<3x4x3x3xf32>) -> tensor<1x3x4x4xf32>
  relay.return
}

// -----

// CHECK: relay.nn.conv2d: expected channels = 4 as the kernel has, got 5
relay.func @f(%x: tensor<1x8x6x6xf32>, %w: tensor<4x8x3x3xf32>) -> () {
  %0 = relay.nn.conv2d %x, %w {channels = 5} : (tensor<1x8x6x6xf32>, tensor<4x8x3x3xf32>) -> tensor<1x5x4x4xf32>
  relay.return
}

// -----

// CHECK: relay.nn.conv2d: expected kernel_size [3, 3] as the kernel has, got [5, 5]
relay.func @f(%x: tensor<1x8x6x6xf32>, %w: tensor<4x8x3x3xf32>) -> () {
  %0 = relay.nn.conv2d %x, %w {kernel_size = [5, 5]} : (tensor<1x8x6x6xf32>, tensor<4x8x3x3xf32>) -> tensor<1x4x4x4xf32>
  relay.return
}

// -----

// CHECK: relay.nn.conv2d: expected 1, 2 or 4 pad widths, got [1, 1, 1]
relay.func @f(%x: tensor<1x8x6x6xf32>, %w: tensor<4x8x3x3xf32>) -> () {
  %0 = relay.nn.conv2d %x, %w {padding = [1, 1, 1]} : (tensor<1x8x6x6xf32>, tensor<4x8x3x3xf32>) -> tensor<1x4x4x4xf32>
  relay.return
}

// -----

// CHECK: relay.nn.conv2d: expected strides of 2 ints, got [1]
relay.func @f(%x: tensor<1x8x6x6xf32>, %w: tensor<4x8x3x3xf32>) -> () {
  %0 = relay.nn.conv2d %x, %w {strides = [1]} : (tensor<1x8x6x6xf32>, tensor<4x8x3x3xf32>) -> tensor<1x4x4x4xf32>
  relay.return
}

// -----

// CHECK: relay.nn.conv2d: expected a window that fits the padded extent 6, stride and dilation >= 1, got window 7, stride 1, dilation 1
relay.func @f(%x: tensor<1x8x6x6xf32>, %w: tensor<4x8x7x7xf32>) -> () {
  %0 = relay.nn.conv2d %x, %w : (tensor<1x8x6x6xf32>, tensor<4x8x7x7xf32>) -> tensor<1x4x1x1xf32>
  relay.return
}

// -----

// CHECK: relay.nn.conv2d: expected data_layout such as NCHW or NCHW16c, got 'nchw'
relay.func @f(%x: tensor<1x8x6x6xf32>, %w: tensor<4x8x3x3xf32>) -> () {
  %0 = relay.nn.conv2d %x, %w {data_layout = "nchw"} : (tensor<1x8x6x6xf32>, tensor<4x8x3x3xf32>) -> tensor<1x4x4x4xf32>
  relay.return
}

// -----

// CHECK: relay.nn.conv2d: expected data_layout of the axes N, C, H, W, got 'NABW'
relay.func @f(%x: tensor<1x8x6x6xf32>, %w: tensor<4x8x3x3xf32>) -> () {
  %0 = relay.nn.conv2d %x, %w {data_layout = "NABW"} : (tensor<1x8x6x6xf32>, tensor<4x8x3x3xf32>) -> tensor<1x4x4x4xf32>
  relay.return
}

// -----

// CHECK: relay.nn.dense: expected a weight of 16 columns, got tensor<5x15xf32>
relay.func @f(%x: tensor<2x16xf32>, %w: tensor<5x15xf32>) -> () {
  %0 = relay.nn.dense %x, %w : (tensor<2x16xf32>, tensor<5x15xf32>) -> tensor<2x5xf32>
  relay.return
}

// -----

// CHECK: relay.nn.dense: expected units = 5 as the weight has rows, got 6
relay.func @f(%x: tensor<2x16xf32>, %w: tensor<5x16xf32>) -> () {
  %0 = relay.nn.dense %x, %w {units = 6} : (tensor<2x16xf32>, tensor<5x16xf32>) -> tensor<2x5xf32>
  relay.return
}

// -----

// CHECK: relay.nn.contrib_dense_pack: expected a packed weight of 16 rows, got tensor<2x15x8xf32>
relay.func @f(%x: tensor<2x16xf32>, %w: tensor<2x15x8xf32>) -> () {
  %0 = relay.nn.contrib_dense_pack %x, %w : (tensor<2x16xf32>, tensor<2x15x8xf32>) -> tensor<2x16xf32>
  relay.return
}

// -----

// CHECK: relay.nn.batch_matmul: expected operands that multiply, got tensor<3x2x4xf32> and tensor<2x2x4xf32>
relay.func @f(%x: tensor<3x2x4xf32>, %y: tensor<2x2x4xf32>) -> () {
  %0 = relay.nn.batch_matmul %x, %y : (tensor<3x2x4xf32>, tensor<2x2x4xf32>) -> tensor<3x2x2xf32>
  relay.return
}

// -----

// CHECK: relay.nn.bias_add: expected a bias of 8 elements, got tensor<6xf32>
relay.func @f(%x: tensor<1x8x6x6xf32>, %b: tensor<6xf32>) -> () {
  %0 = relay.nn.bias_add %x, %b : (tensor<1x8x6x6xf32>, tensor<6xf32>) -> tensor<1x8x6x6xf32>
  relay.return
}

// -----

// CHECK: relay.nn.batch_norm: expected operand 3 of 8 elements, got tensor<6xf32>
relay.func @f(%x: tensor<1x8x6x6xf32>, %b: tensor<6xf32>, %c: tensor<8xf32>) -> () {
  %0, %1, %2 = relay.nn.batch_norm %x, %c, %c, %b, %c : (tensor<1x8x6x6xf32>, tensor<8xf32>, tensor<8xf32>, tensor<6xf32>, tensor<8xf32>) -> (tensor<1x8x6x6xf32>, tensor<6xf32>, tensor<8xf32>)
  relay.return
}

// -----

// CHECK: relay.nn.layer_norm: expected operand 2 of 6 elements, got tensor<8xf32>
relay.func @f(%x: tensor<2x6xf32>, %b: tensor<6xf32>, %c: tensor<8xf32>) -> () {
  %0 = relay.nn.layer_norm %x, %b, %c : (tensor<2x6xf32>, tensor<6xf32>, tensor<8xf32>) -> tensor<2x6xf32>
  relay.return
}

// -----

// CHECK: relay.nn.softmax: expected axis in [-2, 2), got 2
relay.func @f(%x: tensor<2x3xf32>) -> () {
  %0 = relay.nn.softmax %x {axis = 2} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  relay.return
}

// -----

// CHECK: relay.nn.max_pool2d: expected a window that fits the padded extent 6, stride and dilation >= 1, got window 9, stride 1, dilation 1
relay.func @f(%x: tensor<1x8x6x6xf32>) -> () {
  %0 = relay.nn.max_pool2d %x {pool_size = [9, 9]} : (tensor<1x8x6x6xf32>) -> tensor<1x8x1x1xf32>
  relay.return
}

// -----

// CHECK: relay.nn.max_pool2d: expected strides of 2 ints, got [2]
relay.func @f(%x: tensor<1x8x6x6xf32>) -> () {
  %0 = relay.nn.max_pool2d %x {pool_size = [2, 2], strides = [2]} : (tensor<1x8x6x6xf32>) -> tensor<1x8x3x3xf32>
  relay.return
}

// -----

// CHECK: relay.nn.avg_pool2d: expected layout of the axes N, C, H, W, got 'NC'
relay.func @f(%x: tensor<1x8x6x6xf32>) -> () {
  %0 = relay.nn.avg_pool2d %x {layout = "NC"} : (tensor<1x8x6x6xf32>) -> tensor<1x8x1x1xf32>
  relay.return
}

// -----

// CHECK: relay.nn.global_avg_pool2d: expected a 4-d operand 0, got tensor<3x3xf32>
relay.func @f(%x: tensor<3x3xf32>) -> () {
  %0 = relay.nn.global_avg_pool2d %x : (tensor<3x3xf32>) -> tensor<1x1xf32>
  relay.return
}
