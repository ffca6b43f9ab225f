// RUN: xdsl-opt %s --verify-diagnostics --parsing-diagnostics --split-input-file | filecheck %s

// CHECK: tir.buffer: expected a scope among global, local, got shared
tir.prim_func @f(%a: !tir.buffer<4xf32, shared>) outputs 0 {
}

// -----

// CHECK: tir.prim_func: expected buffers as arguments, got f32
tir.prim_func @f(%a: f32) outputs 0 {
}

// -----

// CHECK: tir.prim_func: expected arguments in scope global, got !tir.buffer<4xf32, local>
tir.prim_func @f(%a: !tir.buffer<4xf32, local>) outputs 0 {
}

// -----

// CHECK: tir.prim_func: expected outputs that are among its 1 arguments, got 2
tir.prim_func @f(%a: !tir.buffer<4xf32>) outputs 2 {
}

// -----

// CHECK: tir.for: expected a kind among serial, parallel, vectorized, unrolled, got sideways (layer 'conv1', m.onnx node 4)
"tir.for"() <{extent = 4 : i64, kind = "sideways"}> ({
^bb0(%i: index):
}) : () -> () loc("conv1"("m.onnx":4:0))

// -----

// CHECK: tir.for: expected a non-negative extent, got -1
"tir.for"() <{extent = -1 : i64, kind = "serial"}> ({
^bb0(%i: index):
}) : () -> ()

// -----

// CHECK: tir.for: expected one block argument of type index, got none
"tir.for"() <{extent = 4 : i64, kind = "serial"}> ({
^bb0:
}) : () -> ()

// -----

// CHECK: tir.alloc: expected a global buffer at the top of a tir.prim_func (a local one may stand anywhere), got one in tir.for (layer 'conv1', m.onnx node 4)
tir.prim_func @f(%a: !tir.buffer<4x8xf32>) outputs 0 {
  tir.for %i in 4 {
    %t = tir.alloc : !tir.buffer<4xf32> loc("conv1"("m.onnx":4:0))
  }
}

// -----

// CHECK: tir.load: expected 2 indices, got 1: (d0) -> (d0) (layer 'conv1', m.onnx node 4)
tir.prim_func @f(%a: !tir.buffer<4x8xf32>) outputs 0 {
  tir.for %i in 4 {
    %0 = tir.load %a[%i] : !tir.buffer<4x8xf32> -> f32 loc("conv1"("m.onnx":4:0))
  }
}

// -----

// CHECK: tir.load: expected a map over 1 index, as many as there are operands, got (d0, d1) -> (d0, d1)
tir.prim_func @f(%a: !tir.buffer<4x8xf32>) outputs 0 {
  tir.for %i in 4 {
    %0 = "tir.load"(%a, %i) <{map = affine_map<(d0, d1) -> (d0, d1)>}> : (!tir.buffer<4x8xf32>, index) -> f32
  }
}

// -----

// CHECK: tir.load: expected sizes of the function, which has 0, got s0
tir.prim_func @f(%a: !tir.buffer<4x8xf32>) outputs 0 {
  tir.for %i in 4 {
    %0 = "tir.load"(%a, %i) <{map = affine_map<(d0)[s0] -> (d0, s0)>}> : (!tir.buffer<4x8xf32>, index) -> f32
  }
}

// -----

// CHECK: tir.load: expected sums of indices times constants, divided by positive constants, got the divisor 0 in (d0 floordiv 0)
tir.prim_func @f(%a: !tir.buffer<4x8xf32>) outputs 0 {
  tir.for %i in 4 {
    %0 = tir.load %a[%i, %i floordiv 0] : !tir.buffer<4x8xf32> -> f32
  }
}

// -----

// CHECK: tir.load: expected an index in [0, 8) of dimension 1, got 8 (layer 'conv1', m.onnx node 4)
tir.prim_func @f(%a: !tir.buffer<4x8xf32>) outputs 0 {
  tir.for %i in 4 {
    %0 = tir.load %a[%i, 8] : !tir.buffer<4x8xf32> -> f32 loc("conv1"("m.onnx":4:0))
  }
}

