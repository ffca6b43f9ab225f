// RUN: whence-opt %s -p tir-vectorize | filecheck %s

// Lanes of 16: a load of neighbours, one of every second element, one number for all lanes, and a turned store.

// CHECK:      tir.for %i in 4 {
// CHECK:        tir.load %a[%i * 16] : !tir.buffer<64xf32> -> vector<16xf32>
// CHECK:        tir.load %b[%i * 32] stride 2 : !tir.buffer<128xf32> -> vector<16xf32>
// CHECK:        tir.load %s[0]
// CHECK:        math.fma %{{.*}}, %{{.*}}, %{{.*}} : vector<16xf32>
// CHECK:        tir.store %{{.*}}, %c[%i * -16 + 63] stride -1 : vector<16xf32>, !tir.buffer<64xf32>
// CHECK-NOT:    vectorized
tir.prim_func @lanes(%a: !tir.buffer<64xf32>, %b: !tir.buffer<128xf32>, %s: !tir.buffer<1xf32>, %c: !tir.buffer<64xf32>) outputs 1 {
  tir.for %i in 4 {
    tir.for vectorized %j in 16 {
      %0 = tir.load %a[%i * 16 + %j] : !tir.buffer<64xf32> -> f32
      %1 = tir.load %b[%i * 32 + %j * 2] : !tir.buffer<128xf32> -> f32
      %2 = tir.load %s[0] : !tir.buffer<1xf32> -> f32
      %3 = math.fma %0, %2, %1 : f32
      tir.store %3, %c[%i * -16 + %j * -1 + 63] : f32, !tir.buffer<64xf32>
    }
  }
}
