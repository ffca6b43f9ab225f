// RUN: whence-opt %s --verify-diagnostics --split-input-file | filecheck %s

// CHECK: tir.prefetch: expected a locality from 0 to 3, got 4 (layer 'conv1')
tir.prim_func @f(%a: !tir.buffer<8xf32>) outputs 0 {
  tir.prefetch %a[0] locality 4 : !tir.buffer<8xf32> loc("conv1")
}

// -----

// CHECK: tir.prefetch: expected 2 indices, got 1
tir.prim_func @f(%a: !tir.buffer<8x8xf32>) outputs 0 {
  tir.prefetch %a[0] : !tir.buffer<8x8xf32>
}
