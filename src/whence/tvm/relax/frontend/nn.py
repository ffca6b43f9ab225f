"""Layers by TVM's names of `relax.frontend.nn`: modules with parameters, exported as functions of relay.

>>> class Model(nn.Module):
...     def __init__(self):
...         self.fc = nn.Linear(784, 10)
...     def forward(self, x):
...         return nn.op.softmax(self.fc(x))
>>> mod, params = Model().export_tvm({"forward": {"x": nn.spec.Tensor((1, 784), "float32")}})
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any, cast

import numpy as np

from whence.relax.block_builder import BlockBuilder
from whence.relax.frontend.tensors import Tensor as Tensor
from whence.relax.frontend.tensors import applied
from whence.relax.frontend.tensors import op as op
from whence.relay.module import IRModule
from whence.support.dtypes import Array
from whence.support.errors import FrontendError, expectation
from whence.syntax.relay.expr import Expr, Tuple, Var
from whence.syntax.relay.type_view import TensorType

_NAME = "_layer_name"
"""The attribute of a module for its name in the model."""


class _Spec:
    """The shape and dtype of an argument; a text among the extents is the name of a size."""

    def __init__(self, shape: Sequence[int | str], dtype: str = "float32"):
        self.shape = list(shape)
        self.dtype = dtype


spec = SimpleNamespace(Tensor=_Spec)


class Parameter(Tensor):
    """A weight of a module: a parameter of its functions, and `data` for it, if somebody set that."""

    def __init__(self, shape: Sequence[int], dtype: str | None = None):
        super().__init__(_expr=Var("param", TensorType(shape, dtype or "float32")))
        self._type = TensorType(shape, dtype or "float32")
        self._data: Array | None = None

    @property
    def data(self) -> Array | None:
        return self._data

    @data.setter
    def data(self, value: Any) -> None:
        array = np.asarray(value)
        if list(array.shape) != list(self._type.shape) or array.dtype.name != self._type.dtype:
            got = f"{array.dtype.name}{list(array.shape)}"
            raise FrontendError(expectation("Parameter", str(self._type), got))
        self._data = array

    def bound(self, name: str) -> Var:
        """Return the variable that stands for the parameter in the next function."""
        var = Var(name, self._type)
        self._expr = var
        return var


class Module:
    """Base of layers and models: attributes that are parameters or modules belong to it."""

    def named_parameters(self, prefix: str = "") -> Iterator[tuple[str, Parameter]]:
        """Yield the parameters with their names, `fc.weight`, in the order of attributes."""
        for name, value in self._parts():
            if isinstance(value, Parameter):
                yield f"{prefix}{name}", value
            elif isinstance(value, Module):
                yield from value.named_parameters(f"{prefix}{name}.")

    def _parts(self) -> Iterator[tuple[str, Any]]:
        yield from vars(self).items()

    def parameters(self) -> Iterator[Parameter]:
        """Yield the parameters."""
        return (parameter for _, parameter in self.named_parameters())

    def state_dict(self) -> dict[str, Parameter]:
        """Return the parameters by name."""
        return dict(self.named_parameters())

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Set the data of parameters by name; raises FrontendError for a name that is none, and another shape."""
        own = self.state_dict()
        for name, value in state_dict.items():
            if name not in own:
                raise FrontendError(expectation("load_state_dict", f"a name among {', '.join(own)}", name))
            own[name].data = value

    def to(self, dtype: str | None = None) -> None:
        """Have all parameters be of a dtype."""
        for parameter in self.parameters() if dtype is not None else ():
            Parameter.__init__(parameter, parameter.shape, dtype)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        builder, name = BlockBuilder.current(), vars(self).get(_NAME, "")
        with builder.layer(name) if builder is not None and name else nullcontext():
            return cast(Any, self).forward(*args, **kwargs)

    def _name_parts(self, prefix: str) -> None:
        """Give modules inside their names, `encoder.fc`, which layers of the program have."""
        for name, value in list(self._parts()):
            if isinstance(value, Module):
                vars(value)[_NAME] = f"{prefix}{name}"
                value._name_parts(f"{prefix}{name}.")

    def export_tvm(
        self, spec: Mapping[str, Mapping[str, _Spec]], debug: bool = False
    ) -> tuple[IRModule, list[tuple[str, Parameter]]]:
        """Return a module with a function for each method in `spec`, and the parameters, which follow the arguments.

        spec: method -> argument -> `nn.spec.Tensor`. debug: as in TVM, for effects, which there are none of.
        """
        if debug:
            raise FrontendError(expectation("export_tvm", "debug=False", "True: no function has effects"))
        self._name_parts("")
        builder, parameters = BlockBuilder(), list(self.named_parameters())
        for method, arguments in spec.items():
            inputs = [Var(name, TensorType(described.shape, described.dtype)) for name, described in arguments.items()]
            weights = [parameter.bound(name) for name, parameter in parameters]
            with builder.function(method, [*inputs, *weights], {"num_input": len(inputs)}):
                with builder.dataflow():
                    result = getattr(self, method)(*(Tensor(_expr=var) for var in inputs))
                    output = builder.emit_output(_result(result, method))
                builder.emit_func_output(output)
        return builder.get(), parameters