// -----

// CHECK: tir.load: expected all 16 lanes inside the 32 elements of the buffer, got the last lane at element 39
tir.prim_func @f(%a: !tir.buffer<4x8xf32>) outputs 0 {
  %0 = tir.load %a[3, 0] : !tir.buffer<4x8xf32> -> vector<16xf32>
}

// -----

// CHECK: tir.load: expected f32 or a 1-d vector of f32, got i32
tir.prim_func @f(%a: !tir.buffer<4x8xf32>) outputs 0 {
  %0 = tir.load %a[0, 0] : !tir.buffer<4x8xf32> -> i32
}

// -----

// CHECK: tir.load: expected f32 or a 1-d vector of f32, got vector<2x4xf32>
tir.prim_func @f(%a: !tir.buffer<4x8xf32>) outputs 0 {
  %0 = tir.load %a[0, 0] : !tir.buffer<4x8xf32> -> vector<2x4xf32>
}

// -----

// CHECK: tir.load: expected a stride of 1, as a scalar has one lane, got 2
tir.prim_func @f(%a: !tir.buffer<4x8xf32>) outputs 0 {
  %0 = tir.load %a[0, 0] stride 2 : !tir.buffer<4x8xf32> -> f32
}

// -----

// CHECK: tir.load: expected a guard and its else value together, got a guard
tir.prim_func @f(%a: !tir.buffer<4x8xf32>) outputs 0 {
  %0 = "tir.load"(%a) <{map = affine_map<() -> (0, 0)>, guard = affine_map<() -> (0)>}> : (!tir.buffer<4x8xf32>) -> f32
}

// -----

// CHECK: tir.load: expected a guard and its else value together, got an else value
tir.prim_func @f(%a: !tir.buffer<4x8xf32>) outputs 0 {
  %0 = "tir.load"(%a) <{map = affine_map<() -> (0, 0)>, otherwise = 0.0 : f32}> : (!tir.buffer<4x8xf32>) -> f32
}

// -----

// CHECK: tir.load: expected an else value of type f32, got 0 : i32
tir.prim_func @f(%a: !tir.buffer<4x8xf32>) outputs 0 {
  tir.for %i in 9 {
    %0 = tir.load %a[0, %i] if [7 - %i] >= 0 else 0 : i32 : !tir.buffer<4x8xf32> -> f32
  }
}

// -----

// A guarded element may lie outside.
// CHECK-NEXT: builtin.module
tir.prim_func @f(%a: !tir.buffer<4x8xf32>) outputs 0 {
  %0 = tir.load %a[0, 9] if [-1] >= 0 else 0.0 : f32 : !tir.buffer<4x8xf32> -> f32
  tir.for %i in 4 {
    tir.if [%i - 9] >= 0 {
      tir.store %0, %a[9, 0] : f32, !tir.buffer<4x8xf32>
    }
  }
}

// -----

// CHECK: tir.store: expected an index in [0, 4) of dimension 0, got -1
tir.prim_func @f(%a: !tir.buffer<4x8xf32>) outputs 0 {
  %0 = tir.load %a[0, 0] : !tir.buffer<4x8xf32> -> f32
  tir.store %0, %a[-1, 0] : f32, !tir.buffer<4x8xf32>
}

// -----

// CHECK: tir.store: expected f32 or a 1-d vector of f32, got f64
tir.prim_func @f(%a: !tir.buffer<4x8xf32>) outputs 0 {
  %0 = arith.constant 0.0 : f64
  tir.store %0, %a[0, 0] : f64, !tir.buffer<4x8xf32>
}

// -----

