// RUN: whence-opt -p tir-interleave-stores --audit --print-debuginfo %s | filecheck %s

// Shuffles and stores have the location of the store that they stand for; the last one is behind a mask.

tir.prim_func @rows(%a: !tir.buffer<2x7xf32> loc("a"), %b: !tir.buffer<7x2xf32> loc("b")) outputs 1 {
  tir.for unrolled %i in 2 {
    %0 = tir.load %a[%i, 0] : !tir.buffer<2x7xf32> -> vector<4xf32> loc("read")
    tir.store %0, %b[0, %i] stride 2 : vector<4xf32>, !tir.buffer<7x2xf32> loc("write")
  } loc("loop")
  %m = tir.mask [2] steps [-1] >= 0 : vector<4xi1> loc("loop")
  tir.for unrolled %j in 2 {
    %1 = tir.masked_load %m, %a[%j, 4] else dense<0.0> : vector<4xf32> : !tir.buffer<2x7xf32> -> vector<4xf32> loc("read")
    tir.masked_store %1, %m, %b[4, %j] stride 2 : vector<4xf32>, !tir.buffer<7x2xf32> loc("write")
  } loc("loop")
} loc("f")

// CHECK: %0 = tir.load %a[0, 0] : {{.*}} loc("read")
// CHECK-NEXT: %1 = tir.load %a[1, 0] : {{.*}} loc("read")
// CHECK-NEXT: %2 = vector.shuffle %0, %1 [0, 4, 1, 5] : {{.*}} loc("write")
// CHECK-NEXT: %3 = vector.shuffle %0, %1 [2, 6, 3, 7] : {{.*}} loc("write")
// CHECK-NEXT: tir.store %2, %b[0, 0] : {{.*}} loc("write")
// CHECK-NEXT: tir.store %3, %b[2, 0] : {{.*}} loc("write")
// CHECK: tir.store %{{.*}}, %b[4, 0] : {{.*}} loc("write")
// CHECK: tir.mask [1] steps [-1] >= 0
// CHECK-NEXT: tir.masked_store %{{.*}}, %{{.*}}, %b[6, 0] : {{.*}} loc("write")
// CHECK-NOT: stride 2