def _result(value: Any, method: str) -> Expr:
    if isinstance(value, Tensor):
        return value.expr
    if isinstance(value, list | tuple):
        return Tuple([_result(item, method) for item in cast("Sequence[Any]", value)])
    raise FrontendError(expectation(f"export_tvm: {method}", "tensors as result", type(value).__name__))


class ModuleList(Module):
    """Modules by number."""

    def __init__(self, modules: Sequence[Module]):
        self.modules = list(modules)

    def _parts(self) -> Iterator[tuple[str, Any]]:
        return ((str(index), module) for index, module in enumerate(self.modules))

    def __iter__(self) -> Iterator[Module]:
        return iter(self.modules)

    def __getitem__(self, index: int) -> Module:
        return self.modules[index]

    def __len__(self) -> int:
        return len(self.modules)

    def append(self, module: Module) -> None:
        """Add a module behind the others."""
        self.modules.append(module)

    def forward(self, x: Any) -> Any:
        """Return the result of all modules, one after the other."""
        for module in self.modules:
            x = module(x)
        return x


class _Function(Module):
    """A layer without parameters: one operator."""

    operator = ""

    def forward(self, x: Tensor) -> Tensor:
        """Return the result of the operator."""
        return applied(self.operator, x)


class ReLU(_Function):
    operator = "nn.relu"


class SiLU(_Function):
    operator = "nn.silu"


class GELU(_Function):
    operator = "nn.gelu"


class Identity(Module):
    def forward(self, x: Tensor) -> Tensor:
        """Return the argument."""
        return x


class Linear(Module):
    """`x @ weight.T + bias`, with a weight of (out_features, in_features)."""

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        dtype: str | None = None,
        out_dtype: str | None = None,
    ):
        self.in_features, self.out_features, self.out_dtype = in_features, out_features, out_dtype
        self.weight = Parameter((out_features, in_features), dtype)
        self.bias = Parameter((out_features,), dtype or out_dtype) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        """Return the product with the weight, and the bias added."""
        product = applied("linear", x, self.weight, out_dtype=self.out_dtype)
        return product if self.bias is None else product + self.bias


class Conv2D(Module):
    """A convolution of images (N, C, H, W), with a weight of (out_channels, in_channels / groups, height, width)."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | Sequence[int],
        stride: int = 1,
        padding: int = 0,
        dilation: int = 1,
        groups: int = 1,
        bias: bool = True,
        dtype: str | None = None,
    ):
        size = [kernel_size] * 2 if isinstance(kernel_size, int) else list(kernel_size)
        self.options = {
            "strides": [stride] * 2,
            "padding": [padding] * 4,
            "dilation": [dilation] * 2,
            "groups": groups,
        }
        self.weight = Parameter((out_channels, in_channels // groups, *size), dtype)
        self.bias = Parameter((out_channels,), dtype) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        """Return the convolution, and the bias added."""
        product = applied("nn.conv2d", x, self.weight, **self.options)
        return product if self.bias is None else product + applied("reshape", self.bias, [1, -1, 1, 1])


class LayerNorm(Module):
    """The normalisation of the last axis."""

    def __init__(self, normalized_shape: int, eps: float = 1e-5, dtype: str | None = None):
        self.eps = eps
        self.weight = Parameter((normalized_shape,), dtype)
        self.bias = Parameter((normalized_shape,), dtype)

    def forward(self, x: Tensor) -> Tensor:
        """Return the normalised tensor."""
        return applied("nn.layer_norm", x, self.weight, self.bias, axes=-1, epsilon=self.eps)


class RMSNorm(Module):
    """The quotient by the root of the mean of squares along the last axis."""

    def __init__(self, hidden_size: int, axes: int = -1, epsilon: float = 1e-5, dtype: str | None = None):
        self.axes, self.epsilon = axes, epsilon
        self.weight = Parameter((hidden_size,), dtype)

    def forward(self, x: Tensor) -> Tensor:
        """Return the normalised tensor."""
        return applied("nn.rms_norm", x, self.weight, axes=self.axes, epsilon=self.epsilon)


class Embedding(Module):
    """Rows of a table, by number."""

    def __init__(self, num: int, dim: int, dtype: str | None = None):
        self.weight = Parameter((num, dim), dtype)

    def forward(self, x: Tensor) -> Tensor:
        """Return the rows of the numbers."""
        return applied("take", self.weight, x, axis=0)
