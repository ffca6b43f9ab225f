// RUN: xdsl-opt %s -p relay-fake-quantization-to-integer --print-debuginfo | filecheck %s

// CHECK-LABEL: @product
// CHECK:      %[[Q:.*]] = relay.qnn.dense %x, %w, %z, %z, %s, %t : {{.*}} -> tensor<1x2xi32> loc(fused["dense", "dx", "dw"])
// CHECK:      relay.multiply %s, %t {{.*}} loc(fused["dense", "dx", "dw"])
// CHECK-NEXT: relay.qnn.dequantize %[[Q]], {{.*}} {axis = 1} {{.*}} loc(fused["dense", "dx", "dw"])
// CHECK-NEXT: relay.return
relay.func @product(%x: tensor<1x4xi8>, %w: tensor<2x4xi8>, %s: tensor<f32>, %t: tensor<f32>, %z: tensor<i32>) -> (tensor<1x2xf32>) {
  %0 = relay.qnn.dequantize %x, %s, %z : (tensor<1x4xi8>, tensor<f32>, tensor<i32>) -> tensor<1x4xf32> loc("dx")
  %1 = relay.qnn.dequantize %w, %t, %z : (tensor<2x4xi8>, tensor<f32>, tensor<i32>) -> tensor<2x4xf32> loc("dw")
  %2 = relay.nn.dense %0, %1 : (tensor<1x4xf32>, tensor<2x4xf32>) -> tensor<1x2xf32> loc("dense")
  relay.return %2 : tensor<1x2xf32> loc("return")
} loc("product")

// Bytes move, and what is quantised as it was is what it was.
// CHECK-LABEL: @moves
// CHECK-NEXT: %[[R:.*]] = relay.reshape %x {newshape = [4]} : (tensor<2x2xui8>) -> tensor<4xui8> loc("reshape")
// CHECK-NEXT: relay.return %[[R]]
relay.func @moves(%x: tensor<2x2xui8>, %s: tensor<f32>, %z: tensor<i32>) -> (tensor<4xui8>) {
  %0 = relay.qnn.dequantize %x, %s, %z : (tensor<2x2xui8>, tensor<f32>, tensor<i32>) -> tensor<2x2xf32> loc("dx")
  %1 = relay.reshape %0 {newshape = [4]} : (tensor<2x2xf32>) -> tensor<4xf32> loc("reshape")
  %2 = relay.qnn.quantize %1, %s, %z {out_dtype = "uint8"} : (tensor<4xf32>, tensor<f32>, tensor<i32>) -> tensor<4xui8> loc("q")
  relay.return %2 : tensor<4xui8> loc("return")
} loc("moves")

// An average is one of integers where it is quantised; each part of a concatenation is quantised for itself.
// CHECK-LABEL: @pools
// CHECK-NEXT: %[[P:.*]] = relay.qnn.avg_pool2d %x, %s, %z, %t, %z {pool_size = [2, 2]} {{.*}} loc(fused["q", "pool", "dx"])
// CHECK-NEXT: relay.concatenate %[[P]], %{{.*}} loc("join")
relay.func @pools(%x: tensor<1x4x2x2xi8>, %s: tensor<f32>, %t: tensor<f32>, %z: tensor<i32>) -> (tensor<1x8x1x1xi8>) {
  %0 = relay.qnn.dequantize %x, %s, %z : (tensor<1x4x2x2xi8>, tensor<f32>, tensor<i32>) -> tensor<1x4x2x2xf32> loc("dx")
  %1 = relay.nn.global_avg_pool2d %0 : (tensor<1x4x2x2xf32>) -> tensor<1x4x1x1xf32> loc("pool")
  %2 = relay.qnn.quantize %1, %t, %z : (tensor<1x4x1x1xf32>, tensor<f32>, tensor<i32>) -> tensor<1x4x1x1xi8> loc("q")
  %3 = relay.qnn.dequantize %2, %t, %z : (tensor<1x4x1x1xi8>, tensor<f32>, tensor<i32>) -> tensor<1x4x1x1xf32> loc("da")
  %4 = relay.qnn.dequantize %2, %t, %z : (tensor<1x4x1x1xi8>, tensor<f32>, tensor<i32>) -> tensor<1x4x1x1xf32> loc("db")
  %5 = relay.concatenate %3, %4 {axis = 1} : (tensor<1x4x1x1xf32>, tensor<1x4x1x1xf32>) -> tensor<1x8x1x1xf32> loc("join")
  %6 = relay.qnn.quantize %5, %t, %z : (tensor<1x8x1x1xf32>, tensor<f32>, tensor<i32>) -> tensor<1x8x1x1xi8> loc("qj")
  relay.return %6 : tensor<1x8x1x1xi8> loc("return")
} loc("pools")

