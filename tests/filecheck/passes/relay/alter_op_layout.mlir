// RUN: xdsl-opt %s -p relay-alter-op-layout --print-debuginfo | filecheck %s
// RUN: xdsl-opt %s -p "relay-alter-op-layout{lanes=8}" | filecheck %s --check-prefix=LANES

relay.func @convolution(%x: tensor<1x16x8x8xf32>) -> (tensor<1x32x8x8xf32>) {
  %w = relay.constant @w : tensor<32x16x1x1xf32> loc("w")
  %0 = relay.nn.conv2d %x, %w : (tensor<1x16x8x8xf32>, tensor<32x16x1x1xf32>) -> tensor<1x32x8x8xf32> loc("conv")
  %1 = relay.nn.relu %0 : (tensor<1x32x8x8xf32>) -> tensor<1x32x8x8xf32> loc("relu")
  relay.return %1 : tensor<1x32x8x8xf32> loc("return")
} loc("main")

// The relu computes on blocks and is the relu still; the transforms belong to the convolution, which asked for them.
// CHECK-LABEL: @convolution
// CHECK-NEXT: %[[W:.*]] = relay.constant @w
// CHECK-NEXT: %[[X:.*]] = relay.layout_transform %x {src_layout = "NCHW", dst_layout = "NCHW16c"} : {{.*}} loc("conv")
// CHECK-NEXT: %[[P:.*]] = relay.layout_transform %[[W]] {src_layout = "OIHW", dst_layout = "OIHW16i16o"} : {{.*}} loc("conv")
// CHECK-NEXT: %[[C:.*]] = relay.nn.contrib_conv2d_NCHWc %[[X]], %[[P]] {data_layout = "NCHW16c", kernel_layout = "OIHW16i16o", out_layout = "NCHW16c"} : {{.*}} -> tensor<1x2x8x8x16xf32> loc("conv")
// CHECK-NEXT: %[[R:.*]] = relay.nn.relu %[[C]] : {{.*}} loc("relu")
// CHECK-NEXT: %[[B:.*]] = relay.layout_transform %[[R]] {src_layout = "NCHW16c", dst_layout = "NCHW"} : {{.*}} loc("conv")
// CHECK-NEXT: relay.return %[[B]]

// LANES-LABEL: @convolution
// LANES: kernel_layout = "OIHW8i8o"

relay.func @depthwise(%x: tensor<1x32x8x8xf32>) -> (tensor<1x32x8x8xf32>) {
  %w = relay.constant @w : tensor<32x1x1x1xf32> loc("w")
  %0 = relay.nn.conv2d %x, %w {groups = 32} : (tensor<1x32x8x8xf32>, tensor<32x1x1x1xf32>) -> tensor<1x32x8x8xf32> loc("conv")
  relay.return %0 : tensor<1x32x8x8xf32> loc("return")
} loc("main")

// CHECK-LABEL: @depthwise
// CHECK: relay.nn.contrib_depthwise_conv2d_NCHWc {{.*}} kernel_layout = "OIHW1i16o", out_layout = "NCHW16c"

relay.func @dense(%x: tensor<1x8xf32>) -> (tensor<1x96xf32>) {
  %w = relay.constant @w : tensor<96x8xf32> loc("w")
  %0 = relay.nn.dense %x, %w : (tensor<1x8xf32>, tensor<96x8xf32>) -> tensor<1x96xf32> loc("dense")
  relay.return %0 : tensor<1x96xf32> loc("return")
} loc("main")

// CHECK-LABEL: @dense
// CHECK: %[[P:.*]] = relay.layout_transform %{{.*}} {src_layout = "NC", dst_layout = "NC48n"} : (tensor<96x8xf32>) -> tensor<2x8x48xf32> loc("dense")
// CHECK-NEXT: relay.nn.contrib_dense_pack %x, %[[P]] {weight_layout = "NC48n"} : {{.*}} loc("dense")

relay.func @merge(%x: tensor<1x16x4x4xf32>) -> (tensor<1x16x4x4xf32>) {
  %0 = relay.layout_transform %x {src_layout = "NCHW", dst_layout = "NCHW8c"} : (tensor<1x16x4x4xf32>) -> tensor<1x2x4x4x8xf32> loc("there")
  %1 = relay.layout_transform %0 {src_layout = "NCHW8c", dst_layout = "NCHW"} : (tensor<1x2x4x4x8xf32>) -> tensor<1x16x4x4xf32> loc("back")
  relay.return %1 : tensor<1x16x4x4xf32> loc("return")
} loc("main")

// CHECK-LABEL: @merge
// CHECK-NEXT: relay.return %x
