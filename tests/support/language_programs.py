"""Programs of the language as text, with short names for types: `$I` is `tensor<i32>`."""

from __future__ import annotations

import re
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from whence.reading.textio import read_module

_SHORT = {
    "I": "tensor<i32>",
    "B": "tensor<i1>",
    "V": "tensor<4xf32>",
    "L": "!relay.adt<@List, [tensor<i32>]>",
    "A": '!relay.type_var<"A">',
    "C": '!relay.type_var<"B">',
    "F": "tensor<f32>",
    "G": "tensor<1x16xf32>",
    "LA": '!relay.adt<@List, [!relay.type_var<"A">]>',
    "LC": '!relay.adt<@List, [!relay.type_var<"B">]>',
    "LR": "!relay.adt<@List, [tensor<1x4xf32>]>",
    "O": "tensor<?x2xf32>",
    "R": "tensor<1x4xf32>",
    "T": "!relay.adt<@Tree, []>",
}

LIST = """
relay.type_data @List["A"] { Cons($A, $LA), Nil() }
"""

ARITHMETIC = """
relay.func @even(%n: $I) -> ($B) {
  %zero = relay.constant dense<0> : $I
  %c = relay.equal %n, %zero : ($I, $I) -> $B
  %r = relay.if %c : $B -> $B {
    %yes = relay.constant dense<true> : $B
    relay.yield %yes : $B
  } else {
    %one = relay.constant dense<1> : $I
    %m = relay.subtract %n, %one : ($I, $I) -> $I
    %o = relay.call @odd(%m) : ($I) -> $B
    relay.yield %o : $B
  }
  relay.return %r : $B
}
relay.func @odd(%n: $I) -> ($B) {
  %zero = relay.constant dense<0> : $I
  %c = relay.equal %n, %zero : ($I, $I) -> $B
  %r = relay.if %c : $B -> $B {
    %no = relay.constant dense<false> : $B
    relay.yield %no : $B
  } else {
    %one = relay.constant dense<1> : $I
    %m = relay.subtract %n, %one : ($I, $I) -> $I
    %e = relay.call @even(%m) : ($I) -> $B
    relay.yield %e : $B
  }
  relay.return %r : $B
}
relay.func @factorial(%n: $I) -> ($I) {
  %one = relay.constant dense<1> : $I
  %c = relay.less_equal %n, %one : ($I, $I) -> $B
  %r = relay.if %c : $B -> $I {
    relay.yield %one : $I
  } else {
    %m = relay.subtract %n, %one : ($I, $I) -> $I
    %f = relay.call @factorial(%m) : ($I) -> $I
    %p = relay.multiply %n, %f : ($I, $I) -> $I
    relay.yield %p : $I
  }
  relay.return %r : $I
}
relay.func @main(%n: $I) -> ($I, $B) {
  %f = relay.call @factorial(%n) : ($I) -> $I
  %o = relay.call @odd(%n) : ($I) -> $B
  relay.return %f, %o : $I, $B
}
"""

