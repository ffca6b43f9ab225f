// RUN: xdsl-opt %s -p relay-alter-op-layout | filecheck %s

// One scale computes in any layout.
// CHECK-LABEL: @one_scale
// CHECK:      %[[Q:.*]] = relay.qnn.quantize %x, %s, %z : (tensor<1x1x8x8x16xf32>, tensor<f32>, tensor<i32>) -> tensor<1x1x8x8x16xi8>
// CHECK-NEXT: relay.layout_transform %[[Q]] {src_layout = "NCHW16c", dst_layout = "NCHW"}
relay.func @one_scale(%x: tensor<1x1x8x8x16xf32>, %s: tensor<f32>, %z: tensor<i32>) -> (tensor<1x16x8x8xi8>) {
  %0 = relay.layout_transform %x {src_layout = "NCHW16c", dst_layout = "NCHW"} : (tensor<1x1x8x8x16xf32>) -> tensor<1x16x8x8xf32>
  %1 = relay.qnn.quantize %0, %s, %z : (tensor<1x16x8x8xf32>, tensor<f32>, tensor<i32>) -> tensor<1x16x8x8xi8>
  relay.return %1 : tensor<1x16x8x8xi8>
}

// Scales along an axis, which do not broadcast, keep the layout that has it.
// CHECK-LABEL: @along_an_axis
// CHECK:      %[[T:.*]] = relay.layout_transform %x {src_layout = "NCHW16c", dst_layout = "NCHW"}
// CHECK-NEXT: relay.qnn.dequantize %[[T]], %s, %z {axis = 1}
relay.func @along_an_axis(%x: tensor<1x1x16x8x16xi8>, %z: tensor<i32>) -> (tensor<1x16x16x8xf32>) {
  %s = relay.constant dense<0.5> : tensor<16xf32>
  %0 = relay.layout_transform %x {src_layout = "NCHW16c", dst_layout = "NCHW"} : (tensor<1x1x16x8x16xi8>) -> tensor<1x16x16x8xi8>
  %1 = relay.qnn.dequantize %0, %s, %z {axis = 1} : (tensor<1x16x16x8xi8>, tensor<16xf32>, tensor<i32>) -> tensor<1x16x16x8xf32>
  relay.return %1 : tensor<1x16x16x8xf32>
}
