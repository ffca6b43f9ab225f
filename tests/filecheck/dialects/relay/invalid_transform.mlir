// RUN: xdsl-opt %s --verify-diagnostics --parsing-diagnostics --split-input-file | filecheck %s

// CHECK: relay.reshape: expected a newshape that divides 6 elements, got [4, -1]
relay.func @f(%x: tensor<2x3xf32>) -> () {
  %0 = relay.reshape %x {newshape = [4, -1]} : (tensor<2x3xf32>) -> tensor<4x1xf32>
  relay.return
}

// -----

// CHECK: relay.reshape: expected a newshape of 6 elements, got [7]
relay.func @f(%x: tensor<2x3xf32>) -> () {
  %0 = relay.reshape %x {newshape = [7]} : (tensor<2x3xf32>) -> tensor<7xf32>
  relay.return
}

// -----

// CHECK: relay.reshape: expected a newshape of sizes with at most one -1, got [-1, -1]
relay.func @f(%x: tensor<2x3xf32>) -> () {
  %0 = relay.reshape %x {newshape = [-1, -1]} : (tensor<2x3xf32>) -> tensor<6x1xf32>
  relay.return
}

// -----

// CHECK: relay.reshape: expected 0 in newshape only below rank 2, got [2, 3, 0]
relay.func @f(%x: tensor<2x3xf32>) -> () {
  %0 = relay.reshape %x {newshape = [2, 3, 0]} : (tensor<2x3xf32>) -> tensor<2x3x1xf32>
  relay.return
}

// -----

// CHECK: relay.transpose: expected axes that permute 2 dimensions, got [0, 0]
relay.func @f(%x: tensor<2x3xf32>) -> () {
  %0 = relay.transpose %x {axes = [0, 0]} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  relay.return
}

// -----

// CHECK: relay.transpose: expected axes in [-2, 2), got 2
relay.func @f(%x: tensor<2x3xf32>) -> () {
  %0 = relay.transpose %x {axes = [0, 2]} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  relay.return
}

// -----

// CHECK: relay.squeeze: expected axes of extent 1, got axis [1] of tensor<2x3xf32>
relay.func @f(%x: tensor<2x3xf32>) -> () {
  %0 = relay.squeeze %x {axis = [1]} : (tensor<2x3xf32>) -> tensor<2xf32>
  relay.return
}

// -----

// CHECK: relay.expand_dims: expected axis in [-3, 3), got 3
relay.func @f(%x: tensor<2x3xf32>) -> () {
  %0 = relay.expand_dims %x {axis = 3} : (tensor<2x3xf32>) -> tensor<2x3x1xf32>
  relay.return
}

// -----

// CHECK: relay.expand_dims: expected num_newaxis >= 0, got -1
relay.func @f(%x: tensor<2x3xf32>) -> () {
  %0 = relay.expand_dims %x {num_newaxis = -1} : (tensor<2x3xf32>) -> tensor<2x3x1xf32>
  relay.return
}

// -----

// CHECK: relay.concatenate: expected at least one operand, got none
relay.func @f() -> () {
  %0 = relay.concatenate : () -> tensor<2x3xf32>
  relay.return
}

// -----

// CHECK: relay.concatenate: expected operands that agree but for axis 0, got tensor<2x3xf32>, tensor<2x4xf32>
relay.func @f(%x: tensor<2x3xf32>, %y: tensor<2x4xf32>) -> () {
  %0 = relay.concatenate %x, %y : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<4x3xf32>
  relay.return
}

// -----

// CHECK: relay.strided_slice: expected begin, end, strides and axes of one length, at most 2, got [0, 0], [1], [1, 1] and [0, 1]
relay.func @f(%x: tensor<2x3xf32>) -> () {
  %0 = relay.strided_slice %x {begin = [0, 0], end = [1]} : (tensor<2x3xf32>) -> tensor<1x3xf32>
  relay.return
}

// -----

// CHECK: relay.strided_slice: expected strides other than 0, got [0]
relay.func @f(%x: tensor<2x3xf32>) -> () {
  %0 = relay.strided_slice %x {begin = [0], end = [2], strides = [0]} : (tensor<2x3xf32>) -> tensor<1x3xf32>
  relay.return
}

// -----

