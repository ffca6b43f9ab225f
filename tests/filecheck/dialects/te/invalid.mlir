// RUN: xdsl-opt %s --verify-diagnostics --parsing-diagnostics --split-input-file | filecheck %s

// CHECK: te.func: expected tensors in and out, got f32
te.func @f(%x: f32) -> () {
  te.return
}

// -----

// CHECK: te.func: expected tensor<4xf32> returned, got tensor<4x8xf32>
te.func @f(%x: tensor<4x8xf32>) -> (tensor<4xf32>) {
  te.return %x : tensor<4x8xf32>
}

// -----

// CHECK: te.func: expected block arguments of the function's input types, got tensor<4xf32>
"te.func"() <{sym_name = "f", function_type = (tensor<8xf32>) -> ()}> ({
^bb0(%x: tensor<4xf32>):
  te.return
}) : () -> ()

// -----

// CHECK: te.func: expected a body that ends in te.return, got test.termop
te.func @f(%x: tensor<4xf32>) -> () {
  "test.termop"() : () -> ()
}

// -----

// CHECK: te.func: expected stages (te.compute, te.scan, te.extern) and te.return only, got arith.constant
te.func @f(%x: tensor<4x8xf32>) -> (tensor<4xf32>) {
  %k = arith.constant 0 : index
  %c = te.compute "c" (%i in 4) : tensor<4xf32> {
    %0 = te.read %x[%i, 0] : tensor<4x8xf32>
    te.yield %0 : f32
  } loc("conv1"("m.onnx":4:0))
  te.return %c : tensor<4xf32>
}

// -----

// CHECK: te.compute: expected a label of its own, as schedules know a stage by its label, got "c" again (layer 'conv1', m.onnx node 4)
te.func @f(%x: tensor<4x8xf32>) -> (tensor<4xf32>) {
  %c = te.compute "c" (%i in 4) : tensor<4xf32> {
    %0 = te.read %x[%i, 0] : tensor<4x8xf32>
    te.yield %0 : f32
  } loc("conv1"("m.onnx":4:0))
  %d = te.compute "c" (%i in 4) : tensor<4xf32> {
    %0 = te.read %x[%i, 0] : tensor<4x8xf32>
    te.yield %0 : f32
  } loc("conv1"("m.onnx":4:0))
  te.return %c : tensor<4xf32>
}

// -----

// CHECK: te.compute: expected a result of shape (4,), as the axes say, got tensor<5xf32> (layer 'conv1', m.onnx node 4)
te.func @f(%x: tensor<4x8xf32>) -> (tensor<5xf32>) {
  %c = te.compute "c" (%i in 4) : tensor<5xf32> {
    %0 = te.read %x[%i, 0] : tensor<4x8xf32>
    te.yield %0 : f32
  } loc("conv1"("m.onnx":4:0))
  te.return %c : tensor<5xf32>
}

// -----

// CHECK: te.compute: expected a block argument of type index per axis, 1 in all, got none
te.func @f(%x: tensor<4x8xf32>) -> (tensor<4xf32>) {
  %c = "te.compute"() <{label = "c", extents = array<i64: 4>, reduce_extents = array<i64>}> ({
    %0 = arith.constant 0.0 : f32
    te.yield %0 : f32
  }) : () -> tensor<4xf32>
  te.return %c : tensor<4xf32>
}

// -----

// CHECK: te.compute: expected a reducer when there are reduce axes, and only then, got no reducer and 1 axes
te.func @f(%x: tensor<4x8xf32>) -> (tensor<4xf32>) {
  %c = "te.compute"() <{label = "c", extents = array<i64: 4>, reduce_extents = array<i64: 8>}> ({
  ^bb0(%i: index, %k: index):
    %0 = te.read %x[%i, %k] : tensor<4x8xf32>
    te.yield %0 : f32
  }) : () -> tensor<4xf32>
  te.return %c : tensor<4xf32>
}

// -----

