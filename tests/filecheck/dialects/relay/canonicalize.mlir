// RUN: xdsl-opt %s -p canonicalize --print-debuginfo | filecheck %s
// RUN: whence-opt %s -p canonicalize --audit --print-debuginfo 2>&1 | filecheck %s
// RUN: xdsl-opt %s -p canonicalize,cse,dce,canonicalize --print-op-generic | xdsl-opt | filecheck %s --check-prefix=TWICE

// A constant is located at the operator and at what that was computed from, several in a row at all of them.
// CHECK:      relay.func @folded
// CHECK-NEXT:   %c = relay.constant dense<3.000000e+00> : tensor<f32> loc(fused["product", "sum", "c", "d"])
// CHECK-NEXT:   %0 = relay.multiply %x, %c : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32> loc("times")
// CHECK-NEXT:   relay.return %0 : tensor<4xf32> loc("end")
// TWICE-LABEL:  relay.func @folded
relay.func @folded(%x: tensor<4xf32> loc("x")) -> (tensor<4xf32>) {
  %c = relay.constant dense<2.0> : tensor<f32> loc("c")
  %d = relay.constant dense<-0.5> : tensor<f32> loc("d")
  %0 = relay.add %c, %d : (tensor<f32>, tensor<f32>) -> tensor<f32> loc("sum")
  %1 = relay.multiply %0, %c : (tensor<f32>, tensor<f32>) -> tensor<f32> loc("product")
  %2 = relay.multiply %x, %1 : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32> loc("times")
  relay.return %2 : tensor<4xf32> loc("end")
} loc("folded")

// Identities go, and what stays keeps its location; what others read, too, is not computed twice.
// CHECK:      relay.func @identities
// CHECK-NEXT:   %0 = relay.nn.relu %x : (tensor<2x3xf32>) -> tensor<2x3xf32> loc("act")
// CHECK-NEXT:   relay.return %0 : tensor<2x3xf32> loc("end")
// TWICE:      relay.func @identities
// TWICE-NEXT:   %0 = relay.nn.relu %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
// TWICE-NEXT:   relay.return %0
relay.func @identities(%x: tensor<2x3xf32> loc("x")) -> (tensor<2x3xf32>) {
  %z = relay.constant dense<0.0> : tensor<f32> loc("z")
  %o = relay.constant dense<1.0> : tensor<f32> loc("o")
  %0 = relay.add %z, %x : (tensor<f32>, tensor<2x3xf32>) -> tensor<2x3xf32> loc("plus")
  %1 = relay.divide %0, %o : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32> loc("over")
  %2 = relay.transpose %1 {axes = [1, 0]} : (tensor<2x3xf32>) -> tensor<3x2xf32> loc("there")
  %3 = relay.transpose %2 {axes = [1, 0]} : (tensor<3x2xf32>) -> tensor<2x3xf32> loc("back")
  %4 = relay.nn.relu %3 : (tensor<2x3xf32>) -> tensor<2x3xf32> loc("act")
  %5 = relay.cast %4 {dtype = "float32"} : (tensor<2x3xf32>) -> tensor<2x3xf32> loc("same")
  relay.return %5 : tensor<2x3xf32> loc("end")
} loc("identities")

// CHECK:      relay.func @rows
// CHECK-NEXT:   %0 = relay.reshape %x {newshape = [3, 2]} : (tensor<2x3xi8>) -> tensor<3x2xi8> loc(fused["two", "one"])
// CHECK-NEXT:   %1 = relay.cast %0 {dtype = "float32"} : (tensor<3x2xi8>) -> tensor<3x2xf32> loc(fused["float", "wide"])
// CHECK-NEXT:   relay.return %1 : tensor<3x2xf32> loc("end")
relay.func @rows(%x: tensor<2x3xi8> loc("x")) -> (tensor<3x2xf32>) {
  %0 = relay.reshape %x {newshape = [6]} : (tensor<2x3xi8>) -> tensor<6xi8> loc("one")
  %1 = relay.reshape %0 {newshape = [3, 2]} : (tensor<6xi8>) -> tensor<3x2xi8> loc("two")
  %2 = relay.cast %1 {dtype = "int32"} : (tensor<3x2xi8>) -> tensor<3x2xi32> loc("wide")
  %3 = relay.cast %2 {dtype = "float32"} : (tensor<3x2xi32>) -> tensor<3x2xf32> loc("float")
  relay.return %3 : tensor<3x2xf32> loc("end")
} loc("rows")

// What is cast to bytes that are read elsewhere, too, is read as these.
// CHECK: relay.func @shared_bytes
// CHECK-NEXT:   %0 = relay.clip %x
// CHECK-NEXT:   %1 = relay.cast %0 {dtype = "int8"}
// CHECK-NEXT:   %2 = relay.cast %1 {dtype = "int32"}
relay.func @shared_bytes(%x: tensor<4xi32>) -> (tensor<4xi8>, tensor<4xi32>) {
  %0 = relay.clip %x {a_min = -128.0, a_max = 127.0} : (tensor<4xi32>) -> tensor<4xi32> loc("clip")
  %1 = relay.cast %0 {dtype = "int8"} : (tensor<4xi32>) -> tensor<4xi8> loc("narrow")
  %2 = relay.cast %1 {dtype = "int32"} : (tensor<4xi8>) -> tensor<4xi32> loc("wide")
  relay.return %1, %2 : tensor<4xi8>, tensor<4xi32> loc("return")
} loc("shared_bytes")

// Extents that only a call decides: a factor of ones broadcasts where its extent is not 1, so that it stays.
// CHECK:      relay.func @open
// CHECK-NEXT:   %ones = relay.ones
// CHECK-NEXT:   %0 = relay.nn.relu %x : (tensor<?x3xf32, #relay.sizes<n>>) -> tensor<?x3xf32, #relay.sizes<n>> loc("act")
// CHECK-NEXT:   %1 = relay.multiply %0, %ones : {{.*}} loc("broadcast")
// CHECK-NEXT:   relay.return %1
relay.func @open(%x: tensor<?x3xf32, #relay.sizes<n>> loc("x")) -> (tensor<2x?x3xf32, #relay.sizes<n>>) {
  %o = relay.constant dense<1.0> : tensor<f32> loc("o")
  %ones = relay.ones {shape = [2, 1, 1], dtype = "float32"} : () -> tensor<2x1x1xf32> loc("ones")
  %0 = relay.multiply %x, %o : (tensor<?x3xf32, #relay.sizes<n>>, tensor<f32>) -> tensor<?x3xf32, #relay.sizes<n>> loc("once")
  %1 = relay.nn.relu %0 : (tensor<?x3xf32, #relay.sizes<n>>) -> tensor<?x3xf32, #relay.sizes<n>> loc("act")
  %2 = relay.cast %1 {dtype = "float32"} : (tensor<?x3xf32, #relay.sizes<n>>) -> tensor<?x3xf32, #relay.sizes<n>> loc("same")
  %3 = relay.multiply %2, %ones : (tensor<?x3xf32, #relay.sizes<n>>, tensor<2x1x1xf32>) -> tensor<2x?x3xf32, #relay.sizes<n>> loc("broadcast")
  relay.return %3 : tensor<2x?x3xf32, #relay.sizes<n>> loc("end")
} loc("open")
