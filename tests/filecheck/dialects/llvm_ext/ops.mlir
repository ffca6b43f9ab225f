// RUN: xdsl-opt %s | xdsl-opt | filecheck %s
// RUN: xdsl-opt %s --print-op-generic | xdsl-opt | filecheck %s

// CHECK-LABEL: llvm.func @ops
llvm.func @ops(%x : f32, %n : i32, %v : vector<4xf32>, %m : vector<4xi1>, %p : !llvm.ptr, %j : vector<4xi64>) {
  // CHECK: %{{.*}} = llvm_ext.splat %x : f32 to vector<4xf32>
  %a = llvm_ext.splat %x : f32 to vector<4xf32>
  // CHECK: %{{.*}} = llvm_ext.fcmp "olt" %a, %v : vector<4xf32> to vector<4xi1>
  %b = llvm_ext.fcmp "olt" %a, %v : vector<4xf32> to vector<4xi1>
  // CHECK: %{{.*}} = llvm_ext.select %b, %a, %v : vector<4xi1>, vector<4xf32>
  %c = llvm_ext.select %b, %a, %v : vector<4xi1>, vector<4xf32>
  // CHECK: %{{.*}} = llvm_ext.extractelement %c[%n : i32] : vector<4xf32>
  %d = llvm_ext.extractelement %c[%n : i32] : vector<4xf32>
  // CHECK: %{{.*}} = llvm_ext.fptosi %d : f32 to i8
  %e = llvm_ext.fptosi %d : f32 to i8
  // CHECK: %{{.*}} = llvm_ext.fptoui %d : f32 to i8
  %f = llvm_ext.fptoui %d : f32 to i8
  // CHECK: %{{.*}} = llvm_ext.uitofp %n : i32 to f32
  %g = llvm_ext.uitofp %n : i32 to f32
  // CHECK: %{{.*}} = llvm_ext.poison : vector<4xf32>
  %h = llvm_ext.poison : vector<4xf32>
  // CHECK: %{{.*}} = llvm_ext.addresses %p[%j] : !llvm.ptr, vector<4xi64> of f32 to vector<4x!llvm.ptr>
  %i = llvm_ext.addresses %p[%j] : !llvm.ptr, vector<4xi64> of f32 to vector<4x!llvm.ptr>
  llvm.return
}
