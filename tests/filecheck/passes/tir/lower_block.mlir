// RUN: whence-opt %s -p "tir-lower-block" --print-debuginfo | filecheck %s
// RUN: whence-opt %s -p "tir-lower-block,tir-simplify" | filecheck %s --check-prefix SIMPLE

// A guard around all of it; the init runs before the loop of the reduction.
// CHECK-LABEL: tir.prim_func @rows
// CHECK:      tir.if [%io * -8 + %ii * -1 + 29] >= 0 {
// CHECK-NEXT:   %vi = tir.index [%io * 8 + %ii] : index loc("init")
// CHECK-NEXT:   tir.store %zero, %c[%vi] : f32, !tir.buffer<30xf32> loc("store")
// CHECK-NEXT: } loc("init")
// CHECK-NEXT: tir.for %k in 16 {
// CHECK-NEXT:   tir.if [%io * -8 + %ii * -1 + 29] >= 0 {
// CHECK-NEXT:     %vi_1 = tir.index [%io * 8 + %ii] : index loc("C")
// CHECK-NEXT:     %vk = tir.index [%k] : index loc("C")
// CHECK-NEXT:     %0 = tir.load %a[%vi_1, %vk] : !tir.buffer<30x16xf32> -> f32 loc("load")
// CHECK:      } loc("C")
// SIMPLE-LABEL: tir.prim_func @rows
// SIMPLE:       %0 = tir.load %a[%io * 8 + %ii, %k] : !tir.buffer<30x16xf32> -> f32
tir.prim_func @rows(%a: !tir.buffer<30x16xf32>, %c: !tir.buffer<30xf32>) outputs 1 {
  %zero = arith.constant 0.0 : f32 loc("zero")
  tir.for %io in 4 {
    tir.for %ii in 8 {
      tir.for %k in 16 {
        tir.block "C" (%vi : spatial 30, %vk : reduce 16) at [%io * 8 + %ii, %k] where [%io * -8 - %ii + 29] >= 0 {
          tir.init {
            tir.store %zero, %c[%vi] : f32, !tir.buffer<30xf32> loc("store")
          } loc("init")
          %0 = tir.load %a[%vi, %vk] : !tir.buffer<30x16xf32> -> f32 loc("load")
          %1 = tir.load %c[%vi] : !tir.buffer<30xf32> -> f32 loc("load")
          %2 = arith.addf %0, %1 : f32 loc("add")
          tir.store %2, %c[%vi] : f32, !tir.buffer<30xf32> loc("store")
        } loc("C")
      } loc("loop")
    } loc("loop")
  } loc("loop")
} loc("f")

// Blocks in blocks; without reduce variables the init always runs.
// CHECK-LABEL: tir.prim_func @nested
// CHECK:      %v = tir.index [%i] : index loc("outer")
// CHECK-NEXT: tir.if [] >= 0 {
// CHECK-NEXT:   tir.store %one, %c[%v] : f32, !tir.buffer<4xf32> loc("store")
// CHECK-NEXT: } loc("init")
// CHECK-NEXT: %w = tir.index [%v * -1 + 3] : index loc("inner")
// SIMPLE-LABEL: tir.prim_func @nested
// SIMPLE:       tir.store %one, %c[%i] : f32
// SIMPLE:       tir.store %one, %c[%i * -1 + 3] : f32
tir.prim_func @nested(%c: !tir.buffer<4xf32>) outputs 1 {
  %one = arith.constant 1.0 : f32 loc("one")
  tir.for %i in 4 {
    tir.block "outer" (%v : spatial 4) at [%i] {
      tir.init {
        tir.store %one, %c[%v] : f32, !tir.buffer<4xf32> loc("store")
      } loc("init")
      tir.block "inner" (%w : opaque 4) at [3 - %v] {
        tir.store %one, %c[%w] : f32, !tir.buffer<4xf32> loc("store")
      } loc("inner")
    } loc("outer")
  } loc("loop")
} loc("f")