// CHECK: te.compute: expected a reducer among sum, prod, max, min, or a combiner, got mean
te.func @f(%x: tensor<4x8xf32>) -> (tensor<4xf32>) {
  %c = "te.compute"() <{label = "c", extents = array<i64: 4>, reduce_extents = array<i64: 8>, reducer = "mean"}> ({
  ^bb0(%i: index, %k: index):
    %0 = te.read %x[%i, %k] : tensor<4x8xf32>
    te.yield %0 : f32
  }) : () -> tensor<4xf32>
  te.return %c : tensor<4xf32>
}

// -----

// CHECK: te.compute: expected a body that ends in te.yield, got test.termop
te.func @f(%x: tensor<4x8xf32>) -> (tensor<4xf32>) {
  %c = te.compute "c" (%i in 4) : tensor<4xf32> {
    "test.termop"() : () -> ()
  } loc("conv1"("m.onnx":4:0))
  te.return %c : tensor<4xf32>
}

// -----

// CHECK: te.compute: expected a f32 yielded, got f64
te.func @f(%x: tensor<4x8xf32>) -> (tensor<4xf32>) {
  %c = te.compute "c" (%i in 4) : tensor<4xf32> {
    %0 = arith.constant 0.0 : f64
    te.yield %0 : f64
  } loc("conv1"("m.onnx":4:0))
  te.return %c : tensor<4xf32>
}

// -----

// CHECK: te.read: expected 2 indices, got 1: (d0) -> (d0) (layer 'conv1', m.onnx node 4)
te.func @f(%x: tensor<4x8xf32>) -> (tensor<4xf32>) {
  %c = te.compute "c" (%i in 4) : tensor<4xf32> {
    %0 = te.read %x[%i] : tensor<4x8xf32> loc("conv1"("m.onnx":4:0))
    te.yield %0 : f32
  } loc("conv1"("m.onnx":4:0))
  te.return %c : tensor<4xf32>
}

// -----

// CHECK: te.read: expected a result of type f32, got i32
te.func @f(%x: tensor<4x8xf32>) -> (tensor<4xf32>) {
  %c = te.compute "c" (%i in 4) : tensor<4xf32> {
    %0 = "te.read"(%x, %i) <{map = affine_map<(d0) -> (d0, d0)>}> : (tensor<4x8xf32>, index) -> i32
    te.yield %0 : i32
  } loc("conv1"("m.onnx":4:0))
  te.return %c : tensor<4xf32>
}

// -----

// CHECK: te.read: expected an else value of type f32, got 0 : i32
te.func @f(%x: tensor<4x8xf32>) -> (tensor<4xf32>) {
  %c = te.compute "c" (%i in 4) : tensor<4xf32> {
    %0 = te.read %x[%i, 0] else 0 : i32 : tensor<4x8xf32>
    te.yield %0 : f32
  } loc("conv1"("m.onnx":4:0))
  te.return %c : tensor<4xf32>
}

// -----

// CHECK: te.read: expected a tensor that is computed before, got the result of its own compute "c"
te.func @f(%x: tensor<4x8xf32>) -> (tensor<4xf32>) {
  %c = te.compute "c" (%i in 4) : tensor<4xf32> {
    %0 = te.read %c[%i] : tensor<4xf32>
    te.yield %0 : f32
  } loc("conv1"("m.onnx":4:0))
  te.return %c : tensor<4xf32>
}

// -----

// CHECK: te.read: expected sums of indices times constants, divided by positive constants, got the divisor 0 in (d0 mod 0)
te.func @f(%x: tensor<4x8xf32>) -> (tensor<4xf32>) {
  %c = te.compute "c" (%i in 4) : tensor<4xf32> {
    %0 = te.read %x[%i mod 0, 0] : tensor<4x8xf32>
    te.yield %0 : f32
  } loc("conv1"("m.onnx":4:0))
  te.return %c : tensor<4xf32>
}

// -----

// CHECK: te.read: expected a tensor type, got f32
te.func @f(%x: tensor<4x8xf32>) -> (tensor<4xf32>) {
  %c = te.compute "c" (%i in 4) : tensor<4xf32> {
    %0 = te.read %x[%i] : f32
    te.yield %0 : f32
  } loc("conv1"("m.onnx":4:0))
  te.return %c : tensor<4xf32>
}

