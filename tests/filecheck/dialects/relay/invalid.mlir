// RUN: xdsl-opt %s --verify-diagnostics --parsing-diagnostics --split-input-file | filecheck %s

// CHECK: relay.add: expected shapes that broadcast, got [4] and [3] (layer 'add', m.onnx node 3)
relay.func @f(%x: tensor<4xf32>, %y: tensor<3xf32>) -> () {
  %0 = relay.add %x, %y : (tensor<4xf32>, tensor<3xf32>) -> tensor<4xf32> loc("add"("m.onnx":3:0))
  relay.return
}

// -----

// CHECK: relay.add: expected operand 1 of element type f32, got tensor<4xi32>
relay.func @f(%x: tensor<4xf32>, %y: tensor<4xi32>) -> () {
  %0 = relay.add %x, %y : (tensor<4xf32>, tensor<4xi32>) -> tensor<4xf32>
  relay.return
}

// -----

// CHECK: relay.exp: expected result tensor<4xf32>, got tensor<5xf32>
relay.func @f(%x: tensor<4xf32>) -> () {
  %0 = relay.exp %x : (tensor<4xf32>) -> tensor<5xf32>
  relay.return
}

// -----

// CHECK: i32 should be of base attribute tensor
relay.func @f(%x: i32) -> () {
  %0 = relay.exp %x : (i32) -> i32
  relay.return
}

// -----

// CHECK: relay.cast: expected a dtype among float16, float32, float64, bfloat16, bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, int4, uint4, int2, uint2, float8_e4m3fn, float8_e4m3fnuz, float8_e5m2, float8_e5m2fnuz, float8_e8m0fnu, float4_e2m1fn, got 'float'
relay.func @f(%x: tensor<4xf32>) -> () {
  %0 = relay.cast %x {dtype = "float"} : (tensor<4xf32>) -> tensor<4xf32>
  relay.return
}

// -----

// CHECK: relay.clip: expected attribute a_max, got ['a_min']
relay.func @f(%x: tensor<4xf32>) -> () {
  %0 = relay.clip %x {a_min = 0.0} : (tensor<4xf32>) -> tensor<4xf32>
  relay.return
}

// -----

// CHECK: relay.nn.leaky_relu: expected an attribute among ['alpha'], got 'slope'
relay.func @f(%x: tensor<4xf32>) -> () {
  %0 = relay.nn.leaky_relu %x {slope = 0.1} : (tensor<4xf32>) -> tensor<4xf32>
  relay.return
}

// -----

// CHECK: relay.nn.leaky_relu: expected a float such as 1.0 for alpha, got "much"
relay.func @f(%x: tensor<4xf32>) -> () {
  %0 = relay.nn.leaky_relu %x {alpha = "much"} : (tensor<4xf32>) -> tensor<4xf32>
  relay.return
}

// -----

// CHECK: relay.nn.leaky_relu: expected a float such as 1.0 for alpha, got 1 : i64
relay.func @f(%x: tensor<4xf32>) -> () {
  %0 = relay.nn.leaky_relu %x {alpha = 1} : (tensor<4xf32>) -> tensor<4xf32>
  relay.return
}

// -----

// CHECK: relay.constant: expected a pool key or a dense literal, got 3 : i32
relay.func @f() -> () {
  %0 = relay.constant 3 : i32
  relay.return
}

// -----

// CHECK: relay.constant: expected either a pool key or a literal, got neither
relay.func @f() -> () {
  %0 = "relay.constant"() : () -> tensor<2xf32>
  relay.return
}

// -----

// CHECK: relay.constant: expected a literal of type tensor<3xf32>, got tensor<2xf32>
relay.func @f() -> () {
  %0 = "relay.constant"() <{literal = dense<1.0> : tensor<2xf32>}> : () -> tensor<3xf32>
  relay.return
}

// -----

// CHECK: Expected 1 operand, but got 2
relay.func @f(%x: tensor<2xf32>) -> () {
  %0 = relay.exp %x, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  relay.return
}

// -----

// CHECK: relay.func: expected block arguments of the function's input types, got tensor<3xf32>
"relay.func"() <{sym_name = "f", function_type = (tensor<2xf32>) -> ()}> ({
^bb0(%x: tensor<3xf32>):
  relay.return
}) : () -> ()

// -----

// CHECK: relay.func: expected tensor<3xf32> returned, got tensor<2xf32>
relay.func @f(%x: tensor<2xf32>) -> (tensor<3xf32>) {
  relay.return %x : tensor<2xf32>
}

// -----

// CHECK: Operation relay.exp terminates block in single-block region but is not a terminator
relay.func @f(%x: tensor<2xf32>) -> () {
  %0 = relay.exp %x : (tensor<2xf32>) -> tensor<2xf32>
}

// -----

// CHECK: relay.isnan: expected result tensor<4xi1>, got tensor<4xf32>
relay.func @f(%x: tensor<4xf32>) -> () {
  %0 = relay.isnan %x : (tensor<4xf32>) -> tensor<4xf32>
  relay.return
}

// -----

// CHECK: relay.logical_not: expected a boolean operand, got tensor<4xi32>
relay.func @f(%x: tensor<4xi32>) -> () {
  %0 = relay.logical_not %x : (tensor<4xi32>) -> tensor<4xi32>
  relay.return
}

// -----

// CHECK: relay.bitwise_not: expected an operand of integers or booleans, got tensor<4xf32>
relay.func @f(%x: tensor<4xf32>) -> () {
  %0 = relay.bitwise_not %x : (tensor<4xf32>) -> tensor<4xf32>
  relay.return
}
