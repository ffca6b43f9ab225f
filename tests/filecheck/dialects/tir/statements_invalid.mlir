// RUN: xdsl-opt %s --verify-diagnostics --parsing-diagnostics --split-input-file | filecheck %s

// CHECK: tir.while: expected a condition that ends in tir.condition, got nothing (layer 'loop', m.onnx node 2)
tir.prim_func @f() outputs 0 {
  tir.while {
  } do {
  } loc("loop"("m.onnx":2:0))
}

// -----

// CHECK: tir.alloc_const: expected numbers of type tensor<4xf32>, got tensor<3xf32>
tir.prim_func @f() outputs 0 {
  %t = tir.alloc_const dense<[0.25, 0.5, 0.25]> : tensor<3xf32> : !tir.buffer<4xf32>
}

// -----

// CHECK: tir.store: expected a buffer that may be written, got a constant one
tir.prim_func @f() outputs 0 {
  %t = tir.alloc_const dense<[0.25, 0.5]> : tensor<2xf32> : !tir.buffer<2xf32>
  %0 = tir.load %t[0] : !tir.buffer<2xf32> -> f32
  tir.store %0, %t[1] : f32, !tir.buffer<2xf32>
}

// -----

// CHECK: tir.decl_buffer: expected 2 indices, got 1: (d0) -> (d0)
tir.prim_func @f(%a: !tir.buffer<8x4xf32>) outputs 0 {
  tir.for %i in 8 {
    %row = tir.decl_buffer %a[%i] : !tir.buffer<8x4xf32> -> !tir.buffer<4xf32>
  }
}

// -----

// CHECK: tir.decl_buffer: expected a view inside [0, 4) of dimension 1, got [2, 6)
tir.prim_func @f(%a: !tir.buffer<8x4xf32>) outputs 0 {
  %row = tir.decl_buffer %a[0, 2] : !tir.buffer<8x4xf32> -> !tir.buffer<4xf32>
}

// -----

// CHECK: tir.decl_buffer: expected a view of f32 in scope global, got !tir.buffer<4xi32>
tir.prim_func @f(%a: !tir.buffer<8x4xf32>) outputs 0 {
  %row = tir.decl_buffer %a[0, 0] : !tir.buffer<8x4xf32> -> !tir.buffer<4xi32>
}

// -----

// CHECK: tir.decl_buffer: expected 1 stride, got 2
tir.prim_func @f(%a: !tir.buffer<8x4xf32>) outputs 0 {
  %row = tir.decl_buffer %a[0, 0] strides [4, 1] : !tir.buffer<8x4xf32> -> !tir.buffer<4xf32>
}

// -----

// CHECK: tir.block: expected a kind among spatial, reduce, opaque, got ordered (layer 'C', m.onnx node 2)
tir.prim_func @f() outputs 0 {
  tir.for %i in 8 {
    tir.block "C" (%v : ordered 8) at [%i] {
    } loc("C"("m.onnx":2:0))
  }
}

// -----

// CHECK: tir.block: expected 2 bindings, got 1: (d0) -> (d0)
tir.prim_func @f() outputs 0 {
  tir.for %i in 8 {
    tir.block "C" (%v : spatial 8, %w : spatial 8) at [%i] {
    }
  }
}

// -----

// CHECK: tir.init: expected tir.init first in its block, but for its buffers, got it behind others
tir.prim_func @f() outputs 0 {
  tir.for %i in 8 {
    tir.block "C" (%v : reduce 8) at [%i] {
      %0 = arith.constant 0.0 : f32
      tir.init {
      }
    }
  }
}

// -----

// CHECK: tir.block: expected non-negative extents, got -8
tir.prim_func @f() outputs 0 {
  tir.for %i in 8 {
    tir.block "C" (%v : spatial -8) at [%i] {
    }
  }
}

// -----

// CHECK: tir.block: expected sizes of the function, which has 1, got s1
tir.prim_func @f(%a: !tir.buffer<?xf32, [s0]>) outputs 1 sizes ["n"] {
  tir.for %i in s0 {
    tir.block "C" (%v : spatial s1) at [%i] {
    }
  }
}

// -----

// CHECK: tir.block: expected guard expressions in each alternative of where, got an empty one
tir.prim_func @f() outputs 0 {
  tir.for %i in 8 {
    tir.block "C" (%v : spatial 8) at [%i] where [%i] >= 0 or [] >= 0 {
    }
  }
}