// CHECK: relay.take: expected integer indices, got tensor<5xf32>
relay.func @f(%x: tensor<2x3xf32>, %i: tensor<5xf32>) -> () {
  %0 = relay.take %x, %i : (tensor<2x3xf32>, tensor<5xf32>) -> tensor<5x3xf32>
  relay.return
}

// -----

// CHECK: relay.take: expected mode clip, wrap or fast, got 'wrp'
relay.func @f(%x: tensor<2x3xf32>, %i: tensor<5xi32>) -> () {
  %0 = relay.take %x, %i {mode = "wrp"} : (tensor<2x3xf32>, tensor<5xi32>) -> tensor<5x3xf32>
  relay.return
}

// -----

// CHECK: relay.broadcast_to: expected a shape that tensor<2x3xf32> broadcasts to, got [4, 3]
relay.func @f(%x: tensor<2x3xf32>) -> () {
  %0 = relay.broadcast_to %x {shape = [4, 3]} : (tensor<2x3xf32>) -> tensor<4x3xf32>
  relay.return
}

// -----

// CHECK: relay.layout_transform: expected axis C divisible by 4, got extent 6
relay.func @f(%x: tensor<1x6x2x2xf32>) -> () {
  %0 = relay.layout_transform %x {src_layout = "NCHW", dst_layout = "NCHW4c"} : (tensor<1x6x2x2xf32>) -> tensor<1x1x2x2x4xf32>
  relay.return
}

// -----

// CHECK: relay.layout_transform: expected dst_layout such as NCHW or NCHW16c, got 'NC4'
relay.func @f(%x: tensor<1x6x2x2xf32>) -> () {
  %0 = relay.layout_transform %x {src_layout = "NCHW", dst_layout = "NC4"} : (tensor<1x6x2x2xf32>) -> tensor<1x6x2x2xf32>
  relay.return
}

// -----

// CHECK: relay.layout_transform: expected layouts of the same axes, got NCHW and OIHW
relay.func @f(%x: tensor<1x6x2x2xf32>) -> () {
  %0 = relay.layout_transform %x {src_layout = "NCHW", dst_layout = "OIHW"} : (tensor<1x6x2x2xf32>) -> tensor<1x6x2x2xf32>
  relay.return
}

// -----

// CHECK: relay.layout_transform: expected a 4-d operand for layout NCHW, got tensor<6x2xf32>
relay.func @f(%x: tensor<6x2xf32>) -> () {
  %0 = relay.layout_transform %x {src_layout = "NCHW", dst_layout = "NHWC"} : (tensor<6x2xf32>) -> tensor<6x2xf32>
  relay.return
}

// -----

// CHECK: relay.nn.pad: expected 4 non-negative pad widths, got [0, 1]
relay.func @f(%x: tensor<2x3xf32>, %s: tensor<f32>) -> () {
  %0 = relay.nn.pad %x, %s {pad_width = [0, 1]} : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x4xf32>
  relay.return
}

// -----

// CHECK: relay.nn.pad: expected pad_mode constant, edge, reflect or wrap, got 'zeros'
relay.func @f(%x: tensor<2xf32>, %s: tensor<f32>) -> () {
  %0 = relay.nn.pad %x, %s {pad_width = [0, 1], pad_mode = "zeros"} : (tensor<2xf32>, tensor<f32>) -> tensor<3xf32>
  relay.return
}

// -----

// CHECK: relay.nn.pad: expected one pad value, got tensor<2xi32>
relay.func @f(%x: tensor<2xf32>, %s: tensor<2xi32>) -> () {
  %0 = relay.nn.pad %x, %s {pad_width = [0, 1]} : (tensor<2xf32>, tensor<2xi32>) -> tensor<3xf32>
  relay.return
}

// -----

// CHECK: relay.nn.batch_flatten: expected an operand of at least 1 dimension, got tensor<f32>
relay.func @f(%x: tensor<f32>) -> () {
  %0 = relay.nn.batch_flatten %x : (tensor<f32>) -> tensor<f32>
  relay.return
}

// -----

// CHECK: relay.sum: expected axis in [-2, 2), got 2
relay.func @f(%x: tensor<2x3xf32>) -> () {
  %0 = relay.sum %x {axis = [2]} : (tensor<2x3xf32>) -> tensor<2xf32>
  relay.return
}