LISTS = (
    LIST
    + """
relay.func @map["A", "B"](%f: ($A) -> $C, %xs: $LA) -> ($LC) {
  %r = relay.match %xs : $LA -> $LC {
  case @Cons(%h: $A, %t: $LA) {
    %y = relay.invoke %f(%h) : (($A) -> $C, $A) -> $C
    %ys = relay.call @map(%f, %t) : (($A) -> $C, $LA) -> $LC
    %l = relay.construct @Cons(%y, %ys) : ($C, $LC) -> $LC
    relay.yield %l : $LC
  }
  case @Nil() {
    %nil = relay.construct @Nil() : () -> $LC
    relay.yield %nil : $LC
  }
  }
  relay.return %r : $LC
}
relay.func @foldr(%f: ($I, $I) -> $I, %z: $I, %xs: $L) -> ($I) {
  %r = relay.match %xs : $L -> $I {
  case @Cons(%h: $I, %t: $L) {
    %s = relay.call @foldr(%f, %z, %t) : (($I, $I) -> $I, $I, $L) -> $I
    %y = relay.invoke %f(%h, %s) : (($I, $I) -> $I, $I, $I) -> $I
    relay.yield %y : $I
  }
  case _ {
    relay.yield %z : $I
  }
  }
  relay.return %r : $I
}
relay.func @main(%xs: $L, %k: $I) -> ($L, $I, $I) {
  %scale = relay.fn (%x: $I) -> $I {
    %y = relay.multiply %x, %k : ($I, $I) -> $I
    relay.yield %y : $I
  }
  %ys = relay.call @map(%scale, %xs) : (($I) -> $I, $L) -> $L
  %minus = relay.fn (%a: $I, %b: $I) -> $I {
    %d = relay.subtract %a, %b : ($I, $I) -> $I
    relay.yield %d : $I
  }
  %zero = relay.constant dense<0> : $I
  %alternating = relay.call @foldr(%minus, %zero, %ys) : (($I, $I) -> $I, $I, $L) -> $I
  %f = relay.global @sum : ($L) -> $I
  %total = relay.invoke %f(%ys) : (($L) -> $I, $L) -> $I
  relay.return %ys, %alternating, %total : $L, $I, $I
}
relay.func @sum(%xs: $L) -> ($I) {
  %r = relay.match %xs : $L -> $I {
  case @Cons(%h: $I, %t: $L) {
    %s = relay.call @sum(%t) : ($L) -> $I
    %y = relay.add %h, %s : ($I, $I) -> $I
    relay.yield %y : $I
  }
  case @Nil() {
    %zero = relay.constant dense<0> : $I
    relay.yield %zero : $I
  }
  }
  relay.return %r : $I
}
"""
)

TREE = """
relay.type_data @Tree { Node($T, $V, $T), Leaf() }
relay.func @main(%t: $T) -> ($V) {
  %r = relay.match %t : $T -> $V {
  case @Node(%left: $T, %v: $V, %right: $T) {
    %a = relay.call @main(%left) : ($T) -> $V
    %b = relay.call @main(%right) : ($T) -> $V
    %s = relay.add %a, %b : ($V, $V) -> $V
    %half = relay.constant dense<0.5> : $F
    %h = relay.multiply %s, %half : ($V, $F) -> $V
    %y = relay.add %h, %v : ($V, $V) -> $V
    relay.yield %y : $V
  }
  case @Leaf() {
    %one = relay.constant dense<1.0> : $V
    relay.yield %one : $V
  }
  }
  relay.return %r : $V
}
"""

CLOSURES = """
relay.func @add(%a: $I) -> (($I) -> $I) {
  %f = relay.fn (%b: $I) -> $I {
    %c = relay.add %a, %b : ($I, $I) -> $I
    relay.yield %c : $I
  }
  relay.return %f : ($I) -> $I
}
relay.func @compose["A"](%f: ($A) -> $A, %g: ($A) -> $A) -> (($A) -> $A) {
  %h = relay.fn (%x: $A) -> $A {
    %y = relay.invoke %g(%x) : (($A) -> $A, $A) -> $A
    %z = relay.invoke %f(%y) : (($A) -> $A, $A) -> $A
    relay.yield %z : $A
  }
  relay.return %h : ($A) -> $A
}
relay.func @main(%x: $I, %y: $I) -> ($I, ($I) -> $I) {
  %seven = relay.constant dense<7> : $I
  %plus_x = relay.call @add(%x) : ($I) -> (($I) -> $I)
  %times = relay.fn (%v: $I) -> $I {
    %w = relay.multiply %v, %seven : ($I, $I) -> $I
    relay.yield %w : $I
  }
  %both = relay.call @compose(%plus_x, %times) : (($I) -> $I, ($I) -> $I) -> (($I) -> $I)
  %again = relay.call @compose(%both, %both) : (($I) -> $I, ($I) -> $I) -> (($I) -> $I)
  %r = relay.invoke %again(%y) : (($I) -> $I, $I) -> $I
  relay.return %r, %both : $I, ($I) -> $I
}
"""

