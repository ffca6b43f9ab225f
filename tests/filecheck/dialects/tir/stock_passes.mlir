// RUN: xdsl-opt %s -p cse | filecheck %s --check-prefix=CSE
// RUN: xdsl-opt %s -p dce | filecheck %s --check-prefix=DCE
// RUN: xdsl-opt %s -p canonicalize | filecheck %s --check-prefix=CANON

// Equal loads merge unless something writes in between; a prefetch and an assertion stay where they are.
// CSE-LABEL:  tir.prim_func @loads
// CSE:          %0 = tir.load %a[%i] : !tir.buffer<8xf32> -> f32
// CSE-NEXT:     tir.store %0, %out[%i] : f32, !tir.buffer<8xf32>
// CSE-NEXT:     %1 = tir.load %a[%i] : !tir.buffer<8xf32> -> f32
// CSE-NEXT:     %2 = arith.addf %1, %1 : f32
// CSE-NEXT:     tir.prefetch %a[%i + 4] : !tir.buffer<8xf32>
// CSE-NEXT:     tir.for %j in 2 {
// CSE-NEXT:       %3 = tir.load %a[%j] : !tir.buffer<8xf32> -> f32
// CSE-NEXT:       tir.store %3, %out[%j] : f32, !tir.buffer<8xf32>
// CSE-NEXT:     }
// CSE-NEXT:     %4 = tir.load %a[%i] : !tir.buffer<8xf32> -> f32
// CSE-NEXT:     tir.call_extern "f"(%a) : (!tir.buffer<8xf32>) -> ()
// CSE-NEXT:     %5 = tir.load %a[%i] : !tir.buffer<8xf32> -> f32
tir.prim_func @loads(%a: !tir.buffer<8xf32>, %out: !tir.buffer<8xf32>) outputs 1 {
  tir.for %i in 8 {
    %0 = tir.load %a[%i] : !tir.buffer<8xf32> -> f32
    tir.store %0, %out[%i] : f32, !tir.buffer<8xf32>
    %1 = tir.load %a[%i] : !tir.buffer<8xf32> -> f32
    %2 = tir.load %a[%i] : !tir.buffer<8xf32> -> f32
    %3 = arith.addf %1, %2 : f32
    tir.prefetch %a[%i + 4] : !tir.buffer<8xf32>
    tir.for %j in 2 {
      %4 = tir.load %a[%j] : !tir.buffer<8xf32> -> f32
      tir.store %4, %out[%j] : f32, !tir.buffer<8xf32>
    }
    %5 = tir.load %a[%i] : !tir.buffer<8xf32> -> f32
    tir.call_extern "f"(%a) : (!tir.buffer<8xf32>) -> ()
    %6 = tir.load %a[%i] : !tir.buffer<8xf32> -> f32
    %7 = arith.addf %5, %6 : f32
    %8 = arith.addf %7, %3 : f32
    tir.store %8, %out[%i] : f32, !tir.buffer<8xf32>
  }
}

// Loads, buffers, views, loops and branches that serve nothing go; stores, calls, assertions and prefetches stay.
// DCE-LABEL:  tir.prim_func @dead
// DCE-NEXT:     %t = tir.alloc : !tir.buffer<4xf32, local>
// DCE-NEXT:     %yes = arith.constant true
// DCE-NEXT:     tir.for %i in 4 {
// DCE-NEXT:       %0 = tir.load %a[%i] : !tir.buffer<4xf32> -> f32
// DCE-NEXT:       tir.store %0, %t[%i] : f32, !tir.buffer<4xf32, local>
// DCE-NEXT:     }
// DCE-NEXT:     tir.assert %yes, "never"
// DCE-NEXT:     tir.prefetch %a[0] : !tir.buffer<4xf32>
// DCE-NEXT:     tir.call_extern "f"() : () -> ()
// DCE-NEXT:   }
tir.prim_func @dead(%a: !tir.buffer<4xf32>) outputs 1 {
  %t = tir.alloc : !tir.buffer<4xf32, local>
  %u = tir.alloc : !tir.buffer<4xf32, local>
  %c = tir.alloc_const dense<[0.25, 0.5]> : tensor<2xf32> : !tir.buffer<2xf32>
  %v = tir.decl_buffer %a[0] : !tir.buffer<4xf32> -> !tir.buffer<2xf32>
  %yes = arith.constant true
  tir.for %i in 4 {
    %0 = tir.load %a[%i] : !tir.buffer<4xf32> -> f32
    tir.store %0, %t[%i] : f32, !tir.buffer<4xf32, local>
  }
  tir.for %i in 4 {
    tir.if [%i - 1] >= 0 {
      %w = tir.alloc : !tir.buffer<4xf32, local>
      %1 = tir.load %a[%i] : !tir.buffer<4xf32> -> f32
    }
  }
  tir.while {
    tir.condition %yes
  } do {
    %2 = tir.load %u[0] : !tir.buffer<4xf32, local> -> f32
  }
  tir.assert %yes, "never"
  tir.prefetch %a[0] : !tir.buffer<4xf32>
  tir.call_extern "f"() : () -> ()
}

// Indices, guards, branches and loops that the ranges decide.
// CANON-LABEL: tir.prim_func @decided
// CANON-NEXT:    tir.for %i in 4 {
// CANON-NEXT:      %0 = tir.load %a[%i, 0] : !tir.buffer<4x8xf32> -> f32
// CANON-NEXT:      tir.store %0, %out[%i] : f32, !tir.buffer<4xf32>
// CANON-NEXT:      %{{.*}} = arith.constant 7.000000e+00 : f32
// CANON-NEXT:      tir.store %{{.*}}, %out[%i] : f32, !tir.buffer<4xf32>
// CANON-NEXT:      %{{.*}} = arith.constant 3 : index
// CANON-NEXT:      tir.call_extern "f"(%{{.*}}) : (index) -> ()
// CANON-NEXT:    }
// CANON-NEXT:  }
tir.prim_func @decided(%a: !tir.buffer<4x8xf32>, %out: !tir.buffer<4xf32>) outputs 1 {
  tir.for %i in 4 {
    tir.for %j in 1 {
      tir.if [%i + %j] >= 0 {
        %0 = tir.load %a[(%i * 8 + %j) floordiv 8, %j] if [%i] >= 0 else 0.0 : f32 : !tir.buffer<4x8xf32> -> f32
        tir.store %0, %out[%i + %j] : f32, !tir.buffer<4xf32>
      }
    }
    tir.if [%i - 4] >= 0 {
      tir.call_extern "never"() : () -> ()
    }
    tir.for %k in 0 {
      tir.call_extern "never"() : () -> ()
    }
    %1 = tir.load %a[%i, 9] if [%i - 4] >= 0 else 7.0 : f32 : !tir.buffer<4x8xf32> -> f32
    tir.store %1, %out[%i] : f32, !tir.buffer<4xf32>
    %two = arith.constant 2 : index
    %2 = tir.index [%two + 1] : index
    tir.call_extern "f"(%2) : (index) -> ()
  }
}
