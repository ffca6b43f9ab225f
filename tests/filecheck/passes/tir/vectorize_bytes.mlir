// RUN: whence-opt %s -p "tir-vectorize{vector_bits=256}" | filecheck %s
// RUN: whence-opt %s -p "tir-vectorize{vector_bits=512}" | filecheck %s --check-prefix=MASKS

// A machine without masks of bytes takes as many vectors for what is left as that has bits.
// CHECK-LABEL: tir.prim_func @bytes
// CHECK:     tir.store {{.*}}, %out[0] : vector<32xi8>
// CHECK:     tir.store {{.*}}, %out[32] : vector<16xi8>
// CHECK:     tir.store {{.*}}, %out[48] : vector<4xi8>
// CHECK:     tir.store {{.*}}, %out[{{.*}}] : i8
// CHECK-NOT: tir.masked
// MASKS:     tir.masked_store {{.*}} : vector<64xi8>
tir.prim_func @bytes(%a: !tir.buffer<53xi8>, %out: !tir.buffer<53xi8>) outputs 1 {
  tir.for vectorized %i in 53 {
    %0 = tir.load %a[%i] : !tir.buffer<53xi8> -> i8
    tir.store %0, %out[%i] : i8, !tir.buffer<53xi8>
  }
}

// Stores of floats have masks, but what is loaded are bytes.
// CHECK-LABEL: tir.prim_func @widened
// CHECK:     tir.store {{.*}}, %out[0] : vector<8xf32>
// CHECK:     tir.store {{.*}}, %out[8] : vector<4xf32>
// CHECK:     tir.store {{.*}}, %out[12] : vector<2xf32>
// CHECK-NOT: tir.masked
tir.prim_func @widened(%a: !tir.buffer<14xi8>, %out: !tir.buffer<14xf32>) outputs 1 {
  tir.for vectorized %i in 14 {
    %0 = tir.load %a[%i] : !tir.buffer<14xi8> -> i8
    %1 = arith.sitofp %0 : i8 to f32
    tir.store %1, %out[%i] : f32, !tir.buffer<14xf32>
  }
}

// CHECK-LABEL: tir.prim_func @floats
// CHECK:     tir.masked_store {{.*}} : vector<8xf32>
tir.prim_func @floats(%a: !tir.buffer<14xf32>, %out: !tir.buffer<14xf32>) outputs 1 {
  tir.for vectorized %i in 14 {
    %0 = tir.load %a[%i] : !tir.buffer<14xf32> -> f32
    tir.store %0, %out[%i] : f32, !tir.buffer<14xf32>
  }
}