// Extents of the kernel's sizes, and a condition of alternatives.
// CHECK-LABEL: tir.prim_func @rolled
// CHECK:      %v = tir.index [%i * 4 + %j] : index loc("halo")
// CHECK-LABEL: tir.prim_func @either
// CHECK:      %{{.*}} = tir.index [%i * -1] : index loc("halo")
// CHECK:      %{{.*}} = arith.ori %{{.*}}, %{{.*}} : i1 loc("halo")
// CHECK:      tir.if [%{{.*}} - 1] >= 0 {
// CHECK-NEXT:   %v = tir.index [%i * 4 + %j] : index loc("halo")
// SIMPLE-LABEL: tir.prim_func @either
// SIMPLE:       tir.store %one, %c[%i * 4 + %j] : f32
tir.prim_func @rolled(%c: !tir.buffer<?xf32, [s0 * 4]>) outputs 1 sizes ["n"] {
  %one = arith.constant 1.0 : f32 loc("one")
  tir.for %i in s0 {
    tir.for %j in 4 {
      tir.block "halo" (%v : spatial s0 * 4) at [%i * 4 + %j] where [s0 * 4 - 1 - %i * 4 - %j] >= 0 {
        tir.store %one, %c[%v] : f32, !tir.buffer<?xf32, [s0 * 4]> loc("store")
      } loc("halo")
    } loc("loop")
  } loc("loop")
} loc("f")

tir.prim_func @either(%c: !tir.buffer<16xf32>) outputs 1 {
  %one = arith.constant 1.0 : f32 loc("one")
  tir.for %i in 4 {
    tir.for %j in 4 {
      tir.block "halo" (%v : spatial 16) at [%i * 4 + %j] where [0 - %i] >= 0 or [%j - 2, 2 - %i] >= 0 {
        tir.store %one, %c[%v] : f32, !tir.buffer<16xf32> loc("store")
      } loc("halo")
    } loc("loop")
  } loc("loop")
} loc("f")

// A product that a reduction adds rounds once; another sum of a product stays.
// CHECK-LABEL: tir.prim_func @sum
tir.prim_func @sum(%a: !tir.buffer<8x4xf32>, %b: !tir.buffer<4xf32>, %c: !tir.buffer<8xf32>) outputs 1 {
  %zero = arith.constant 0.0 : f32
  tir.for %i in 8 {
    tir.for %k in 4 {
      tir.block "C" (%vi : spatial 8, %vk : reduce 4) at [%i, %k] {
        tir.init {
          tir.store %zero, %c[%vi] : f32, !tir.buffer<8xf32>
        }
        %0 = tir.load %c[%vi] : !tir.buffer<8xf32> -> f32
        %1 = tir.load %a[%vi, %vk] : !tir.buffer<8x4xf32> -> f32
        %2 = tir.load %b[%vk] : !tir.buffer<4xf32> -> f32
        %3 = arith.mulf %1, %2 : f32
        %4 = arith.addf %0, %3 : f32
        // CHECK: math.fma
        tir.store %4, %c[%vi] : f32, !tir.buffer<8xf32>
      }
    }
    tir.block "D" (%vi : spatial 8) at [%i] {
      %5 = tir.load %a[%vi, 0] : !tir.buffer<8x4xf32> -> f32
      %6 = arith.mulf %5, %5 : f32
      %7 = tir.load %c[%vi] : !tir.buffer<8xf32> -> f32
      %8 = arith.addf %7, %6 : f32
      // CHECK: arith.mulf
      // CHECK: arith.addf
      tir.store %8, %c[%vi] : f32, !tir.buffer<8xf32>
    }
  }
}

