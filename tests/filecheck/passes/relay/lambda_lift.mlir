// RUN: whence-opt %s -p relay-lambda-lift --print-debuginfo --audit | filecheck %s

relay.func @main(%x: tensor<4xf32> loc("x"), %b: tensor<4xf32> loc("b")) -> (tensor<4xf32>, (tensor<4xf32>) -> tensor<4xf32>) {
  %f = relay.fn (%p: tensor<4xf32> loc("p")) -> tensor<4xf32> {
    %0 = relay.add %p, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("add")
    relay.yield %0 : tensor<4xf32> loc("yield")
  } loc("f")
  %y = relay.invoke %f(%x) : ((tensor<4xf32>) -> tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("invoke")
  relay.return %y, %f : tensor<4xf32>, (tensor<4xf32>) -> tensor<4xf32> loc("return")
} loc("main")

// CHECK-LABEL: relay.func @main
// CHECK-NEXT: %[[F:.*]] = relay.fn (%p: tensor<4xf32> loc("p")) -> tensor<4xf32> {
// CHECK-NEXT:   relay.call @lifted_name0(%b, %p) : {{.*}} loc("f")
// CHECK-NEXT:   relay.yield {{.*}} loc("f")
// CHECK-NEXT: } loc("f")
// CHECK-NEXT: %[[Y:.*]] = relay.call @lifted_name0(%b, %x) : {{.*}} loc("invoke")
// CHECK-NEXT: relay.return %[[Y]], %[[F]]
// CHECK-LABEL: relay.func @lifted_name0
// CHECK-SAME: (%b: tensor<4xf32> loc("b"), %p: tensor<4xf32> loc("p"))
// CHECK-NEXT: relay.add %p, %b : {{.*}} loc("add")
// CHECK-NEXT: relay.return {{.*}} loc("yield")
// CHECK-NEXT: } loc("f")