COUNTER = """
relay.func @main(%start: $I) -> ($I, $I, tuple<$I, $I>) {
  %cell = relay.ref_create %start : $I -> !relay.ref<$I>
  %next = relay.fn (%by: $I) -> $I {
    %r = relay.let impure {
      %now = relay.ref_read %cell : !relay.ref<$I> -> $I
      %then = relay.add %now, %by : ($I, $I) -> $I
      %u = relay.ref_write %cell, %then : !relay.ref<$I>, $I -> tuple<>
      relay.yield %now : $I
    }
    relay.yield %r : $I
  }
  %two = relay.constant dense<2> : $I
  %a = relay.invoke impure %next(%two) : (($I) -> $I, $I) -> $I
  %b = relay.invoke impure %next(%start) : (($I) -> $I, $I) -> $I
  %ab = relay.tuple %a, %b : tuple<$I, $I>
  %c = relay.ref_read %cell : !relay.ref<$I> -> $I
  %first = relay.tuple_get_item %ab[0] : tuple<$I, $I>
  relay.return %first, %c, %ab : $I, $I, tuple<$I, $I>
}
"""

PATTERNS = (
    LIST
    + """
relay.func @main(%xs: $L, %p: tuple<$L, $I>) -> ($I) {
  %whole = relay.tuple %p, %xs : tuple<tuple<$L, $I>, $L>
  %r = relay.match %whole : tuple<tuple<$L, $I>, $L> -> $I {
  case ((@Cons(%a: $I, @Nil()), %k: $I), @Cons(_, @Cons(%b: $I, _))) {
    %s = relay.add %a, %b : ($I, $I) -> $I
    %y = relay.multiply %s, %k : ($I, $I) -> $I
    relay.yield %y : $I
  }
  case ((_, %k: $I), @Cons(%a: $I, @Nil())) {
    %y = relay.subtract %a, %k : ($I, $I) -> $I
    relay.yield %y : $I
  }
  case (%q: tuple<$L, $I>, @Nil()) {
    %k = relay.tuple_get_item %q[1] : tuple<$L, $I>
    relay.yield %k : $I
  }
  case _ {
    %r = relay.match partial %xs : $L -> $I {
    case @Cons(%h: $I, @Cons(_, @Cons(_, @Nil()))) {
      relay.yield %h : $I
    }
    }
    relay.yield %r : $I
  }
  }
  relay.return %r : $I
}
"""
)

WHILE = """
relay.func @main(%x: $V, %limit: $F) -> ($V, $I) {
  %go = relay.let rec (%self: ($V, $I) -> tuple<$V, $I>) {
    %go = relay.fn (%s: $V, %i: $I) -> tuple<$V, $I> {
      %e = relay.exp %s : ($V) -> $V
      %t = relay.sum %e : ($V) -> $F
      %c = relay.less %t, %limit : ($F, $F) -> $B
      %r = relay.if %c : $B -> tuple<$V, $I> {
        %by = relay.constant dense<1.25> : $F
        %one = relay.constant dense<1> : $I
        %n = relay.multiply %s, %by : ($V, $F) -> $V
        %j = relay.add %i, %one : ($I, $I) -> $I
        %y = relay.invoke %self(%n, %j) : (($V, $I) -> tuple<$V, $I>, $V, $I) -> tuple<$V, $I>
        relay.yield %y : tuple<$V, $I>
      } else {
        %done = relay.tuple %s, %i : tuple<$V, $I>
        relay.yield %done : tuple<$V, $I>
      }
      relay.yield %r : tuple<$V, $I>
    }
    relay.yield %go : ($V, $I) -> tuple<$V, $I>
  }
  %zero = relay.constant dense<0> : $I
  %r = relay.invoke %go(%x, %zero) : (($V, $I) -> tuple<$V, $I>, $V, $I) -> tuple<$V, $I>
  %v = relay.tuple_get_item %r[0] : tuple<$V, $I>
  %n = relay.tuple_get_item %r[1] : tuple<$V, $I>
  relay.return %v, %n : $V, $I
}
"""

