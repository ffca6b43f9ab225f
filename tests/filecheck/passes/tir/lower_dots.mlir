// RUN: whence-opt %s -p "tir-lower-intrin{vnni=true}" --print-debuginfo | filecheck %s
// RUN: whence-opt %s -p "tir-lower-intrin" | filecheck %s --check-prefix=PLAIN
// RUN: whence-opt %s -p "tir-lower-intrin{pmaddwd=8}" --print-debuginfo | filecheck %s --check-prefix=PAIRS

// CHECK-LABEL: tir.prim_func @dots
// CHECK:      %[[X:.*]] = vector.bitcast %0 : vector<8xi32> to vector<32xi8> loc(fused["sum", "dot"])
// CHECK-NEXT: %[[Y:.*]] = vector.bitcast %1 : vector<8xi32> to vector<32xi8> loc(fused["sum", "dot"])
// CHECK-NEXT: tir.call_extern "llvm.x86.avx512.vpdpbusd.256"(%2, %[[X]], %[[Y]]) {{.*}} loc(fused["sum", "dot"])
// CHECK-NOT:  tir.dot4
// PLAIN:      tir.dot4 %0, %1 : vector<8xi32>
tir.prim_func @dots(%a: !tir.buffer<8xi32>, %b: !tir.buffer<8xi32>, %c: !tir.buffer<8xi32>) outputs 1 {
  %0 = tir.load %a[0] : !tir.buffer<8xi32> -> vector<8xi32> loc("a")
  %1 = tir.load %b[0] : !tir.buffer<8xi32> -> vector<8xi32> loc("b")
  %2 = tir.load %c[0] : !tir.buffer<8xi32> -> vector<8xi32> loc("c")
  %3 = tir.dot4 %0, %1 : vector<8xi32> loc("dot")
  %4 = arith.addi %2, %3 : vector<8xi32> loc("sum")
  tir.store %4, %c[0] : vector<8xi32>, !tir.buffer<8xi32> loc("s")
} loc("f")

// CHECK-LABEL: tir.prim_func @pairs
// PAIRS-LABEL: tir.prim_func @pairs
// PAIRS:      %[[X:.*]] = vector.bitcast %0 : vector<8xi32> to vector<16xi16> loc("dot")
// PAIRS-NEXT: %[[Y:.*]] = vector.bitcast %1 : vector<8xi32> to vector<16xi16> loc("dot")
// PAIRS-NEXT: tir.call_extern "llvm.x86.avx2.pmadd.wd"(%[[X]], %[[Y]]) {{.*}} loc("dot")
// PAIRS:      tir.dot2 {{.*}} : vector<16xi32>
tir.prim_func @pairs(%a: !tir.buffer<16xi32>, %b: !tir.buffer<16xi32>) outputs 1 {
  %0 = tir.load %a[0] : !tir.buffer<16xi32> -> vector<8xi32> loc("a")
  %1 = tir.load %b[0] : !tir.buffer<16xi32> -> vector<8xi32> loc("b")
  %2 = tir.dot2 %0, %1 : vector<8xi32> loc("dot")
  tir.store %2, %b[0] : vector<8xi32>, !tir.buffer<16xi32> loc("s")
  %3 = tir.load %a[0] : !tir.buffer<16xi32> -> vector<16xi32> loc("a")
  %4 = tir.dot2 %3, %3 : vector<16xi32> loc("dot")
  tir.store %4, %b[0] : vector<16xi32>, !tir.buffer<16xi32> loc("s")
} loc("f")

// Eight sums of bytes of 4 bits, and more of fewer, are made in int16; bytes of 8 bits are multiplied as int16.
// PAIRS-LABEL: tir.prim_func @small_bytes
// PAIRS:      %[[ONES:.*]] = arith.constant dense<1> : vector<16xi16> loc("sum2")
// PAIRS:      %[[A:.*]] = tir.call_extern "llvm.x86.avx2.pmadd.ub.sw"
// PAIRS:      %[[B:.*]] = tir.call_extern "llvm.x86.avx2.pmadd.ub.sw"
// PAIRS-NEXT: %[[AB:.*]] = arith.addi %[[A]], %[[B]] : vector<16xi16>
// PAIRS-NEXT: %[[S:.*]] = tir.call_extern "llvm.x86.avx2.pmadd.wd"(%[[AB]], %[[ONES]])
// PAIRS-NEXT: arith.addi %[[S]], %c : vector<8xi32> loc(fused["sum2", "sum1", "few2", "few1"])
// PAIRS-NOT:  tir.dot4
// PLAIN-LABEL: tir.prim_func @small_bytes
// PLAIN-COUNT-2: tir.dot4
tir.prim_func @small_bytes(%a: !tir.buffer<8xi32>, %b: !tir.buffer<8xi32>) outputs 1 {
  %mask = arith.constant dense<252645135> : vector<8xi32> loc("mask")
  %0 = tir.load %a[0] : !tir.buffer<8xi32> -> vector<8xi32> loc("a")
  %c = tir.load %b[0] : !tir.buffer<8xi32> -> vector<8xi32> loc("c")
  %1 = arith.andi %0, %mask : vector<8xi32> loc("and")
  %2 = tir.dot4 %1, %c : vector<8xi32> loc("few1")
  %3 = arith.addi %c, %2 : vector<8xi32> loc("sum1")
  %4 = tir.dot4 %1, %0 : vector<8xi32> loc("few2")
  %5 = arith.addi %3, %4 : vector<8xi32> loc("sum2")
  tir.store %5, %b[0] : vector<8xi32>, !tir.buffer<8xi32> loc("s")
} loc("f")