// -----

// CHECK: te.index: expected 1 index, got 2: (d0) -> (d0, 1)
te.func @f(%x: tensor<4x8xf32>) -> (tensor<4xf32>) {
  %c = te.compute "c" (%i in 4) : tensor<4xf32> {
    %0 = te.index [%i, 1]
    %1 = te.read %x[%i, 0] : tensor<4x8xf32>
    te.yield %1 : f32
  } loc("conv1"("m.onnx":4:0))
  te.return %c : tensor<4xf32>
}

// -----

// CHECK: 'te.read' expects parent op 'te.compute'
te.func @f(%x: tensor<4x8xf32>) -> (tensor<4xf32>) {
  %0 = te.read %x[0, 0] : tensor<4x8xf32>
  %c = te.compute "c" (%i in 4) : tensor<4xf32> {
    %1 = te.read %x[%i, 0] : tensor<4x8xf32>
    te.yield %1 : f32
  } loc("conv1"("m.onnx":4:0))
  te.return %c : tensor<4xf32>
}

// -----

// CHECK: 'te.index' expects parent op 'te.compute'
te.func @f(%x: tensor<4x8xf32>) -> (tensor<4xf32>) {
  %0 = te.index [0]
  %c = te.compute "c" (%i in 4) : tensor<4xf32> {
    %1 = te.read %x[%i, 0] : tensor<4x8xf32>
    te.yield %1 : f32
  } loc("conv1"("m.onnx":4:0))
  te.return %c : tensor<4xf32>
}

// -----

// CHECK: te.compute: expected one result of the reducer sum, got 2
te.func @f(%x: tensor<4x8xf32>) -> () {
  %c, %d = te.compute "c" (%i in 4) sum(%k in 8) : tensor<4xf32>, tensor<4xf32> {
    %0 = te.read %x[%i, %k] : tensor<4x8xf32>
    te.yield %0, %0 : f32, f32
  } loc("conv1"("m.onnx":4:0))
  te.return
}

// -----

// CHECK: te.compute: expected a f32, i32 yielded, got f32
te.func @f(%x: tensor<4x8xf32>) -> () {
  %c, %d = te.compute "c" (%i in 4) : tensor<4xf32>, tensor<4xi32> {
    %0 = te.read %x[%i, 0] : tensor<4x8xf32>
    te.yield %0 : f32
  } loc("conv1"("m.onnx":4:0))
  te.return
}

// -----

// CHECK: te.compute: expected a combiner of (f32, f32), got (f32, i32) (layer 'conv1', m.onnx node 4)
te.func @f(%x: tensor<4x8xf32>) -> () {
  %c = te.compute "c" (%i in 4) reduce "xor"(%k in 8) : tensor<4xf32> {
    %0 = te.read %x[%i, %k] : tensor<4x8xf32>
    te.yield %0 : f32
  } combine(%a: f32, %b: i32) from(0.0 : f32) {
    te.yield %a : f32
  } loc("conv1"("m.onnx":4:0))
  te.return
}

// -----

// CHECK: te.compute: expected an identity of (f32), got (i32) (layer 'conv1', m.onnx node 4)
te.func @f(%x: tensor<4x8xf32>) -> () {
  %c = te.compute "c" (%i in 4) reduce "xor"(%k in 8) : tensor<4xf32> {
    %0 = te.read %x[%i, %k] : tensor<4x8xf32>
    te.yield %0 : f32
  } combine(%a: f32, %b: f32) from(0 : i32) {
    te.yield %a : f32
  } loc("conv1"("m.onnx":4:0))
  te.return
}

// -----

// CHECK: te.compute: expected a reducer among sum, prod, max, min, or a combiner, got xor
te.func @f(%x: tensor<4x8xf32>) -> () {
  %c = te.compute "c" (%i in 4) reduce "xor"(%k in 8) : tensor<4xf32> {
    %0 = te.read %x[%i, %k] : tensor<4x8xf32>
    te.yield %0 : f32
  } loc("conv1"("m.onnx":4:0))
  te.return
}