GROWING = """
relay.func @main(%x: $O, %n: $I) -> ($O) {
  %zero = relay.constant dense<0> : $I
  %c = relay.greater %n, %zero : ($I, $I) -> $B
  %r = relay.if %c : $B -> $O {
    %one = relay.constant dense<1> : $I
    %m = relay.subtract %n, %one : ($I, $I) -> $I
    %s = relay.sum %x {axis = [0], keepdims = true} : ($O) -> tensor<1x2xf32>
    %y = relay.concatenate %x, %s {axis = 0} : ($O, tensor<1x2xf32>) -> $O
    %z = relay.call @main(%y, %m) : ($O, $I) -> $O
    relay.yield %z : $O
  } else {
    relay.yield %x : $O
  }
  relay.return %r : $O
}
"""

BROADCAST = """
relay.func @main(%x: $O, %y: $O) -> ($O) {
  %z = relay.add %x, %y : ($O, $O) -> $O
  relay.return %z : $O
}
"""

LSTM = (
    LIST
    + """
relay.func @main(%w: tensor<16x8xf32>, %b: tensor<16xf32>, %h: $R, %c: $R,
                 %xs: $LR) -> (tuple<$R, $R>) {
  %state = relay.tuple %h, %c : tuple<$R, $R>
  %r = relay.match %xs : $LR -> tuple<$R, $R> {
  case @Cons(%x: $R, %rest: $LR) {
    %xh = relay.concatenate %x, %h {axis = 1} : ($R, $R) -> tensor<1x8xf32>
    %p = relay.nn.dense %xh, %w : (tensor<1x8xf32>, tensor<16x8xf32>) -> $G
    %g = relay.nn.bias_add %p, %b : ($G, tensor<16xf32>) -> $G
    %i0, %f0, %o0, %u0 = relay.split %g {indices_or_sections = [4, 8, 12], axis = 1} : ($G) -> ($R, $R, $R, $R)
    %i = relay.sigmoid %i0 : ($R) -> $R
    %f = relay.sigmoid %f0 : ($R) -> $R
    %o = relay.sigmoid %o0 : ($R) -> $R
    %u = relay.tanh %u0 : ($R) -> $R
    %kept = relay.multiply %f, %c : ($R, $R) -> $R
    %new = relay.multiply %i, %u : ($R, $R) -> $R
    %c1 = relay.add %kept, %new : ($R, $R) -> $R
    %t = relay.tanh %c1 : ($R) -> $R
    %h1 = relay.multiply %o, %t : ($R, $R) -> $R
    %y = relay.call @main(%w, %b, %h1, %c1, %rest) : (tensor<16x8xf32>, tensor<16xf32>, $R, $R, $LR) -> tuple<$R, $R>
    relay.yield %y : tuple<$R, $R>
  }
  case @Nil() {
    relay.yield %state : tuple<$R, $R>
  }
  }
  relay.return %r : tuple<$R, $R>
}
"""
)

LOCAL = """
relay.func @main(%n: $I, %x: $V) -> (tuple<$V, $V>, $B) {
  %zero = relay.constant dense<0> : $I
  %one = relay.constant dense<1> : $I
  %even, %odd = relay.let rec (%e: ($I) -> $B, %o: ($I) -> $B) {
    %even = relay.fn (%k: $I) -> $B {
      %c = relay.equal %k, %zero : ($I, $I) -> $B
      %r = relay.if %c : $B -> $B {
        relay.yield %c : $B
      } else {
        %m = relay.subtract %k, %one : ($I, $I) -> $I
        %q = relay.invoke %o(%m) : (($I) -> $B, $I) -> $B
        relay.yield %q : $B
      }
      relay.yield %r : $B
    }
    %odd = relay.fn (%k: $I) -> $B {
      %r = relay.invoke %e(%k) : (($I) -> $B, $I) -> $B
      %q = relay.logical_not %r : ($B) -> $B
      relay.yield %q : $B
    }
    relay.yield %even, %odd : ($I) -> $B, ($I) -> $B
  }
  %a = relay.exp %x : ($V) -> $V
  %p = relay.tuple %a, %x : tuple<$V, $V>
  %r = relay.invoke %odd(%n) : (($I) -> $B, $I) -> $B
  %s = relay.let pure {
    %g = relay.tuple_get_item %p[0] : tuple<$V, $V>
    %d = relay.add %g, %a : ($V, $V) -> $V
    %t = relay.tuple %d, %g : tuple<$V, $V>
    relay.yield %t : tuple<$V, $V>
  }
  relay.return %s, %r : tuple<$V, $V>, $B
}
"""


