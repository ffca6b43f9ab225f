"""`relay.op.op`, where TVM defines what `relay.op` has."""

from whence.relay.op import OpImplementation as OpImplementation
from whence.relay.op import OpPattern as OpPattern
from whence.relay.op import OpSpecialization as OpSpecialization
from whence.relay.op import OpStrategy as OpStrategy
from whence.relay.op import get as get
from whence.relay.op import register_alter_op_layout as register_alter_op_layout
from whence.relay.op import register_compute as register_compute
from whence.relay.op import register_convert_op_layout as register_convert_op_layout
from whence.relay.op import register_fake_quantization_to_integer as register_fake_quantization_to_integer
from whence.relay.op import register_legalize as register_legalize
from whence.relay.op import register_mixed_precision_conversion as register_mixed_precision_conversion
from whence.relay.op import (
    register_optional_fake_quantization_to_integer as register_optional_fake_quantization_to_integer,
)
from whence.relay.op import register_pattern as register_pattern
from whence.relay.op import register_strategy as register_strategy
from whence.relay.op.custom import register as register
from whence.relay.op.custom import register_stateful as register_stateful
from whence.syntax.relay.expr import Op as Op
from whence.syntax.relay.op_attrs import register_op_attr as register_op_attr
