# pyright: basic, reportArgumentType=false
"""Loops and branches that TVM's own tests of its frontend try (see `tensorflow_operator_cases`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from tensorflow_image_cases import integers, reals


def control(tf: Any, ops: Any) -> Iterator[tuple[str, Any, list[Any]]]:
    def counted(x: Any) -> Any:
        return tf.while_loop(lambda i: i < 10, lambda i: i + 1, [x])

    yield "loop", counted, [np.int32(3)]
    yield "loop not entered", counted, [np.int32(30)]

    def called(x: Any) -> Any:
        """Loop variables that are computed before."""
        return tf.while_loop(lambda i: tf.less(i, 4), lambda i: tf.add(i, 1), [tf.add(x, 1)])

    yield "loop of what is computed before", called, [np.int32(0)]

    def three(i: Any, j: Any) -> Any:
        one = tf.constant(2)
        return tf.while_loop(lambda i, j, k: (i + j) < 10, lambda i, j, k: (i + 1, j + one, k * 2), [i, j, i + j])

    yield "loop of three", three, [np.int32(0), np.int32(1)]

    def conditions(x: Any) -> Any:
        """A condition of several comparisons."""

        def going(i: Any, total: Any) -> Any:
            return tf.logical_and(i < 20, tf.logical_or(tf.reduce_sum(total) < 100.0, tf.equal(i, 2)))

        return tf.while_loop(going, lambda i, total: (i + 1, total + tf.cast(i, tf.float32)), [0, x])

    yield "loop by several conditions", conditions, [reals(2, 3)]

    def bodies(x: Any) -> Any:
        """A body of slices, products and concatenations."""

        def body(i: Any, v: Any) -> Any:
            top = tf.strided_slice(v, [0, 0], [1, 3])
            rest = tf.strided_slice(v, [1, 0], [3, 3])
            return i + 1, tf.concat([rest, top], 0) @ tf.constant(reals(3, 3, seed=4))

        return tf.while_loop(lambda i, v: i < 3, body, [0, x])

    yield "loop of slices", bodies, [reals(3, 3)]

    def nested(x: Any) -> Any:
        def body(i: Any, v: Any) -> Any:
            _, v = tf.while_loop(lambda j, w: j < i + 2, lambda j, w: (j + 1, w + tf.cast(j, tf.float32)), [0, v])
            return i + 1, v * 0.5

        return tf.while_loop(lambda i, v: i < 4, body, [0, x])

    yield "loop in a loop", nested, [reals(3)]
    yield "choice", lambda x, y: tf.cond(x < y, lambda: x + y, lambda: tf.square(y)), [np.float32(2), np.float32(7)]
    yield (
        "other choice",
        lambda x, y: tf.cond(x < y, lambda: x + y, lambda: tf.square(y)),
        [np.float32(9), np.float32(7)],
    )

    def several(x: Any, y: Any) -> Any:
        """Several results, one of which is that of a constant."""
        return tf.cond(tf.reduce_all(x < y), lambda: (x * y, tf.constant(1.0)), lambda: (x - y, tf.constant(2.0)))

    yield "choice of several", several, [reals(3), reals(3, seed=1)]

    def parameters(i: Any, n: Any) -> Any:
        """A branch that calls a function of what is outside."""

        def product(a: Any, b: Any) -> Any:
            return tf.matmul(a, b, transpose_b=True)

        return tf.cond(tf.less(n, 5), lambda: product(i, i), lambda: product(i, i) * 2.0)

    yield "choice of a function", parameters, [reals(2, 3), np.int32(7)]

    def choices(x: Any, y: Any) -> Any:
        def first() -> Any:
            return tf.cond(y > 3, lambda: x - 1, lambda: x + y)

        return tf.cond(x > 2, first, lambda: tf.cond(y > 1, lambda: x * 3, lambda: y))

    for pair in ((9, 1), (0, 7), (0, 0)):
        yield f"choice in a choice {pair}", choices, [np.int32(number) for number in pair]

    def loop_in_choice(x: Any) -> Any:
        def loop() -> Any:
            return tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, v * 2), [0, x])[1]

        return tf.cond(tf.reduce_sum(x) > 0, loop, lambda: x)

    yield "loop in a choice", loop_in_choice, [integers(3, low=1)]
    yield "loop in a choice not taken", loop_in_choice, [integers(3, low=-9, high=-1)]

    def choice_in_loop(x: Any) -> Any:
        def body(i: Any, v: Any) -> Any:
            return i + 1, tf.cond(tf.equal(i % 2, 0), lambda: v + 1.0, lambda: v * 2.0)

        return tf.while_loop(lambda i, v: i < 5, body, [0, x])

    yield "choice in a loop", choice_in_loop, [reals(2)]

    def bounded(x: Any) -> Any:
        return tf.while_loop(lambda v: tf.reduce_sum(v) < 1000.0, lambda v: v * 2.0, [x], maximum_iterations=4)

    yield "loop of at most four", bounded, [np.abs(reals(3))]
    yield (
        "choice of four",
        lambda i, x: tf.switch_case(i, [lambda k=k: x * float(k) for k in range(3)], default=lambda: -x),
        [np.int32(3), reals(2)],
    )

    def normalised(x: Any, training: Any) -> Any:
        """Batch normalisation by its own statistics, or by those that it has."""
        scale, offset, mean, spread = (np.abs(reals(3, seed=s)) + 0.1 for s in range(4))
        run = tf.compat.v1.nn.fused_batch_norm
        return tf.cond(
            training,
            lambda: run(x, scale, offset, is_training=True)[0],
            lambda: run(x, scale, offset, mean, spread, is_training=False)[0],
        )

    for training in (True, False):
        yield f"batch normalisation {training}", normalised, [reals(2, 4, 4, 3), np.array(training)]

    def asserted(x: Any) -> Any:
        with tf.control_dependencies([tf.debugging.assert_greater(tf.reduce_sum(tf.abs(x)), 0.0)]):
            return tf.debugging.check_numerics(x * 2.0, "numbers")

    yield "assertion", asserted, [reals(3)]
