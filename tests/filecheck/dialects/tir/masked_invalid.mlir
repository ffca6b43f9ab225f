// RUN: whence-opt %s --verify-diagnostics --split-input-file | filecheck %s

// CHECK: tir.mask: expected 2 steps, got 1 (layer 'conv1')
tir.prim_func @f(%a: !tir.buffer<8xf32>) outputs 0 {
  %0 = tir.mask [3, 4] steps [-1] >= 0 : vector<8xi1> loc("conv1")
}

// -----

// CHECK: tir.mask: expected a 1-d vector of i1 as result, got vector<8xi32>
tir.prim_func @f(%a: !tir.buffer<8xf32>) outputs 0 {
  %0 = tir.mask [3] steps [-1] >= 0 : vector<8xi32>
}

// -----

// CHECK: tir.masked_load: expected 1 index, got 2
tir.prim_func @f(%a: !tir.buffer<8xf32>) outputs 0 {
  %0 = tir.mask [3] steps [-1] >= 0 : vector<8xi1>
  %1 = tir.masked_load %0, %a[0, 0] else dense<0.0> : vector<8xf32> : !tir.buffer<8xf32> -> vector<8xf32>
}

// -----

// CHECK: tir.masked_load: expected an else value of type vector<8xf32>, got 0.000000e+00 : f32
tir.prim_func @f(%a: !tir.buffer<8xf32>) outputs 0 {
  %0 = tir.mask [3] steps [-1] >= 0 : vector<8xi1>
  %1 = tir.masked_load %0, %a[0] else 0.0 : f32 : !tir.buffer<8xf32> -> vector<8xf32>
}

// -----

// CHECK: tir.masked_store: expected a mask of type vector<4xi1>, got vector<8xi1>
"builtin.module"() ({
  "tir.prim_func"() <{sym_name = "f", outputs = 0 : i64}> ({
  ^bb0(%a: !tir.buffer<8xf32>):
    %m = "tir.mask"() <{map = affine_map<() -> (3)>, steps = array<i64: -1>}> : () -> vector<8xi1>
    %v = "arith.constant"() <{value = dense<0.0> : vector<4xf32>}> : () -> vector<4xf32>
    "tir.masked_store"(%v, %m, %a) <{map = affine_map<() -> (0)>, stride = 1 : i64}> : (vector<4xf32>, vector<8xi1>, !tir.buffer<8xf32>) -> ()
  }) : () -> ()
}) : () -> ()