// PAIRS-LABEL: tir.prim_func @bytes
// PAIRS-NOT:  pmadd.ub.sw
// PAIRS-COUNT-2: tir.call_extern "llvm.x86.avx2.pmadd.wd"({{.*}} loc("dot")
// PAIRS-NEXT: arith.addi
tir.prim_func @bytes(%a: !tir.buffer<8xi32>, %b: !tir.buffer<8xi32>) outputs 1 {
  %0 = tir.load %a[0] : !tir.buffer<8xi32> -> vector<8xi32> loc("a")
  %1 = tir.load %b[0] : !tir.buffer<8xi32> -> vector<8xi32> loc("b")
  %2 = tir.dot4 %0, %1 : vector<8xi32> loc("dot")
  tir.store %2, %b[0] : vector<8xi32>, !tir.buffer<8xi32> loc("s")
} loc("f")

// PAIRS-LABEL: tir.prim_func @high_product
// PAIRS-COUNT-2: arith.muli {{.*}} : vector<4xi64> loc(fused["narrow", "drop", "sum", "product", "bits", "half", "wide"])
// PAIRS-NOT:  arith.muli
// PAIRS:      vector.shuffle {{.*}} [0, 9, 2, 11, 4, 13, 6, 15] : vector<8xi32>, vector<8xi32> loc(fused["narrow", "drop"
// PLAIN:      arith.muli {{.*}} : vector<8xi64>
tir.prim_func @high_product(%a: !tir.buffer<8xi32>, %b: !tir.buffer<8xi32>) outputs 1 {
  %half = arith.constant dense<1073741824> : vector<8xi64> loc("half")
  %bits = arith.constant dense<31> : vector<8xi64> loc("bits")
  %0 = tir.load %a[0] : !tir.buffer<8xi32> -> vector<8xi32> loc("a")
  %1 = tir.load %b[0] : !tir.buffer<8xi32> -> vector<8xi32> loc("b")
  %2 = tir.cast extsi %0 : vector<8xi32> to vector<8xi64> loc("wide")
  %3 = tir.cast extsi %1 : vector<8xi32> to vector<8xi64> loc("wide")
  %4 = arith.muli %2, %3 : vector<8xi64> loc("product")
  %5 = arith.addi %4, %half : vector<8xi64> loc("sum")
  %6 = arith.shrsi %5, %bits : vector<8xi64> loc("drop")
  %7 = tir.cast trunci %6 : vector<8xi64> to vector<8xi32> loc("narrow")
  tir.store %7, %b[0] : vector<8xi32>, !tir.buffer<8xi32> loc("s")
} loc("f")

// What is added may differ by lane.
// PAIRS-LABEL: tir.prim_func @high_sum
// PAIRS:      vector.shuffle %c, %c [0, 2, 4, 6] : vector<8xi64>, vector<8xi64>
// PAIRS:      vector.shuffle %c, %c [1, 3, 5, 7] : vector<8xi64>, vector<8xi64>
// PAIRS-COUNT-2: arith.muli {{.*}} : vector<4xi64>
tir.prim_func @high_sum(%a: !tir.buffer<8xi32>, %b: !tir.buffer<8xi64>) outputs 1 {
  %bits = arith.constant dense<31> : vector<8xi64> loc("bits")
  %0 = tir.load %a[0] : !tir.buffer<8xi32> -> vector<8xi32> loc("a")
  %c = tir.load %b[0] : !tir.buffer<8xi64> -> vector<8xi64> loc("c")
  %1 = tir.cast extsi %0 : vector<8xi32> to vector<8xi64> loc("wide")
  %2 = arith.muli %1, %1 : vector<8xi64> loc("product")
  %3 = arith.addi %2, %c : vector<8xi64> loc("sum")
  %4 = arith.shrsi %3, %bits : vector<8xi64> loc("drop")
  %5 = tir.cast trunci %4 : vector<8xi64> to vector<8xi32> loc("narrow")
  tir.store %5, %a[0] : vector<8xi32>, !tir.buffer<8xi32> loc("s")
} loc("f")

// Rounding to even and converting are one.
// PAIRS-LABEL: tir.prim_func @rounded
// PAIRS:      tir.call_extern "llvm.lrint.v8i32.v8f32"(%0) {{.*}} loc(fused["convert", "round"])
// PAIRS-NOT:  math.roundeven
// PLAIN:      math.roundeven
tir.prim_func @rounded(%a: !tir.buffer<8xf32>, %b: !tir.buffer<8xi32>) outputs 1 {
  %0 = tir.load %a[0] : !tir.buffer<8xf32> -> vector<8xf32> loc("a")
  %1 = math.roundeven %0 : vector<8xf32> loc("round")
  %2 = tir.cast fptosi %1 : vector<8xf32> to vector<8xi32> loc("convert")
  tir.store %2, %b[0] : vector<8xi32>, !tir.buffer<8xi32> loc("s")
} loc("f")
