// RUN: xdsl-opt %s -p 'relay-qnn-canonicalize{written_out=true}' --print-debuginfo | filecheck %s

// CHECK-LABEL: @round_trip
// CHECK:      %[[Q:.*]] = relay.divide %x, %s : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32> loc("quantize"("m.onnx":0:0))
// CHECK-NEXT: %[[R:.*]] = relay.round %[[Q]] : (tensor<4xf32>) -> tensor<4xf32> loc("quantize"("m.onnx":0:0))
// CHECK-NEXT: %[[C:.*]] = relay.clip %[[R]] {a_min = -128.0, a_max = 127.0} {{.*}} loc("quantize"("m.onnx":0:0))
// CHECK-NEXT: %[[I:.*]] = relay.cast %[[C]] {dtype = "int8"} {{.*}} loc("quantize"("m.onnx":0:0))
// CHECK-NEXT: %[[W:.*]] = relay.cast %[[I]] {dtype = "int32"} {{.*}} loc("dequantize"("m.onnx":1:0))
// CHECK-NEXT: %[[A:.*]] = relay.subtract %[[W]], %z {{.*}} loc("dequantize"("m.onnx":1:0))
// CHECK-NEXT: %[[F:.*]] = relay.cast %[[A]] {dtype = "float32"} {{.*}} loc("dequantize"("m.onnx":1:0))
// CHECK-NEXT: relay.multiply %[[F]], %s {{.*}} loc("dequantize"("m.onnx":1:0))
relay.func @round_trip(%x: tensor<4xf32>, %s: tensor<f32>, %z: tensor<i32>) -> (tensor<4xf32>) {
  %none = relay.constant dense<0> : tensor<i32>
  %0 = relay.qnn.quantize %x, %s, %none : (tensor<4xf32>, tensor<f32>, tensor<i32>) -> tensor<4xi8> loc("quantize"("m.onnx":0:0))
  %1 = relay.qnn.dequantize %0, %s, %z : (tensor<4xi8>, tensor<f32>, tensor<i32>) -> tensor<4xf32> loc("dequantize"("m.onnx":1:0))
  relay.return %1 : tensor<4xf32> loc("return")
} loc("round_trip")

// TVM's own arithmetic: 0.5 is 2^30 * 2^(0 - 30).
// CHECK-LABEL: @fixed_point
// CHECK:      %[[M:.*]] = relay.constant dense<1073741824> : tensor<i32> loc("requantize")
// CHECK-NEXT: %[[S:.*]] = relay.constant dense<0> : tensor<i32> loc("requantize")
// CHECK-NEXT: %[[R:.*]] = relay.constant dense<0> : tensor<i32> loc("requantize")
// CHECK-NEXT: relay.fixed_point_multiply_per_axis %x, %[[M]], %[[S]], %[[R]] {rounding = "TONEAREST"} {{.*}} loc("requantize")
// CHECK-NEXT: relay.clip {{.*}} loc("requantize")
// CHECK-NEXT: relay.cast {{.*}} loc("requantize")
relay.func @fixed_point(%x: tensor<4xi32>) -> (tensor<4xi8>) {
  %old = relay.constant dense<0.5> : tensor<f32>
  %new = relay.constant dense<1.0> : tensor<f32>
  %none = relay.constant dense<0> : tensor<i32>
  %0 = relay.qnn.requantize %x, %old, %none, %new, %none {rounding = "TONEAREST"} : (tensor<4xi32>, tensor<f32>, tensor<i32>, tensor<f32>, tensor<i32>) -> tensor<4xi8> loc("requantize")
  relay.return %0 : tensor<4xi8> loc("return")
} loc("fixed_point")

// CHECK-LABEL: @table
// CHECK:      %[[W:.*]] = relay.cast %x {dtype = "int32"} {{.*}} loc("absolute")
// CHECK-NEXT: %[[L:.*]] = relay.constant dense<-128> : tensor<i32> loc("absolute")
// CHECK-NEXT: %[[I:.*]] = relay.subtract %[[W]], %[[L]] {{.*}} loc("absolute")
// CHECK-NEXT: %[[T:.*]] = relay.constant {{.*}} tensor<256xi8> loc("absolute")
// CHECK-NEXT: relay.take %[[T]], %[[I]] {{.*}} loc("absolute")
relay.func @table(%x: tensor<4xi8>) -> (tensor<4xi8>) {
  %scale = relay.constant dense<0.5> : tensor<f32>
  %zero = relay.constant dense<3> : tensor<i32>
  %0 = relay.qnn.abs %x, %scale, %zero, %scale, %zero : (tensor<4xi8>, tensor<f32>, tensor<i32>, tensor<f32>, tensor<i32>) -> tensor<4xi8> loc("absolute")
  relay.return %0 : tensor<4xi8> loc("return")
} loc("table")