// -----

// CHECK: te.scan: expected an init that is some first rows of tensor<9x8xf32>, got tensor<1x7xf32> (layer 'conv1', m.onnx node 4)
te.func @f(%x: tensor<1x7xf32>) -> () {
  %s = te.state "s" : tensor<9x8xf32>
  %c = te.compute "c" (%t in 9, %i in 8) : tensor<9x8xf32> {
    %0 = te.read %s[%t - 1, %i] : tensor<9x8xf32>
    te.yield %0 : f32
  }
  %r = te.scan "r" (%s from %x next %c : tensor<1x7xf32> -> tensor<9x8xf32>) loc("conv1"("m.onnx":4:0))
  te.return
}

// -----

// CHECK: te.scan: expected an init of 1 to 9 steps, got 10 (layer 'conv1', m.onnx node 4)
te.func @f(%x: tensor<10xf32>) -> () {
  %s = te.state "s" : tensor<9xf32>
  %c = te.compute "c" (%t in 9) : tensor<9xf32> {
    %0 = te.read %s[%t - 1] : tensor<9xf32>
    te.yield %0 : f32
  }
  %r = te.scan "r" (%s from %x next %c : tensor<10xf32> -> tensor<9xf32>) loc("conv1"("m.onnx":4:0))
  te.return
}

// -----

// CHECK: te.scan: expected an update that te.compute makes, got an argument
te.func @f(%x: tensor<9xf32>) -> () {
  %s = te.state "s" : tensor<9xf32>
  %r = te.scan "r" (%s from %x next %x : tensor<9xf32> -> tensor<9xf32>)
  te.return
}

// -----

// CHECK: te.scan: expected states that te.state makes, got tensor<9xf32>
te.func @f(%x: tensor<9xf32>) -> () {
  %r = te.scan "r" (%x from %x next %x : tensor<9xf32> -> tensor<9xf32>)
  te.return
}

// -----

// CHECK: te.state: expected one te.scan of the state, got 0 (layer 'conv1', m.onnx node 4)
te.func @f() -> () {
  %s = te.state "s" : tensor<9xf32> loc("conv1"("m.onnx":4:0))
  te.return
}

// -----

// CHECK: te.extern: expected tensor arguments below 2, got 2 (layer 'conv1', m.onnx node 4)
te.func @f(%x: tensor<9xf32>) -> () {
  %c = te.extern "c" "g"(%x, out 1) : (tensor<9xf32>) -> (tensor<9xf32>) loc("conv1"("m.onnx":4:0))
  te.return
}

// -----

// CHECK: te.extern: expected each operand once, in the order of its first use, got the order [1, 0]
te.func @f(%x: tensor<9xf32>, %y: tensor<9xf32>) -> () {
  "te.extern"(%x, %y) <{label = "c", callee = "g", arguments = [#builtin.int<1>, #builtin.int<0>]}> : (tensor<9xf32>, tensor<9xf32>) -> ()
  te.return
}

// -----

// CHECK: te.extern: expected tensors and numbers as arguments, got "a"
te.func @f() -> () {
  te.extern "c" "g"("a") : () -> ()
  te.return
}

// -----

// CHECK: te.hybrid: expected a buffer argument per input and output, 2 in all, got 1
te.func @f(%x: tensor<9xf32>) -> () {
  %c = te.hybrid "c"(%x) : (tensor<9xf32>) -> (tensor<9xf32>) {
  ^bb0(%a: !tir.buffer<9xf32>):
    tir.for %i in 4 {
      %0 = tir.load %a[%i] : !tir.buffer<9xf32> -> f32
    }
  }
  te.return
}

// -----

// CHECK: te.compute: expected a start that depends on data axes only, got one that depends on k
te.func @f(%x: tensor<4x9xf32>) -> (tensor<4xf32>) {
  %c = te.compute "c" (%i in 4) sum(%k in 9) : tensor<4xf32> {
    %0 = te.read %x[%i, %k] : tensor<4x9xf32>
    te.yield %0, %0 : f32, f32
  }
  te.return %c : tensor<4xf32>
}
