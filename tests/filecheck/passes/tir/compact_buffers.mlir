// RUN: whence-opt %s -p "tir-compact-buffers" --print-debuginfo | filecheck %s

// Each pass of %i stores a row and reads it; the first element of the box is that of the pass.
// CHECK-LABEL: tir.prim_func @rows
// CHECK-NEXT:   tir.for %i in 30 {
// CHECK-NEXT:     %y = tir.alloc : !tir.buffer<1x16xf32, local> loc("y")
// CHECK:            tir.store %0, %y[%u + %i * -1, %v] : f32, !tir.buffer<1x16xf32, local> loc("store")
// CHECK:            tir.load %y[%{{.*}} + %i * -1, %{{.*}}] : !tir.buffer<1x16xf32, local> -> f32 loc("load")
tir.prim_func @rows(%x: !tir.buffer<30x16xf32>, %z: !tir.buffer<30x16xf32>) outputs 1 {
  %y = tir.alloc : !tir.buffer<30x16xf32> loc("y")
  tir.for %i in 30 {
    tir.for %j in 16 {
      tir.block "Y" (%u : spatial 30, %v : spatial 16) at [%i, %j] {
        %0 = tir.load %x[%u, %v] : !tir.buffer<30x16xf32> -> f32 loc("load")
        tir.store %0, %y[%u, %v] : f32, !tir.buffer<30x16xf32> loc("store")
      } loc("Y")
    } loc("loop")
    tir.for %k in 16 {
      tir.block "Z" (%u : spatial 30, %v : spatial 16) at [%i, %k] {
        %0 = tir.load %y[%u, 15 - %v] : !tir.buffer<30x16xf32> -> f32 loc("load")
        tir.store %0, %z[%u, %v] : f32, !tir.buffer<30x16xf32> loc("store")
      } loc("Z")
    } loc("loop")
  } loc("loop")
} loc("f")

// A sum that starts in the pass, and a window of it: 2 rows of 4 elements, of an open number.
// CHECK-LABEL: tir.prim_func @sums
// CHECK:        %y = tir.alloc : !tir.buffer<2x4xf32, local> loc("y")
// CHECK:        tir.store %zero, %y[%{{.*}} + %i * -1, %{{.*}}] : f32
// CHECK:        tir.load %y[%{{.*}} + 1 + %i * -1, %{{.*}}]
tir.prim_func @sums(%x: !tir.buffer<?x4x8xf32, [s0 + 1]>, %z: !tir.buffer<?x4xf32, [s0]>) outputs 1 sizes ["n"] {
  %zero = arith.constant 0.0 : f32 loc("zero")
  %y = tir.alloc : !tir.buffer<?x4xf32, [s0 + 1]> loc("y")
  tir.for %i in s0 {
    tir.for %r in 2 {
      tir.for %j in 4 {
        tir.for %k in 8 {
          tir.block "Y" (%u : spatial s0 + 1, %v : spatial 4, %w : reduce 8) at [%i + %r, %j, %k] {
            tir.init {
              tir.store %zero, %y[%u, %v] : f32, !tir.buffer<?x4xf32, [s0 + 1]> loc("start")
            } loc("init")
            %0 = tir.load %y[%u, %v] : !tir.buffer<?x4xf32, [s0 + 1]> -> f32 loc("load")
            %1 = tir.load %x[%u, %v, %w] : !tir.buffer<?x4x8xf32, [s0 + 1]> -> f32 loc("load")
            %2 = arith.addf %0, %1 : f32 loc("add")
            tir.store %2, %y[%u, %v] : f32, !tir.buffer<?x4xf32, [s0 + 1]> loc("store")
          } loc("Y")
        } loc("loop")
      } loc("loop")
    } loc("loop")
    tir.for %j in 4 {
      tir.block "Z" (%u : spatial s0, %v : spatial 4) at [%i, %j] {
        %0 = tir.load %y[%u, %v] : !tir.buffer<?x4xf32, [s0 + 1]> -> f32 loc("load")
        %1 = tir.load %y[%u + 1, %v] : !tir.buffer<?x4xf32, [s0 + 1]> -> f32 loc("load")
        %2 = arith.addf %0, %1 : f32 loc("add")
        tir.store %2, %z[%u, %v] : f32, !tir.buffer<?x4xf32, [s0]> loc("store")
      } loc("Z")
    } loc("loop")
  } loc("loop")
} loc("f")

