// RUN: whence-opt %s -p relay-defunctionalization --print-debuginfo --audit | filecheck %s

relay.func @g(%p: tensor<4xf32> loc("p")) -> (tensor<4xf32>) {
  relay.return %p : tensor<4xf32> loc("return g")
} loc("g")

relay.func @main(%x: tensor<4xf32> loc("x"), %c: tensor<i1> loc("c")) -> (tensor<4xf32>) {
  %f = relay.if %c : tensor<i1> -> (tensor<4xf32>) -> tensor<4xf32> {
    %1 = relay.fn (%p: tensor<4xf32> loc("p")) -> tensor<4xf32> {
      %2 = relay.add %p, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("add")
      relay.yield %2 : tensor<4xf32> loc("yield")
    } loc("closure")
    relay.yield %1 : (tensor<4xf32>) -> tensor<4xf32> loc("then")
  } else {
    %3 = relay.global @g : (tensor<4xf32>) -> tensor<4xf32> loc("global")
    relay.yield %3 : (tensor<4xf32>) -> tensor<4xf32> loc("else")
  } loc("if")
  %y = relay.invoke %f(%x) : ((tensor<4xf32>) -> tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("invoke")
  relay.return %y : tensor<4xf32> loc("return")
} loc("main")

// CHECK: relay.type_data @T0 {T0_0(tensor<4xf32>), T0_1()} loc(fused["closure", "global"])
// CHECK-LABEL: relay.func @main
// CHECK-NEXT: %f = relay.if %c : tensor<i1> -> !relay.adt<@T0, []> {
// CHECK-NEXT:   relay.construct @T0_0(%x) : {{.*}} loc("closure")
// CHECK:      } else {
// CHECK-NEXT:   relay.construct @T0_1() : {{.*}} loc("global")
// CHECK:      relay.call @apply0(%f, %x) : {{.*}} loc("invoke")
// CHECK-LABEL: relay.func @lifted_name0
// CHECK:      relay.add {{.*}} loc("add")
// CHECK-LABEL: relay.func @apply0
// CHECK-NEXT: relay.match {{.*}} {
// CHECK-NEXT: case @T0_0(%[[H:.*]]: tensor<4xf32> loc("closure")) {
// CHECK-NEXT:   relay.call @lifted_name0(%[[H]], %{{.*}}) : {{.*}} loc("closure")
// CHECK:      case @T0_1() {
// CHECK-NEXT:   relay.call @g(%{{.*}}) : {{.*}} loc("global")
// CHECK:      } loc(fused["closure", "global"])