DECIDED = """
relay.func @main(%x: tensor<?x4xf32>, %n: tensor<i64>, %mask: tensor<6xi1>)
    -> (tensor<?x4xf32>, tensor<?xf32>, tensor<?x1xi64>, tensor<2x?xf32>) {
  %zero = relay.constant dense<[0]> : tensor<1xi64>
  %e = relay.exp %x : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %v = relay.reshape %n {newshape = [1]} : (tensor<i64>) -> tensor<1xi64>
  %s = relay.dyn.strided_slice %e, %zero, %v : (tensor<?x4xf32>, tensor<1xi64>, tensor<1xi64>) -> tensor<?x4xf32>
  %y = relay.negative %s : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %from = relay.constant dense<0> : tensor<i64>
  %by = relay.constant dense<1> : tensor<i64>
  %r = relay.dyn.arange %from, %n, %by : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xf32>
  %p, %count = relay.padded_argwhere %mask : (tensor<6xi1>) -> (tensor<6x1xi64>, tensor<i64>)
  %c = relay.reshape %count {newshape = [1]} : (tensor<i64>) -> tensor<1xi64>
  %q = relay.dyn.strided_slice %p, %zero, %c : (tensor<6x1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?x1xi64>
  %shape = relay.constant dense<[2, -1]> : tensor<2xi64>
  %w = relay.dyn.reshape %y, %shape : (tensor<?x4xf32>, tensor<2xi64>) -> tensor<2x?xf32>
  relay.return %y, %r, %q, %w : tensor<?x4xf32>, tensor<?xf32>, tensor<?x1xi64>, tensor<2x?xf32>
}
"""

REVERSE = (
    LIST
    + """
relay.func @main(%xs: $L) -> ($L) {
  %nil = relay.construct @Nil() : () -> $L
  %r = relay.call @onto(%xs, %nil) : ($L, $L) -> $L
  relay.return %r : $L
}
relay.func @onto(%xs: $L, %ys: $L) -> ($L) {
  %r = relay.match %xs : $L -> $L {
  case @Cons(%h: $I, %t: $L) {
    %zs = relay.construct @Cons(%h, %ys) : ($I, $L) -> $L
    %q = relay.call @onto(%t, %zs) : ($L, $L) -> $L
    relay.yield %q : $L
  }
  case @Nil() {
    relay.yield %ys : $L
  }
  }
  relay.return %r : $L
}
relay.func @copy(%xs: $L) -> ($L) {
  %r = relay.match %xs : $L -> $L {
  case @Cons(%h: $I, %t: $L) {
    %zs = relay.call @copy(%t) : ($L) -> $L
    %q = relay.construct @Cons(%h, %zs) : ($I, $L) -> $L
    relay.yield %q : $L
  }
  case @Nil() {
    relay.yield %xs : $L
  }
  }
  relay.return %r : $L
}
"""
)
"""Nothing but control and data: `main` and `onto` call in tail position, `copy` does not."""


def module_of(text: str, folder: Path) -> ModuleOp:
    """The module of a program, read from a file `net.mlir` in `folder`."""
    path = folder / "net.mlir"
    path.write_text(expanded(text))
    return read_module(path)


def expanded(text: str) -> str:
    """A program with its types spelled out."""
    return re.sub(r"\$([A-Z]+)", lambda found: _SHORT[found[1]], text)