// A row that only the pass before stored: all rows stay.
// CHECK-LABEL: tir.prim_func @earlier
// CHECK:        %y = tir.alloc : !tir.buffer<31xf32> loc("y")
tir.prim_func @earlier(%x: !tir.buffer<30xf32>, %z: !tir.buffer<30xf32>) outputs 1 {
  %y = tir.alloc : !tir.buffer<31xf32> loc("y")
  tir.for %i in 30 {
    tir.block "Y" (%u : spatial 30) at [%i] {
      %0 = tir.load %x[%u] : !tir.buffer<30xf32> -> f32 loc("load")
      tir.store %0, %y[%u + 1] : f32, !tir.buffer<31xf32> loc("store")
    } loc("Y")
    tir.block "Z" (%u : spatial 29) at [%i - 1] where [%i - 1] >= 0 {
      %0 = tir.load %y[%u + 1] : !tir.buffer<31xf32> -> f32 loc("load")
      tir.store %0, %z[%u + 1] : f32, !tir.buffer<30xf32> loc("store")
    } loc("Z")
  } loc("loop")
} loc("f")

// A store that a condition may skip, and a sum that other passes go on with: both stay.
// CHECK-LABEL: tir.prim_func @skipped
// CHECK:        %y = tir.alloc : !tir.buffer<30xf32> loc("y")
// CHECK:        %w = tir.alloc : !tir.buffer<8xf32> loc("w")
tir.prim_func @skipped(%x: !tir.buffer<4x8xf32>, %z: !tir.buffer<4x8xf32>) outputs 1 {
  %zero = arith.constant 0.0 : f32 loc("zero")
  %y = tir.alloc : !tir.buffer<30xf32> loc("y")
  %w = tir.alloc : !tir.buffer<8xf32> loc("w")
  tir.for %k in 4 {
    tir.for %i in 8 {
      tir.block "Y" (%u : spatial 8) at [%i] where [%k - 1] >= 0 {
        tir.store %zero, %y[%u] : f32, !tir.buffer<30xf32> loc("store")
      } loc("Y")
      tir.block "W" (%u : spatial 8, %v : reduce 4) at [%i, %k] {
        tir.init {
          tir.store %zero, %w[%u] : f32, !tir.buffer<8xf32> loc("start")
        } loc("init")
        %0 = tir.load %w[%u] : !tir.buffer<8xf32> -> f32 loc("load")
        %1 = tir.load %x[%v, %u] : !tir.buffer<4x8xf32> -> f32 loc("load")
        %2 = arith.addf %0, %1 : f32 loc("add")
        tir.store %2, %w[%u] : f32, !tir.buffer<8xf32> loc("store")
      } loc("W")
      tir.block "Z" (%u : spatial 4, %v : spatial 8) at [%k, %i] {
        %0 = tir.load %y[%v] : !tir.buffer<30xf32> -> f32 loc("load")
        %1 = tir.load %w[%v] : !tir.buffer<8xf32> -> f32 loc("load")
        %2 = arith.addf %0, %1 : f32 loc("add")
        tir.store %2, %z[%u, %v] : f32, !tir.buffer<4x8xf32> loc("store")
      } loc("Z")
    } loc("loop")
  } loc("loop")
} loc("f")

// Passes at once have a buffer each; what lives in a loop already keeps its place.
// CHECK-LABEL: tir.prim_func @at_once
// CHECK:        tir.for parallel %i in 30 {
// CHECK-NEXT:     %y = tir.alloc : !tir.buffer<1x1xf32, local> loc("y")
// CHECK-NEXT:     tir.block "Y"
tir.prim_func @at_once(%x: !tir.buffer<30xf32>, %z: !tir.buffer<30xf32>) outputs 1 {
  tir.for parallel %i in 30 {
    %y = tir.alloc : !tir.buffer<30x30xf32, local> loc("y")
    tir.block "Y" (%u : spatial 30) at [%i] {
      %0 = tir.load %x[%u] : !tir.buffer<30xf32> -> f32 loc("load")
      tir.store %0, %y[%u, 3] : f32, !tir.buffer<30x30xf32, local> loc("store")
    } loc("Y")
    tir.block "Z" (%u : spatial 30) at [%i] {
      %0 = tir.load %y[%u, 3] : !tir.buffer<30x30xf32, local> -> f32 loc("load")
      tir.store %0, %z[%u] : f32, !tir.buffer<30xf32> loc("store")
    } loc("Z")
  } loc("loop")
} loc("f")
