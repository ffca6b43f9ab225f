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

// CHECK: te.func: expected te.compute and te.return only, got arith.constant
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
