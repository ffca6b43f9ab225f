// RUN: whence-opt %s --print-op-generic | whence-opt | filecheck %s
// RUN: whence-opt %s | whence-opt | filecheck %s

// A point past the end is no error.
tir.prim_func @f(%a: !tir.buffer<8x64xf32>) outputs 0 {
  tir.for %i in 8 {
    // CHECK:      tir.prefetch %a[%i + 2, 0] : !tir.buffer<8x64xf32>
    // CHECK-NEXT: tir.prefetch %a[9, %i * 8] locality 0 attributes {why = "next tile"} : !tir.buffer<8x64xf32>
    tir.prefetch %a[%i + 2, 0] : !tir.buffer<8x64xf32>
    tir.prefetch %a[9, %i * 8] locality 0 attributes {why = "next tile"} : !tir.buffer<8x64xf32>
  }
}
