// RUN: xdsl-opt %s --print-debuginfo | filecheck %s
// RUN: xdsl-opt %s --print-debuginfo | xdsl-opt --print-debuginfo | filecheck %s
// RUN: xdsl-opt %s --print-op-generic --print-debuginfo | xdsl-opt --print-debuginfo | filecheck %s

// CHECK:      tir.prim_func @block
// CHECK-NEXT:   %taps = tir.alloc_const dense<[2.500000e-01, 5.000000e-01, 2.500000e-01]> : tensor<3xf32> : !tir.buffer<3xf32> loc("taps")
// CHECK:            tir.block "C" (%vi : spatial 30, %vk : reduce 16) at [%io * 8 + %ii, %k] where [%io * -8 + %ii * -1 + 29] >= 0 {
// CHECK-NEXT:         tir.init {
// CHECK-NEXT:           tir.store %zero, %c[%vi] : f32, !tir.buffer<30xf32> loc("init")
// CHECK-NEXT:         } loc("init")
// CHECK-NEXT:         %row = tir.decl_buffer %a[%vi, 0] : !tir.buffer<30x16xf32> -> !tir.buffer<16xf32> loc("row")
// CHECK-NEXT:         %column = tir.decl_buffer %a[0, %vk] strides [16] : !tir.buffer<30x16xf32> -> !tir.buffer<30xf32> loc("column")
// CHECK:            } loc("C")
tir.prim_func @block(%a: !tir.buffer<30x16xf32>, %c: !tir.buffer<30xf32>) outputs 1 {
  %taps = tir.alloc_const dense<[0.25, 0.5, 0.25]> : tensor<3xf32> : !tir.buffer<3xf32> loc("taps")
  %zero = arith.constant 0.0 : f32
  tir.for %io in 4 {
    tir.for %ii in 8 {
      tir.for %k in 16 {
        tir.block "C" (%vi : spatial 30, %vk : reduce 16) at [%io * 8 + %ii, %k] where [%io * -8 - %ii + 29] >= 0 {
          tir.init {
            tir.store %zero, %c[%vi] : f32, !tir.buffer<30xf32> loc("init")
          } loc("init")
          %row = tir.decl_buffer %a[%vi, 0] : !tir.buffer<30x16xf32> -> !tir.buffer<16xf32> loc("row")
          %column = tir.decl_buffer %a[0, %vk] strides [16] : !tir.buffer<30x16xf32> -> !tir.buffer<30xf32> loc("column")
          %0 = tir.load %row[%vk] : !tir.buffer<16xf32> -> f32
          %1 = tir.load %column[%vi] : !tir.buffer<30xf32> -> f32
          %2 = arith.addf %0, %1 : f32
          tir.store %2, %c[%vi] : f32, !tir.buffer<30xf32>
        } loc("C")
      }
    }
  }
}

// CHECK:      tir.prim_func @countdown
// CHECK:        tir.assert %ok, "n: expected at least 0" loc("check")
// CHECK:        tir.while {
// CHECK-NEXT:     %{{.*}} = tir.load %left[] : !tir.buffer<i32, local> -> i32 loc("left")
// CHECK-NEXT:     %go = arith.cmpi sgt, %{{.*}}, %zero : i32 loc("go")
// CHECK-NEXT:     tir.condition %go loc("go")
// CHECK-NEXT:   } do {
// CHECK:          tir.store %{{.*}}, %left[] : i32, !tir.buffer<i32, local> loc("left")
// CHECK-NEXT:   } loc("loop")
tir.prim_func @countdown(%n: !tir.buffer<i32>, %y: !tir.buffer<i32>) outputs 1 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %left = tir.alloc : !tir.buffer<i32, local>
  %first = tir.load %n[] : !tir.buffer<i32> -> i32
  %ok = arith.cmpi sge, %first, %zero : i32
  tir.assert %ok, "n: expected at least 0" loc("check")
  tir.store %first, %left[] : i32, !tir.buffer<i32, local>
  tir.while {
    %0 = tir.load %left[] : !tir.buffer<i32, local> -> i32 loc("left")
    %go = arith.cmpi sgt, %0, %zero : i32 loc("go")
    tir.condition %go loc("go")
  } do {
    %1 = tir.load %left[] : !tir.buffer<i32, local> -> i32
    %2 = arith.subi %1, %one : i32
    tir.store %2, %left[] : i32, !tir.buffer<i32, local> loc("left")
  } loc("loop")
}

// CHECK:      tir.prim_func @open
// CHECK:      tir.block "C" (%v : spatial 4*s0, %w : opaque 4) at [%i, %j] where [%i * -1] >= 0 or [%j - 2, s0 - 3] >= 0 {
tir.prim_func @open(%c: !tir.buffer<?xf32, [s0 * 4]>) outputs 1 sizes ["n"] {
  tir.for %i in s0 * 4 {
    tir.for %j in 4 {
      tir.block "C" (%v : spatial s0 * 4, %w : opaque 4) at [%i, %j] where [0 - %i] >= 0 or [%j - 2, s0 - 3] >= 0 {
      }
    }
  }
}
