// RUN: whence-opt %s -p schedule-apply | filecheck %s
// RUN: whence-opt %s -p "convert-te-to-tir,tir-simplify,tir-vectorize,tir-flatten-buffer,tir-remove-no-op,convert-tir-to-llvm" | filecheck %s --check-prefix LLVM

// A row of the loop nest is a call of a C function, which gets pointers to its rows.

// CHECK:      tir.prim_func @rows(%a: !tir.buffer<4x16xf32>, %b: !tir.buffer<4x16xf32>, %out: !tir.buffer<4x16xf32>) outputs 1 {
// CHECK-NEXT:   tir.for %i in 4 {
// CHECK:          tir.call_extern "vadd16"(

// LLVM:      llvm.func @rows(%a: !llvm.ptr {llvm.noalias, llvm.readonly}, %b: !llvm.ptr {llvm.noalias, llvm.readonly}, %out: !llvm.ptr {llvm.noalias}, %{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr)
// LLVM:        llvm.call @vadd16(%{{.*}}, %{{.*}}, %{{.*}}) : (!llvm.ptr, !llvm.ptr, !llvm.ptr) -> ()
// LLVM:      llvm.func @vadd16(!llvm.ptr, !llvm.ptr, !llvm.ptr)

schedule.tensor_intrin "vadd" {
  te.func @pattern(%x: tensor<16xf32>, %y: tensor<16xf32>) -> (tensor<16xf32>) {
    %z = te.compute "z" (%i in 16) : tensor<16xf32> {
      %0 = te.read %x[%i] : tensor<16xf32>
      %1 = te.read %y[%i] : tensor<16xf32>
      %2 = arith.addf %0, %1 : f32
      te.yield %2 : f32
    }
    te.return %z : tensor<16xf32>
  }
  te.func @body(%x: tensor<16xf32>, %y: tensor<16xf32>) -> (tensor<16xf32>) {
    %z = te.extern "z" "vadd16"(%x, %y, out 0) : (tensor<16xf32>, tensor<16xf32>) -> (tensor<16xf32>)
    te.return %z : tensor<16xf32>
  }
}
te.func @rows(%a: tensor<4x16xf32>, %b: tensor<4x16xf32>) -> (tensor<4x16xf32>) {
  %c = te.compute "c" (%i in 4, %j in 16) : tensor<4x16xf32> {
    %0 = te.read %a[%i, %j] : tensor<4x16xf32>
    %1 = te.read %b[%i, %j] : tensor<4x16xf32>
    %2 = arith.addf %0, %1 : f32
    te.yield %2 : f32
  }
  te.return %c : tensor<4x16xf32>
}
schedule.sequence @rows {
  %c = schedule.stage "c"
  %i, %j = schedule.axes %c : 2
  schedule.tensorize %j "vadd"
}
