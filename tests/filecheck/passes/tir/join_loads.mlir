// RUN: whence-opt %s -p "tir-lower-intrin" --print-debuginfo | filecheck %s

// Neighbours are a word as they lie; so are words that follow one another.
// CHECK-LABEL: tir.prim_func @words
// CHECK:      tir.load %a[%i * 4] : !tir.buffer<64xui8> -> i32 loc(fused["word", "a", "b", "c", "d"])
// CHECK-NOT:  tir.join_bytes
// CHECK:      tir.load %a[0] stride 4 : !tir.buffer<64xui8> -> vector<4xi32>
tir.prim_func @words(%a: !tir.buffer<64xui8>, %b: !tir.buffer<16xi32>) outputs 1 {
  tir.for %i in 16 {
    %0 = tir.load %a[%i * 4] : !tir.buffer<64xui8> -> i8 loc("a")
    %1 = tir.load %a[%i * 4 + 1] : !tir.buffer<64xui8> -> i8 loc("b")
    %2 = tir.load %a[%i * 4 + 2] : !tir.buffer<64xui8> -> i8 loc("c")
    %3 = tir.load %a[%i * 4 + 3] : !tir.buffer<64xui8> -> i8 loc("d")
    %4 = tir.join_bytes %0, %1, %2, %3 : i8 -> i32 loc("word")
    tir.store %4, %b[%i] : i32, !tir.buffer<16xi32> loc("s")
  } loc("i")
  %5 = tir.load %a[0] stride 4 : !tir.buffer<64xui8> -> vector<4xi8> loc("a")
  %6 = tir.load %a[1] stride 4 : !tir.buffer<64xui8> -> vector<4xi8> loc("b")
  %7 = tir.load %a[2] stride 4 : !tir.buffer<64xui8> -> vector<4xi8> loc("c")
  %8 = tir.load %a[3] stride 4 : !tir.buffer<64xui8> -> vector<4xi8> loc("d")
  %9 = tir.join_bytes %5, %6, %7, %8 : vector<4xi8> -> vector<4xi32> loc("words")
  tir.store %9, %b[0] : vector<4xi32>, !tir.buffer<16xi32> loc("s")
} loc("f")

// Vectors that are neighbours are one, shuffled; the lanes of others, bytes that may have changed, and those of guards
// stay.
// CHECK-LABEL: tir.prim_func @vectors
// CHECK:      %[[V:.*]] = tir.load %a[0] : !tir.buffer<64xui8> -> vector<16xi8> loc("words")
// CHECK-NEXT: vector.shuffle %[[V]], %[[V]] [0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15] : vector<16xi8>, vector<16xi8>
// CHECK-NEXT: vector.bitcast {{.*}} : vector<16xi8> to vector<4xi32>
// CHECK:      tir.join_bytes {{.*}} : vector<4xi8> -> vector<4xi32> loc("apart")
// CHECK:      tir.join_bytes {{.*}} : i8 -> i32 loc("written")
// CHECK:      tir.join_bytes {{.*}} : i8 -> i32 loc("guarded")
tir.prim_func @vectors(%a: !tir.buffer<64xui8>, %b: !tir.buffer<16xi32>) outputs 1 {
  %0 = tir.load %a[0] : !tir.buffer<64xui8> -> vector<4xi8> loc("a")
  %1 = tir.load %a[4] : !tir.buffer<64xui8> -> vector<4xi8> loc("b")
  %2 = tir.load %a[8] : !tir.buffer<64xui8> -> vector<4xi8> loc("c")
  %3 = tir.load %a[12] : !tir.buffer<64xui8> -> vector<4xi8> loc("d")
  %4 = tir.join_bytes %0, %1, %2, %3 : vector<4xi8> -> vector<4xi32> loc("words")
  tir.store %4, %b[0] : vector<4xi32>, !tir.buffer<16xi32> loc("s")
  %5 = tir.join_bytes %0, %2, %1, %3 : vector<4xi8> -> vector<4xi32> loc("apart")
  tir.store %5, %b[0] : vector<4xi32>, !tir.buffer<16xi32> loc("s")
  %6 = tir.load %a[0] : !tir.buffer<64xui8> -> i8 loc("a")
  tir.store %6, %a[2] : i8, !tir.buffer<64xui8> loc("s")
  %7 = tir.load %a[1] : !tir.buffer<64xui8> -> i8 loc("b")
  %8 = tir.load %a[2] : !tir.buffer<64xui8> -> i8 loc("c")
  %9 = tir.load %a[3] : !tir.buffer<64xui8> -> i8 loc("d")
  %10 = tir.join_bytes %6, %7, %8, %9 : i8 -> i32 loc("written")
  tir.store %10, %b[0] : i32, !tir.buffer<16xi32> loc("s")
  tir.for %i in 16 {
    %11 = tir.load %a[%i - 1] if [%i - 1] >= 0 else 0 : i8 : !tir.buffer<64xui8> -> i8 loc("a")
    %12 = tir.load %a[%i] : !tir.buffer<64xui8> -> i8 loc("b")
    %13 = tir.load %a[%i + 1] : !tir.buffer<64xui8> -> i8 loc("c")
    %14 = tir.load %a[%i + 2] : !tir.buffer<64xui8> -> i8 loc("d")
    %15 = tir.join_bytes %11, %12, %13, %14 : i8 -> i32 loc("guarded")
    tir.store %15, %b[%i] : i32, !tir.buffer<16xi32> loc("s")
  } loc("i")
} loc("f")