// CHECK: tir.if: expected sums of indices times constants, divided by positive constants, got the divisor 0 in (d0 mod 0)
tir.prim_func @f(%a: !tir.buffer<4x8xf32>) outputs 0 {
  tir.for %i in 4 {
    tir.if [%i mod 0] >= 0 {
    }
  }
}

// -----

// CHECK: tir.if: expected branches without block arguments, got 1
tir.prim_func @f(%a: !tir.buffer<4x8xf32>) outputs 0 {
  "tir.if"() <{guard = affine_map<() -> (0)>}> ({
  ^bb0(%x: index):
  }) : () -> ()
}

// -----

// CHECK: tir.index: expected 1 index, got 2: () -> (0, 1)
tir.prim_func @f(%a: !tir.buffer<4x8xf32>) outputs 0 {
  %0 = tir.index [0, 1] : index
}

// -----

// CHECK: tir.index: expected a result of type index or a 1-d vector of index, got i64
tir.prim_func @f(%a: !tir.buffer<4x8xf32>) outputs 0 {
  %0 = tir.index [0] : i64
}

// -----

// CHECK: tir.index: expected no stride, as a scalar has one lane, got 1
tir.prim_func @f(%a: !tir.buffer<4x8xf32>) outputs 0 {
  %0 = tir.index [0] stride 1 : index
}

// -----

// CHECK: tir.compare: expected a comparison of vector<4xi32> among eq, ne, slt, sle, sgt, sge, ult, ule, ugt, uge, got ogt
tir.prim_func @f(%a: !tir.buffer<4x8xf32>) outputs 0 {
  %0 = arith.constant dense<0> : vector<4xi32>
  %1 = tir.compare ogt %0, %0 : vector<4xi32>
}

// -----

// CHECK: tir.compare: expected a result of type vector<4xi1>, got i1
tir.prim_func @f(%a: !tir.buffer<4x8xf32>) outputs 0 {
  %0 = arith.constant dense<0> : vector<4xi32>
  %1 = "tir.compare"(%0, %0) <{predicate = "eq"}> : (vector<4xi32>, vector<4xi32>) -> i1
}

// -----

// CHECK: tir.select: expected a condition of i1 per lane of vector<4xi32>, got i1
tir.prim_func @f(%a: !tir.buffer<4x8xf32>) outputs 0 {
  %0 = arith.constant dense<0> : vector<4xi32>
  %c = arith.constant true
  %1 = tir.select %c, %0, %0 : i1, vector<4xi32>
}

// -----

// CHECK: tir.cast: expected a conversion among sitofp, uitofp, fptosi, fptoui, trunci, extsi, extui, index_cast, got bitcast
tir.prim_func @f(%a: !tir.buffer<4x8xf32>) outputs 0 {
  %0 = arith.constant dense<0> : vector<4xi32>
  %1 = tir.cast bitcast %0 : vector<4xi32> to vector<4xf32>
}

// -----

// CHECK: tir.cast: expected as many lanes as in vector<4xi32>, got vector<8xf32>
tir.prim_func @f(%a: !tir.buffer<4x8xf32>) outputs 0 {
  %0 = arith.constant dense<0> : vector<4xi32>
  %1 = tir.cast sitofp %0 : vector<4xi32> to vector<8xf32>
}

// -----

// CHECK: tir.cast: expected fptosi from float to integer, got vector<4xi32> to vector<4xf32>
tir.prim_func @f(%a: !tir.buffer<4x8xf32>) outputs 0 {
  %0 = arith.constant dense<0> : vector<4xi32>
  %1 = tir.cast fptosi %0 : vector<4xi32> to vector<4xf32>
}

// -----

// CHECK: tir.cast: expected extsi from integer to wider integer, got vector<4xi32> to vector<4xi8>
tir.prim_func @f(%a: !tir.buffer<4x8xf32>) outputs 0 {
  %0 = arith.constant dense<0> : vector<4xi32>
  %1 = tir.cast extsi %0 : vector<4xi32> to vector<4xi8>
}
