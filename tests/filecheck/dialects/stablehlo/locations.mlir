// RUN: whence-opt %s --print-debuginfo | filecheck %s

// Locations that come after their use, and ranges, of which the begin is kept; as MLIR prints them.

// CHECK-LABEL: func.func @net
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "net"}> ({
  ^bb0(%x: tensor<4xf32> loc("x")):
    // CHECK: stablehlo.add {{.*}} loc("jit(f)/net/add"(callsite("layer"("net.py":3:4) at "main"("run.py":9:0))))
    %0 = "stablehlo.add"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc(#loc5)
    // CHECK: stablehlo.tanh {{.*}} loc("net.py":5:6)
    %1 = "stablehlo.tanh"(%0) : (tensor<4xf32>) -> tensor<4xf32> loc("net.py":5:6 to 7:8)
    "func.return"(%1) : (tensor<4xf32>) -> () loc(#loc)
  }) : () -> () loc(#loc)
}) : () -> () loc(#loc)
#loc = loc(unknown)
#loc1 = loc("net.py":3:4 to :9)
#loc2 = loc("run.py":9:0 to :5)
#loc3 = loc("layer"(#loc1))
#loc4 = loc(callsite(#loc3 at #loc6))
#loc5 = loc("jit(f)/net/add"(#loc4))
#loc6 = loc("main"(#loc2))
