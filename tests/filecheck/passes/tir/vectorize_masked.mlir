// RUN: whence-opt %s -p "tir-vectorize" --print-debuginfo | filecheck %s

// An uneven split: the branch becomes a mask, for its loads and stores.
// CHECK-LABEL: tir.prim_func @tail
// CHECK:      tir.for %i in 2 {
// CHECK-NEXT:   %0 = tir.mask [%i * -8 + 12] steps [-1] >= 0 : vector<8xi1> loc("if")
// CHECK-NEXT:   %1 = tir.masked_load %0, %a[%i * 8] else dense<0.000000e+00> : vector<8xf32> : {{.*}} loc("l")
// CHECK-NEXT:   tir.masked_store %1, %0, %out[%i * 8] : vector<8xf32>, !tir.buffer<13xf32> loc("s")
tir.prim_func @tail(%a: !tir.buffer<13xf32>, %out: !tir.buffer<13xf32>) outputs 1 {
  tir.for %i in 2 {
    tir.for vectorized %j in 8 {
      tir.if likely [12 - %i * 8 - %j] >= 0 {
        %0 = tir.load %a[%i * 8 + %j] : !tir.buffer<13xf32> -> f32 loc("l")
        tir.store %0, %out[%i * 8 + %j] : f32, !tir.buffer<13xf32> loc("s")
      } loc("if")
    } loc("j")
  } loc("i")
} loc("f")

// A padded read: only the load is masked, lanes outside have its value. What is there in every lane is just read.
// CHECK-LABEL: tir.prim_func @pad
// CHECK:      %0 = tir.mask [-1] steps [1] >= 0 : vector<16xi1> loc("l")
// CHECK-NEXT: %1 = tir.masked_load %0, %a[-1] else dense<7.000000e+00> : vector<16xf32>
// CHECK-NEXT: tir.store %1, %out[0] : vector<16xf32>, !tir.buffer<16xf32> loc("s")
tir.prim_func @pad(%a: !tir.buffer<16xf32>, %out: !tir.buffer<16xf32>) outputs 1 {
  tir.for vectorized %j in 16 {
    %0 = tir.load %a[%j - 1] if [%j - 1] >= 0 else 7.0 : f32 : !tir.buffer<16xf32> -> f32 loc("l")
    tir.store %0, %out[%j] : f32, !tir.buffer<16xf32> loc("s")
  } loc("j")
} loc("f")

// An extent that is none of a vector: whole registers, then lanes of which some do nothing.
// CHECK-LABEL: tir.prim_func @extent
// CHECK:      tir.for {{.*}}%j in 2 {
// CHECK:        tir.store %{{.*}}, %out[%j * 16] : vector<16xf32>
// CHECK:      tir.mask [10] steps [-1] >= 0 : vector<16xi1> loc("j")
// CHECK:      tir.masked_store %{{.*}}, %{{.*}}, %out[32] : vector<16xf32>
tir.prim_func @extent(%a: !tir.buffer<43xf32>, %out: !tir.buffer<43xf32>) outputs 1 {
  tir.for vectorized %j in 43 {
    %0 = tir.load %a[%j] : !tir.buffer<43xf32> -> f32 loc("l")
    tir.store %0, %out[%j] : f32, !tir.buffer<43xf32> loc("s")
  } loc("j")
} loc("f")

// A branch and its other side.
// CHECK-LABEL: tir.prim_func @sides
// CHECK:      [[own:%.*]] = tir.mask [-3] steps [1] >= 0 : vector<8xi1> loc("if")
// CHECK:      tir.masked_store %{{.*}}, [[own]], %out[0]
// CHECK:      [[other:%.*]] = arith.xori [[own]], %{{.*}} : vector<8xi1> loc("if")
// CHECK:      tir.masked_store %{{.*}}, [[other]], %out[0]
tir.prim_func @sides(%a: !tir.buffer<8xf32>, %out: !tir.buffer<8xf32>) outputs 1 {
  %c = arith.constant 1.0 : f32 loc("c")
  tir.for vectorized %j in 8 {
    tir.if [%j - 3] >= 0 {
      %0 = tir.load %a[%j] : !tir.buffer<8xf32> -> f32 loc("l")
      tir.store %0, %out[%j] : f32, !tir.buffer<8xf32> loc("s")
    } else {
      tir.store %c, %out[%j] : f32, !tir.buffer<8xf32> loc("t")
    } loc("if")
  } loc("j")
} loc("f")

// A division by what may be 0 in a lane that does not divide: vectors where every lane does, else a loop.
// CHECK-LABEL: tir.prim_func @divides
// CHECK:      tir.if likely [%i * -8 + 5] >= 0
// CHECK:        arith.divsi %{{.*}}, %{{.*}} : vector<8xi32>
// CHECK:      } else {
// CHECK-NEXT:   tir.for %j in 8 {
// CHECK-NEXT:     tir.if likely [%i * -8 + 12 + %j * -1] >= 0
// CHECK:            arith.divsi %{{.*}}, %{{.*}} : i32
tir.prim_func @divides(%a: !tir.buffer<13xi32>, %b: !tir.buffer<13xi32>, %out: !tir.buffer<13xi32>) outputs 1 {
  tir.for %i in 2 {
    tir.for vectorized %j in 8 {
      tir.if likely [12 - %i * 8 - %j] >= 0 {
        %0 = tir.load %a[%i * 8 + %j] : !tir.buffer<13xi32> -> i32 loc("l")
        %1 = tir.load %b[%i * 8 + %j] : !tir.buffer<13xi32> -> i32 loc("l")
        %2 = arith.divsi %0, %1 : i32 loc("d")
        tir.store %2, %out[%i * 8 + %j] : i32, !tir.buffer<13xi32> loc("s")
      } loc("if")
    } loc("j")
  } loc("i")
} loc("f")

// The rows of a local buffer become as long as the vectors that a mask lets end in them; those of other buffers stay.
// CHECK-LABEL: tir.prim_func @rows
// CHECK:      %t = tir.alloc : !tir.buffer<3x16xf32, local>
// CHECK:        tir.masked_store %{{.*}}, %{{.*}}, %t[%i, 0] : vector<16xf32>, !tir.buffer<3x16xf32, local>
// CHECK:        tir.masked_store %{{.*}}, %{{.*}}, %y[%i_1, 0] : vector<16xf32>, !tir.buffer<3x12xf32>
tir.prim_func @rows(%x: !tir.buffer<3x12xf32>, %y: !tir.buffer<3x12xf32>) outputs 1 {
  %t = tir.alloc : !tir.buffer<3x12xf32, local> loc("t")
  tir.for %i in 3 {
    tir.for vectorized %j in 12 {
      %0 = tir.load %x[%i, %j] : !tir.buffer<3x12xf32> -> f32 loc("l")
      tir.store %0, %t[%i, %j] : f32, !tir.buffer<3x12xf32, local> loc("s")
    } loc("j")
  } loc("i")
  tir.for %i in 3 {
    tir.for vectorized %j in 12 {
      %0 = tir.load %t[2 - %i, %j] : !tir.buffer<3x12xf32, local> -> f32 loc("l")
      tir.store %0, %y[%i, %j] : f32, !tir.buffer<3x12xf32> loc("s")
    } loc("j")
  } loc("i")
} loc("f")
