// RUN: whence-opt -p tir-transpose-loads --audit --print-debuginfo %s | filecheck %s

// Rows and shuffles have the location of the load that they stand for, stores that of the store.

tir.prim_func @f(%a: !tir.buffer<32xf32> loc("a"), %b: !tir.buffer<32xf32> loc("b")) outputs 1 {
  tir.for %i in 8 {
    %0 = tir.load %a[%i] stride 8 : !tir.buffer<32xf32> -> vector<4xf32> loc("read")
    tir.store %0, %b[%i * 4] : vector<4xf32>, !tir.buffer<32xf32> loc("write")
  } loc("loop")
} loc("f")

// CHECK: tir.for %i in 2 {
// CHECK-NEXT: %0 = tir.load %a[%i * 4] : !tir.buffer<32xf32> -> vector<4xf32> loc("read")
// CHECK-NEXT: %1 = tir.load %a[%i * 4 + 8] : !tir.buffer<32xf32> -> vector<4xf32> loc("read")
// CHECK-NEXT: %2 = tir.load %a[%i * 4 + 16] : {{.*}} loc("read")
// CHECK-NEXT: %3 = tir.load %a[%i * 4 + 24] : {{.*}} loc("read")
// CHECK-NEXT: %4 = vector.shuffle %0, %1 [0, 4, 1, 5] : vector<4xf32>, vector<4xf32> loc("read")
// CHECK-COUNT-7: vector.shuffle {{.*}} loc("read")
// CHECK-NEXT: tir.store %{{.*}}, %b[%i * 16] : {{.*}} loc("write")
// CHECK-NEXT: tir.store %{{.*}}, %b[%i * 16 + 4] : {{.*}} loc("write")
// CHECK-NEXT: tir.store %{{.*}}, %b[%i * 16 + 8] : {{.*}} loc("write")
// CHECK-NEXT: tir.store %{{.*}}, %b[%i * 16 + 12] : {{.*}} loc("write")
// CHECK-NEXT: } loc("loop")
