// RUN: xdsl-opt %s --verify-diagnostics --split-input-file | filecheck %s

// CHECK: tir.dot2: expected words of i32, got i64
tir.prim_func @wide(%a: !tir.buffer<8xi64>) outputs 1 {
  %0 = tir.load %a[0] : !tir.buffer<8xi64> -> i64
  %1 = tir.dot2 %0, %0 : i64
  tir.store %1, %a[0] : i64, !tir.buffer<8xi64>
}

// -----

// CHECK: tir.join_bytes: expected bytes of i8, and as many words of i32, got i16 and i32
tir.prim_func @halves(%a: !tir.buffer<8xi16>, %b: !tir.buffer<8xi32>) outputs 1 {
  %0 = tir.load %a[0] : !tir.buffer<8xi16> -> i16
  %1 = tir.join_bytes %0, %0, %0, %0 : i16 -> i32
  tir.store %1, %b[0] : i32, !tir.buffer<8xi32>
}

// -----

// CHECK: tir.load: expected i16 or a 1-d vector of i16, got i32
tir.prim_func @words(%a: !tir.buffer<8xi16>, %b: !tir.buffer<8xi32>) outputs 1 {
  %0 = tir.load %a[0] : !tir.buffer<8xi16> -> i32
  tir.store %0, %b[0] : i32, !tir.buffer<8xi32>
}

// -----

// CHECK: tir.load: expected all 2 lanes inside the 8 elements of the buffer, got the last lane at element 9
tir.prim_func @beyond(%a: !tir.buffer<8xui8>, %b: !tir.buffer<8xi32>) outputs 1 {
  %0 = tir.load %a[5] stride 4 : !tir.buffer<8xui8> -> vector<2xi32>
  tir.store %0, %b[0] : vector<2xi32>, !tir.buffer<8xi32>
}
