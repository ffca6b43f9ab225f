"""Kernels of blocks that may not be computed elsewhere, copied, or run at once: parameters and bodies in TVMScript."""

PLACES: dict[str, tuple[str, str]] = {
    "GAPS": (
        "X[8], Y[5]",
        """
        for i, j in T.grid(2, 2):
            with T.block("Y"):
                v = T.axis.spatial(5, i * 3 + j)
                Y[v] = X[v]
        """,
    ),
    "SHIFTED": (
        "X[8], Y[8]",
        """
        for i in range(7):
            with T.block("Y"):
                v = T.axis.spatial(8, i + 1)
                Y[v] = X[v]
        """,
    ),
    "LAST": (
        "X[8,4], Z[8]",
        """
        Y = T.alloc_buffer((8,), "float32")
        for i, j in T.grid(8, 4):
            with T.block("Y"):
                v, w = T.axis.remap("SS", [i, j])
                Y[v] = X[v, w]
        for i in range(8):
            with T.block("Z"):
                v = T.axis.spatial(8, i)
                Z[v] = Y[v]
        """,
    ),
    # T changes in the nest in which Y reads it, or in one behind.
    "CHANGED": (
        "X[8], Z[8]",
        """
        W = T.alloc_buffer((8,), "float32")
        Y = T.alloc_buffer((8,), "float32")
        for i in range(8):
            with T.block("W"):
                v = T.axis.spatial(8, i)
                W[v] = X[v]
        for i in range(8):
            with T.block("Y"):
                v = T.axis.spatial(8, i)
                Y[v] = W[v]
            with T.block("W2"):
                v = T.axis.spatial(8, i)
                W[v] = W[v] + T.float32(1)
        for i in range(8):
            with T.block("Z"):
                v = T.axis.spatial(8, i)
                Z[v] = Y[v] + W[v]
        """,
    ),
    "CHANGED_BEHIND": (
        "X[8], Z[8]",
        """
        W = T.alloc_buffer((8,), "float32")
        Y = T.alloc_buffer((8,), "float32")
        for i in range(8):
            with T.block("W"):
                v = T.axis.spatial(8, i)
                W[v] = X[v]
        for i in range(8):
            with T.block("Y"):
                v = T.axis.spatial(8, i)
                Y[v] = W[v] * T.float32(2)
        for i in range(8):
            with T.block("W2"):
                v = T.axis.spatial(8, i)
                W[v] = W[v] + T.float32(1)
        for i in range(8):
            with T.block("Z"):
                v = T.axis.spatial(8, i)
                Z[v] = Y[v] + W[v]
        """,
    ),
    # W is made beside the loop that makes Y.
    "SIBLINGS": (
        "X[8,4], Z[8,4]",
        """
        W = T.alloc_buffer((8, 4), "float32")
        Y = T.alloc_buffer((8, 4), "float32")
        for i in range(8):
            for j in range(4):
                with T.block("Y"):
                    v, w = T.axis.remap("SS", [i, j])
                    Y[v, w] = X[v, w]
            for j in range(4):
                with T.block("W"):
                    v, w = T.axis.remap("SS", [i, j])
                    W[v, w] = X[v, w] + T.float32(1)
        for i, j in T.grid(8, 4):
            with T.block("Z"):
                v, w = T.axis.remap("SS", [i, j])
                Z[v, w] = Y[v, w] + W[v, w]
        """,
    ),
    # The old Z is read behind the loop that makes Y.
    "OLD": (
        "X[8], U[8], Z[8]",
        """
        Y = T.alloc_buffer((8,), "float32")
        for i in range(8):
            with T.block("old"):
                v = T.axis.spatial(8, i)
                Z[v] = X[v]
        for i in range(8):
            with T.block("Y"):
                v = T.axis.spatial(8, i)
                Y[v] = X[v] + T.float32(1)
        for i in range(8):
            with T.block("U"):
                v = T.axis.spatial(8, i)
                U[v] = Z[v]
        for i in range(8):
            with T.block("Z"):
                v = T.axis.spatial(8, i)
                Z[v] = Y[v]
        """,
    ),
    "PART": (
        "X[8], Z[8]",
        """
        Y = T.alloc_buffer((8,), "float32")
        for i in range(7):
            with T.block("Y"):
                v = T.axis.spatial(8, i)
                Y[v] = X[v]
        for i in range(8):
            with T.block("Z"):
                v = T.axis.spatial(8, i)
                Z[v] = Y[v]
        """,
    ),
    "WIDER": (
        "X[10], Z[8]",
        """
        Y = T.alloc_buffer((10,), "float32")
        for i in range(10):
            with T.block("Y"):
                v = T.axis.spatial(10, i)
                Y[v] = X[v] + T.float32(1)
        for i, k in T.grid(8, 3):
            with T.block("Z"):
                v, r = T.axis.remap("SR", [i, k])
                with T.init():
                    Z[v] = T.float32(0)
                Z[v] = Z[v] + Y[v] * Y[v + r]
        """,
    ),
    "HALVED": (
        "X[8], Z[4]",
        """
        Y = T.alloc_buffer((8,), "float32")
        for i in range(8):
            with T.block("Y"):
                v = T.axis.spatial(8, i)
                Y[v] = X[v]
        for i in range(8):
            with T.block("Z"):
                v = T.axis.spatial(8, i)
                Z[v // 2] = Y[v]
        """,
    ),
    "ROW": (
        "X[8,4], Z[4]",
        """
        Y = T.alloc_buffer((8, 4), "float32")
        for i, j in T.grid(8, 4):
            with T.block("Y"):
                v, w = T.axis.remap("SS", [i, j])
                Y[v, w] = X[v, w]
        for i, j in T.grid(8, 4):
            with T.block("Z"):
                v, w = T.axis.remap("SS", [i, j])
                Z[w] = Y[v, w]
        """,
    ),
    "GOES_ON": (
        "X[8,4], Z[8]",
        """
        Y = T.alloc_buffer((8,), "float32")
        for i, k in T.grid(8, 4):
            with T.block("Y"):
                v, r = T.axis.remap("SR", [i, k])
                Y[v] = Y[v] + X[v, r]
        for i in range(8):
            with T.block("Z"):
                v = T.axis.spatial(8, i)
                Z[v] = Y[v]
        """,
    ),
    "FIRST": (
        "X[8], Z[8]",
        """
        Y = T.alloc_buffer((8,), "float32")
        for i in range(8):
            with T.block("Y"):
                v = T.axis.spatial(8, i)
                Y[v] = X[v]
        for i in range(8):
            with T.block("Z"):
                v = T.axis.spatial(8, i)
                Z[v] = T.if_then_else(v >= 1, Y[v - 1], T.float32(1))
        """,
    ),
    "BESIDE": (
        "X[8], Z[8]",
        """
        Y = T.alloc_buffer((8,), "float32")
        for i in range(8):
            with T.block("Y"):
                v = T.axis.spatial(8, i)
                Y[v] = X[v]
            with T.block("Z"):
                v = T.axis.spatial(8, i)
                Z[v] = Y[v]
        """,
    ),
    # Each pass reads the row of the pass before.
    "BEFORE": (
        "X[8,4], Z[8,4]",
        """
        Y = T.alloc_buffer((4,), "float32")
        for i in range(8):
            for j in range(4):
                with T.block("Z"):
                    v, w = T.axis.remap("SS", [i, j])
                    Z[v, w] = T.if_then_else(v >= 1, Y[w], T.float32(0))
            for j in range(4):
                with T.block("Y"):
                    v = T.axis.opaque(8, i)
                    w = T.axis.spatial(4, j)
                    Y[w] = X[v, w]
        """,
    ),
    # Each pass leaves an element as the first pass stored it.
    "SOME": (
        "X[8,4], Z[8,4]",
        """
        Y = T.alloc_buffer((4,), "float32")
        for i in range(8):
            for j in range(4):
                with T.block("Y"):
                    v = T.axis.opaque(8, i)
                    w = T.axis.spatial(4, j)
                    T.where(j * -8 - i + 24 >= 0)
                    Y[w] = X[v, w]
            for j in range(4):
                with T.block("Z"):
                    v, w = T.axis.remap("SS", [i, j])
                    Z[v, w] = Y[w]
        """,
    ),
    "FROM_ONE": (
        "X[8,4], Z[8,4]",
        """
        Y = T.alloc_buffer((4,), "float32")
        for i in range(8):
            for j in range(3):
                with T.block("Y"):
                    v = T.axis.opaque(8, i)
                    w = T.axis.spatial(4, j + 1)
                    Y[w] = X[v, w]
            for j in range(4):
                with T.block("Z"):
                    v, w = T.axis.remap("SS", [i, j])
                    Z[v, w] = Y[w]
        """,
    ),
    # An element above the diagonal is of the pass before.
    "TURNED": (
        "X[2,4,4], Z[2,4,4]",
        """
        Y = T.alloc_buffer((4, 4), "float32")
        for i in range(2):
            for j, k in T.grid(4, 4):
                with T.block("Y"):
                    u = T.axis.opaque(2, i)
                    v, w = T.axis.remap("SS", [j, k])
                    with T.init():
                        Y[v, w] = T.float32(0)
                    Y[v, w] = Y[w, v] + X[u, v, w]
            for j, k in T.grid(4, 4):
                with T.block("Z"):
                    u, v, w = T.axis.remap("SSS", [i, j, k])
                    Z[u, v, w] = Y[v, w]
        """,
    ),
    "PARTIAL": (
        "X[8,4], Z[2,4]",
        """
        Y = T.alloc_buffer((4,), "float32")
        for i in range(2):
            for k, j in T.grid(4, 4):
                with T.block("Y"):
                    w = T.axis.spatial(4, j)
                    r = T.axis.reduce(8, i * 4 + k)
                    with T.init():
                        Y[w] = T.float32(0)
                    Y[w] = Y[w] + X[r, w]
            for j in range(4):
                with T.block("Z"):
                    v, w = T.axis.remap("SS", [i, j])
                    Z[v, w] = Y[w]
        """,
    ),
}