// A bias in the steps of the products is added to their sums, which one requantisation takes to the result.
// CHECK-LABEL: @sums
// CHECK:      %[[T:.*]] = relay.qnn.dense %x, {{.*}} loc(fused["dense", "dx", "dw"])
// CHECK:      %[[B:.*]] = relay.nn.bias_add %[[T]], %b {{.*}} -> tensor<1x2xi32> loc(fused["bias", "db"
// CHECK:      relay.qnn.requantize %[[B]], {{.*}} {axis = 1, rounding = "TOEVEN", compute_dtype = "float32", out_dtype = "uint8"} {{.*}} loc(fused["q", {{.*}}"dense", "dx", "dw"
relay.func @sums(%x: tensor<1x2xui8>) -> (tensor<1x2xui8>) {
  %s = relay.constant dense<0.5> : tensor<f32> loc("s")
  %t = relay.constant dense<[0.25, 2.0]> : tensor<2xf32> loc("t")
  %u = relay.constant dense<[0.125, 1.0]> : tensor<2xf32> loc("u")
  %z = relay.constant dense<0> : tensor<i32> loc("z")
  %w = relay.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi8> loc("w")
  %b = relay.constant dense<[5, 6]> : tensor<2xi32> loc("b")
  %0 = relay.qnn.dequantize %x, %s, %z : (tensor<1x2xui8>, tensor<f32>, tensor<i32>) -> tensor<1x2xf32> loc("dx")
  %1 = relay.qnn.dequantize %w, %t, %z {axis = 0} : (tensor<2x2xi8>, tensor<2xf32>, tensor<i32>) -> tensor<2x2xf32> loc("dw")
  %2 = relay.qnn.dequantize %b, %u, %z {axis = 0} : (tensor<2xi32>, tensor<2xf32>, tensor<i32>) -> tensor<2xf32> loc("db")
  %3 = relay.nn.dense %0, %1 : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32> loc("dense")
  %4 = relay.nn.bias_add %3, %2 : (tensor<1x2xf32>, tensor<2xf32>) -> tensor<1x2xf32> loc("bias")
  %5 = relay.qnn.quantize %4, %s, %z {out_dtype = "uint8"} : (tensor<1x2xf32>, tensor<f32>, tensor<i32>) -> tensor<1x2xui8> loc("q")
  relay.return %5 : tensor<1x2xui8> loc("return")
} loc("sums")

// One in other steps stays a float.
// CHECK-LABEL: @other_steps
// CHECK-NOT:  relay.qnn.requantize
// CHECK:      relay.nn.bias_add {{.*}} -> tensor<1x2xf32> loc("bias")
relay.func @other_steps(%x: tensor<1x2xui8>) -> (tensor<1x2xui8>) {
  %s = relay.constant dense<0.5> : tensor<f32> loc("s")
  %z = relay.constant dense<0> : tensor<i32> loc("z")
  %w = relay.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi8> loc("w")
  %b = relay.constant dense<[5, 6]> : tensor<2xi32> loc("b")
  %0 = relay.qnn.dequantize %x, %s, %z : (tensor<1x2xui8>, tensor<f32>, tensor<i32>) -> tensor<1x2xf32> loc("dx")
  %1 = relay.qnn.dequantize %w, %s, %z : (tensor<2x2xi8>, tensor<f32>, tensor<i32>) -> tensor<2x2xf32> loc("dw")
  %2 = relay.qnn.dequantize %b, %s, %z : (tensor<2xi32>, tensor<f32>, tensor<i32>) -> tensor<2xf32> loc("db")
  %3 = relay.nn.dense %0, %1 : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32> loc("dense")
  %4 = relay.nn.bias_add %3, %2 : (tensor<1x2xf32>, tensor<2xf32>) -> tensor<1x2xf32> loc("bias")
  %5 = relay.qnn.quantize %4, %s, %z {out_dtype = "uint8"} : (tensor<1x2xf32>, tensor<f32>, tensor<i32>) -> tensor<1x2xui8> loc("q")
  relay.return %5 : tensor<1x2xui8> loc("return")
} loc("other_steps")
