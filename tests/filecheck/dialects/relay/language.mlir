// RUN: whence-opt %s | filecheck %s
// RUN: whence-opt %s | whence-opt - | filecheck %s
// RUN: xdsl-opt %s | filecheck %s

relay.type_data @List["A"] {
  Cons(!relay.type_var<"A">, !relay.adt<@List, [!relay.type_var<"A">]>), Nil()
}
// CHECK: relay.type_data @List["A"] {Cons(!relay.type_var<"A">, !relay.adt<@List, [!relay.type_var<"A">]>), Nil()}

relay.func @id["A"](%x: !relay.type_var<"A">) -> (!relay.type_var<"A">) {
  relay.return %x : !relay.type_var<"A">
}
// CHECK: relay.func @id["A"](%x

relay.func @sum(%xs: !relay.adt<@List, [tensor<i32>]>) -> (tensor<i32>) {
  %y = relay.match %xs : !relay.adt<@List, [tensor<i32>]> -> tensor<i32> {
  case @Cons(%h: tensor<i32>, %t: !relay.adt<@List, [tensor<i32>]>) {
    %s = relay.call @sum(%t) : (!relay.adt<@List, [tensor<i32>]>) -> tensor<i32>
    %r = relay.add %h, %s : (tensor<i32>, tensor<i32>) -> tensor<i32>
    relay.yield %r : tensor<i32>
  }
  case @Nil() {
    %z = relay.constant dense<0> : tensor<i32>
    relay.yield %z : tensor<i32>
  }
  }
  relay.return %y : tensor<i32>
}
// CHECK: %y = relay.match %xs : !relay.adt<@List, [tensor<i32>]> -> tensor<i32> {
// CHECK-NEXT: case @Cons(%h: tensor<i32>, %t: !relay.adt<@List, [tensor<i32>]>) {
// CHECK: case @Nil() {

relay.func @main(%c: tensor<i1>, %x: tensor<?x4xf32>) -> (tensor<?x4xf32>, tensor<i32>) {
  %t = relay.tuple %x, %c : tuple<tensor<?x4xf32>, tensor<i1>>
  %g = relay.tuple_get_item %t[0] : tuple<tensor<?x4xf32>, tensor<i1>>
  %unit = relay.tuple : tuple<>
  %a = relay.let pure {
    %e = relay.exp %g : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %a = relay.negative %e : (tensor<?x4xf32>) -> tensor<?x4xf32>
    relay.yield %a : tensor<?x4xf32>
  }
  %f = relay.let rec (%self: (tensor<i32>) -> tensor<i32>) {
    %fn = relay.fn (%n: tensor<i32>) -> tensor<i32> {
      %again = relay.invoke %self(%n) : ((tensor<i32>) -> tensor<i32>, tensor<i32>) -> tensor<i32>
      relay.yield %again : tensor<i32>
    }
    relay.yield %fn : (tensor<i32>) -> tensor<i32>
  }
  %r = relay.ref_create %a : tensor<?x4xf32> -> !relay.ref<tensor<?x4xf32>>
  %u = relay.ref_write %r, %x : !relay.ref<tensor<?x4xf32>>, tensor<?x4xf32> -> tuple<>
  %v = relay.ref_read %r : !relay.ref<tensor<?x4xf32>> -> tensor<?x4xf32>
  %w = relay.if %c : tensor<i1> -> tensor<?x4xf32> {
    relay.yield %v : tensor<?x4xf32>
  } else {
    relay.yield %a : tensor<?x4xf32>
  }
  %h = relay.fn["A"] (%p: !relay.type_var<"A">) -> !relay.type_var<"A"> {
    relay.yield %p : !relay.type_var<"A">
  }
  %i = relay.global @id : !relay.forall<["A"], (!relay.type_var<"A">) -> !relay.type_var<"A">>
  %one = relay.constant dense<1> : tensor<i32>
  %two = relay.invoke impure %h(%one) : (!relay.forall<["A"], (!relay.type_var<"A">) -> !relay.type_var<"A">>, tensor<i32>) -> tensor<i32>
  %nil = relay.construct @Nil() : () -> !relay.adt<@List, [tensor<i32>]>
  %l = relay.construct @Cons(%two, %nil) : (tensor<i32>, !relay.adt<@List, [tensor<i32>]>) -> !relay.adt<@List, [tensor<i32>]>
  %s = relay.call impure @sum(%l) : (!relay.adt<@List, [tensor<i32>]>) -> tensor<i32>
  relay.return %w, %s : tensor<?x4xf32>, tensor<i32>
}
// CHECK: %t = relay.tuple %x, %c : tuple<tensor<?x4xf32>, tensor<i1>>
// CHECK-NEXT: %g = relay.tuple_get_item %t[0] : tuple<tensor<?x4xf32>, tensor<i1>>
// CHECK-NEXT: %unit = relay.tuple : tuple<>
// CHECK-NEXT: %a = relay.let pure {
// CHECK: %f = relay.let rec (%self: (tensor<i32>) -> tensor<i32>) {
// CHECK-NEXT: %fn = relay.fn (%n: tensor<i32>) -> tensor<i32> {
// CHECK: relay.invoke %self(%n)
// CHECK: %r = relay.ref_create %{{.*}} : tensor<?x4xf32> -> !relay.ref<tensor<?x4xf32>>
// CHECK: %w = relay.if %c : tensor<i1> -> tensor<?x4xf32> {
// CHECK: } else {
// CHECK: %h = relay.fn["A"] (%p: !relay.type_var<"A">) -> !relay.type_var<"A"> {
// CHECK: relay.invoke impure %h(%one)
// CHECK: relay.construct @Cons(%two, %nil)
// CHECK: relay.call impure @sum
