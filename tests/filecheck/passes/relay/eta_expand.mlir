// RUN: whence-opt %s -p 'relay-eta-expand{expand-global-var=true}' --print-debuginfo --audit | filecheck %s

relay.func @f(%p: tensor<4xf32> loc("p")) -> (tensor<4xf32>) {
  relay.return %p : tensor<4xf32> loc("return f")
} loc("f")

relay.func @main() -> ((tensor<4xf32>) -> tensor<4xf32>) {
  %0 = relay.global @f : (tensor<4xf32>) -> tensor<4xf32> loc("global")
  relay.return %0 : (tensor<4xf32>) -> tensor<4xf32> loc("return")
} loc("main")

// CHECK-LABEL: relay.func @main
// CHECK-NEXT: %[[F:.*]] = relay.fn (%[[P:.*]]: tensor<4xf32> loc("global")) -> tensor<4xf32> {
// CHECK-NEXT:   %[[R:.*]] = relay.call @f(%[[P]]) : (tensor<4xf32>) -> tensor<4xf32> loc("global")
// CHECK-NEXT:   relay.yield %[[R]] : tensor<4xf32> loc("global")
// CHECK-NEXT: } loc("global")
// CHECK-NEXT: relay.return %[[F]]