// A loop of data inside of the reduction runs for the init on its own, which starts where the outer reduction does.
// CHECK-LABEL: tir.prim_func @tiled
// CHECK:        tir.for %i in 4 {
// CHECK-NEXT:     tir.for vectorized %j in 8 {
// CHECK-NEXT:       %vi = tir.index [%i * 8 + %j] : index loc("init")
// CHECK-NEXT:       tir.store %zero, %c[%vi] : f32, !tir.buffer<32xf32> loc("store")
// CHECK-NEXT:     } loc("loop j")
// CHECK-NEXT:     tir.for %ko in 4 {
// CHECK-NEXT:       tir.for vectorized %j_1 in 8 {
// CHECK-NEXT:         tir.for %ki in 4 {
// CHECK-NOT:            tir.if
tir.prim_func @tiled(%a: !tir.buffer<32x16xf32>, %c: !tir.buffer<32xf32>) outputs 1 {
  %zero = arith.constant 0.0 : f32 loc("zero")
  tir.for %i in 4 {
    tir.for %ko in 4 {
      tir.for vectorized %j in 8 {
        tir.for %ki in 4 {
          tir.block "C" (%vi : spatial 32, %vk : reduce 16) at [%i * 8 + %j, %ko * 4 + %ki] {
            tir.init {
              tir.store %zero, %c[%vi] : f32, !tir.buffer<32xf32> loc("store")
            } loc("init")
            %0 = tir.load %a[%vi, %vk] : !tir.buffer<32x16xf32> -> f32 loc("load")
            %1 = tir.load %c[%vi] : !tir.buffer<32xf32> -> f32 loc("load")
            %2 = arith.addf %0, %1 : f32 loc("add")
            tir.store %2, %c[%vi] : f32, !tir.buffer<32xf32> loc("store")
          } loc("C")
        } loc("loop")
      } loc("loop j")
    } loc("loop")
  } loc("loop")
} loc("f")

// Elements that several points accumulate start anew at each: the nest stays in one, and the init of an outer
// reduction in a branch.
// CHECK-LABEL: tir.prim_func @shared
// CHECK:        tir.for %ko in 4 {
// CHECK-NEXT:     tir.for %j in 8 {
// CHECK-NEXT:       tir.if [%ko * -4] >= 0 {
// CHECK-NEXT:         %vi = tir.index [%j] : index loc("init")
// CHECK-NEXT:         tir.store %zero, %c[%vi floordiv 2] : f32, !tir.buffer<4xf32> loc("store")
// CHECK-NEXT:       } loc("init")
// CHECK-NEXT:       tir.for %ki in 4 {
tir.prim_func @shared(%a: !tir.buffer<8x16xf32>, %c: !tir.buffer<4xf32>) outputs 1 {
  %zero = arith.constant 0.0 : f32 loc("zero")
  tir.for %ko in 4 {
    tir.for %j in 8 {
      tir.for %ki in 4 {
        tir.block "C" (%vi : spatial 8, %vk : reduce 16) at [%j, %ko * 4 + %ki] {
          tir.init {
            tir.store %zero, %c[%vi floordiv 2] : f32, !tir.buffer<4xf32> loc("store")
          } loc("init")
          %0 = tir.load %a[%vi, %vk] : !tir.buffer<8x16xf32> -> f32 loc("load")
          %1 = tir.load %c[%vi floordiv 2] : !tir.buffer<4xf32> -> f32 loc("load")
          %2 = arith.addf %0, %1 : f32 loc("add")
          tir.store %2, %c[%vi floordiv 2] : f32, !tir.buffer<4xf32> loc("store")
        } loc("C")
      } loc("loop")
    } loc("loop")
  } loc("loop")
} loc("f")

// Another statement in the loop: the test stays where the block is.
// CHECK-LABEL: tir.prim_func @beside
// CHECK:        tir.for %k in 16 {
// CHECK:          tir.if [%k * -1] >= 0 {
tir.prim_func @beside(%a: !tir.buffer<16xf32>, %c: !tir.buffer<1xf32>, %d: !tir.buffer<16xf32>) outputs 2 {
  %zero = arith.constant 0.0 : f32 loc("zero")
  tir.for %k in 16 {
    %first = tir.load %c[0] : !tir.buffer<1xf32> -> f32 loc("load")
    tir.block "C" (%vk : reduce 16) at [%k] {
      tir.init {
        tir.store %zero, %c[0] : f32, !tir.buffer<1xf32> loc("store")
      } loc("init")
      %0 = tir.load %a[%vk] : !tir.buffer<16xf32> -> f32 loc("load")
      %1 = tir.load %c[0] : !tir.buffer<1xf32> -> f32 loc("load")
      %2 = arith.addf %0, %1 : f32 loc("add")
      tir.store %2, %c[0] : f32, !tir.buffer<1xf32> loc("store")
    } loc("C")
    tir.store %first, %d[%k] : f32, !tir.buffer<16xf32> loc("store")
  } loc("loop")
} loc("f")
