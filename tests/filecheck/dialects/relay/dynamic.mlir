// RUN: whence-opt %s | filecheck %s
// RUN: whence-opt %s | whence-opt - | filecheck %s

relay.func @main(%x: tensor<4x2xf32>, %s: tensor<3xi64>, %n: tensor<2xi64>, %f: tensor<f32>, %i: tensor<i32>) -> () {
  %a = relay.dyn.reshape %x, %s : (tensor<4x2xf32>, tensor<3xi64>) -> tensor<?x?x?xf32>
  %b = relay.dyn.broadcast_to %x, %s : (tensor<4x2xf32>, tensor<3xi64>) -> tensor<?x4x2xf32>
  %c = relay.dyn.tile %x, %s : (tensor<4x2xf32>, tensor<3xi64>) -> tensor<?x?x?xf32>
  %d = relay.dyn.strided_slice %x, %n, %n, %n : (tensor<4x2xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x?xf32>
  %e = relay.dyn.full %f, %n {dtype = "float32"} : (tensor<f32>, tensor<2xi64>) -> tensor<?x?xf32>
  %g = relay.dyn.zeros %n {dtype = "int32"} : (tensor<2xi64>) -> tensor<?x?xi32>
  %h = relay.dyn.ones %n {dtype = "int32"} : (tensor<2xi64>) -> tensor<?x?xi32>
  %j = relay.dyn.arange %i, %i, %i {dtype = "int32"} : (tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<?xi32>
  relay.return
}
// CHECK: relay.dyn.reshape %x, %s : (tensor<4x2xf32>, tensor<3xi64>) -> tensor<?x?x?xf32>
// CHECK-NEXT: relay.dyn.broadcast_to %x, %s : (tensor<4x2xf32>, tensor<3xi64>) -> tensor<?x4x2xf32>
// CHECK-NEXT: relay.dyn.tile
// CHECK-NEXT: relay.dyn.strided_slice %x, %n, %n, %n
// CHECK-NEXT: relay.dyn.full %f, %n {dtype = "float32"} : (tensor<f32>, tensor<2xi64>) -> tensor<?x?xf32>
// CHECK-NEXT: relay.dyn.zeros
// CHECK-NEXT: relay.dyn.ones
// CHECK-NEXT: relay.dyn.arange %i, %i, %i {dtype = "int32"} : (tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<?xi32>
