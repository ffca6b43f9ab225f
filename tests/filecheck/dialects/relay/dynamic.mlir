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

relay.func @sizes(%x: tensor<2x3xf32>, %i: tensor<3xi32>, %n: tensor<1xi64>, %k: tensor<i64>, %w: tensor<2x2xi64>, %f: tensor<f32>, %z: tensor<2xi64>, %j: tensor<3x2xi64>, %v: tensor<3xf32>, %p: tensor<1x1x2x2xf32>, %s: tensor<f32>, %q: tensor<2xi64>, %r: tensor<4xf32>) -> () {
  %a, %b = relay.dyn.topk %x, %k : (tensor<2x3xf32>, tensor<i64>) -> (tensor<2x?xf32>, tensor<2x?xi32>)
  %c = relay.dyn.one_hot %i, %f, %f, %k : (tensor<3xi32>, tensor<f32>, tensor<f32>, tensor<i64>) -> tensor<3x?xf32>
  %d = relay.dyn.nn.pad %x, %w, %f : (tensor<2x3xf32>, tensor<2x2xi64>, tensor<f32>) -> tensor<?x?xf32>
  %e = relay.dyn.expand_dims %x, %k : (tensor<2x3xf32>, tensor<i64>) -> tensor<?x?x?xf32>
  %g = relay.dyn.squeeze %e, %n : (tensor<?x?x?xf32>, tensor<1xi64>) -> tensor<?x?xf32>
  %h = relay.dyn.sparse_to_dense %j, %z, %v, %f : (tensor<3x2xi64>, tensor<2xi64>, tensor<3xf32>, tensor<f32>) -> tensor<?x?xf32>
  %l = relay.dyn.nn.upsampling %p, %s, %s : (tensor<1x1x2x2xf32>, tensor<f32>, tensor<f32>) -> tensor<1x1x?x?xf32>
  %m = relay.dyn.image.resize2d %p, %q, %r : (tensor<1x1x2x2xf32>, tensor<2xi64>, tensor<4xf32>) -> tensor<1x1x?x?xf32>
  relay.return
}
// CHECK-LABEL: @sizes(
// CHECK-NEXT: %a, %b = relay.dyn.topk %x, %k : (tensor<2x3xf32>, tensor<i64>) -> (tensor<2x?xf32>, tensor<2x?xi32>)
// CHECK-NEXT: %c = relay.dyn.one_hot %i, %f, %f, %k : (tensor<3xi32>, tensor<f32>, tensor<f32>, tensor<i64>) -> tensor<3x?xf32>
// CHECK-NEXT: %d = relay.dyn.nn.pad %x, %w, %f : (tensor<2x3xf32>, tensor<2x2xi64>, tensor<f32>) -> tensor<?x?xf32>
// CHECK-NEXT: %e = relay.dyn.expand_dims %x, %k : (tensor<2x3xf32>, tensor<i64>) -> tensor<?x?x?xf32>
// CHECK-NEXT: %g = relay.dyn.squeeze %e, %n : (tensor<?x?x?xf32>, tensor<1xi64>) -> tensor<?x?xf32>
// CHECK-NEXT: %h = relay.dyn.sparse_to_dense %j, %z, %v, %f : (tensor<3x2xi64>, tensor<2xi64>, tensor<3xf32>, tensor<f32>) -> tensor<?x?xf32>
// CHECK-NEXT: %l = relay.dyn.nn.upsampling %p, %s, %s : (tensor<1x1x2x2xf32>, tensor<f32>, tensor<f32>) -> tensor<1x1x?x?xf32>
// CHECK-NEXT: %m = relay.dyn.image.resize2d %p, %q, %r : (tensor<1x1x2x2xf32>, tensor<2xi64>, tensor<4xf32>) -> tensor<1x1x?x?xf32>
