// RUN: xdsl-opt %s | xdsl-opt | filecheck %s
// RUN: xdsl-opt %s --print-op-generic | xdsl-opt | filecheck %s

// CHECK: %{{.*}} = tir.dot2 %{{.*}}, %{{.*}} : i32
// CHECK: %{{.*}} = tir.dot4 %{{.*}}, %{{.*}} : vector<8xi32>
tir.prim_func @dots(%a: !tir.buffer<8xi32>, %b: !tir.buffer<8xi32>) outputs 1 {
  %0 = tir.load %a[0] : !tir.buffer<8xi32> -> i32
  %1 = tir.dot2 %0, %0 : i32
  tir.store %1, %b[0] : i32, !tir.buffer<8xi32>
  %2 = tir.load %a[0] : !tir.buffer<8xi32> -> vector<8xi32>
  %3 = tir.dot4 %2, %2 : vector<8xi32>
  tir.store %3, %b[0] : vector<8xi32>, !tir.buffer<8xi32>
}

// CHECK: tir.prim_func @half_words
// CHECK: %{{.*}} = tir.widen_pairs %{{.*}} : vector<4xi16> -> vector<4xi32>
tir.prim_func @half_words(%a: !tir.buffer<4xi16>, %b: !tir.buffer<4xi32>) outputs 1 {
  %0 = tir.load %a[0] : !tir.buffer<4xi16> -> vector<4xi16>
  %1 = tir.widen_pairs %0 : vector<4xi16> -> vector<4xi32>
  tir.store %1, %b[0] : vector<4xi32>, !tir.buffer<4xi32>
}

// A load of bytes may give words of four of them.
// CHECK: tir.prim_func @bytes
// CHECK: %{{.*}} = tir.join_bytes %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : i8 -> i32
// CHECK: %{{.*}} = tir.load %a[4] stride 4 : !tir.buffer<16xui8> -> vector<2xi32>
tir.prim_func @bytes(%a: !tir.buffer<16xui8>, %b: !tir.buffer<2xi32>) outputs 1 {
  %0 = tir.load %a[0] : !tir.buffer<16xui8> -> i8
  %1 = tir.join_bytes %0, %0, %0, %0 : i8 -> i32
  tir.store %1, %b[0] : i32, !tir.buffer<2xi32>
  %2 = tir.load %a[4] stride 4 : !tir.buffer<16xui8> -> vector<2xi32>
  tir.store %2, %b[0] : vector<2xi32>, !tir.buffer<2xi32>
}
