"""Declares the messages of TensorFlow's files in a private pool, which neither needs TensorFlow nor clashes with it.

Only fields that are read are declared; protobuf keeps the others as unknown fields.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError

from ...support.errors import FrontendError

_PACKAGE = "whence.tensorflow"

_MESSAGES: dict[str, str] = {
    "GraphDef": "1 node NodeDef*, 2 library FunctionDefLibrary",
    "NodeDef": "1 name string, 2 op string, 3 input string*, 5 attr {AttrValue}",
    "AttrValue": (
        "1 list ListValue?, 2 s bytes?, 3 i int64?, 4 f float?, 5 b bool?, 6 type int32?, 7 shape TensorShapeProto?,"
        "8 tensor TensorProto?, 9 placeholder string?, 10 func NameAttrList?"
    ),
    "ListValue": (
        "2 s bytes*, 3 i int64*, 4 f float*, 5 b bool*, 6 type int32*, 7 shape TensorShapeProto*, 9 func NameAttrList*"
    ),
    "NameAttrList": "1 name string",
    "FunctionDefLibrary": "1 function FunctionDef*",
    "FunctionDef": "1 signature OpDef, 3 node_def NodeDef*, 4 ret {string}, 6 control_ret {string}",
    "OpDef": "1 name string, 2 input_arg ArgDef*, 3 output_arg ArgDef*",
    "ArgDef": "1 name string, 3 type int32",
    "TensorShapeProto": "2 dim Dim*, 3 unknown_rank bool",
    "Dim": "1 size int64",
    "TensorProto": (
        "1 dtype int32, 2 tensor_shape TensorShapeProto, 4 tensor_content bytes, 5 float_val float*, "
        "6 double_val double*, 7 int_val int32*, 8 string_val bytes*, 10 int64_val int64*, 11 bool_val bool*, "
        "13 half_val int32*, 16 uint32_val uint32*, 17 uint64_val uint64*"
    ),
    "SavedModel": "1 saved_model_schema_version int64, 2 meta_graphs MetaGraphDef*",
    "MetaGraphDef": (
        "1 meta_info_def MetaInfoDef, 2 graph_def GraphDef, 3 saver_def SaverDef, 5 signature_def {SignatureDef}"
    ),
    "MetaInfoDef": "4 tags string*",
    "SaverDef": "3 restore_op_name string",
    "SignatureDef": "1 inputs {TensorInfo}, 2 outputs {TensorInfo}, 3 method_name string",
    "TensorInfo": "1 name string, 2 dtype int32, 3 tensor_shape TensorShapeProto",
    "BundleHeaderProto": "1 num_shards int32, 2 endianness int32",
    "BundleEntryProto": (
        "1 dtype int32, 2 shape TensorShapeProto, 3 shard_id int32, 4 offset int64, 5 size int64, 6 crc32c fixed32, "
        "7 slices Slice*"
    ),
    "Slice": "",
    "GraphDebugInfo": (
        "1 files string*, 2 traces {StackTrace}, 4 frames_by_id fixed64{FileLineCol}, 5 name_to_trace_id {fixed64}, "
        "6 traces_by_id fixed64{StackTrace}"
    ),
    "FileLineCol": "1 file_index int32, 2 line int32, 4 func string, 5 code string",
    "StackTrace": "1 file_line_cols FileLineCol*, 2 frame_id fixed64*",
}
"""Message -> its fields, as number, name and type: `*` marks a repeated field, `?` a member of a oneof, and braces a
map to a type from strings, or from the type before the braces. Enumerations are encoded like numbers."""

_Field = descriptor_pb2.FieldDescriptorProto
_SCALARS = {
    "bool": _Field.TYPE_BOOL,
    "bytes": _Field.TYPE_BYTES,
    "double": _Field.TYPE_DOUBLE,
    "fixed32": _Field.TYPE_FIXED32,
    "fixed64": _Field.TYPE_FIXED64,
    "float": _Field.TYPE_FLOAT,
    "int32": _Field.TYPE_INT32,
    "int64": _Field.TYPE_INT64,
    "string": _Field.TYPE_STRING,
    "uint32": _Field.TYPE_UINT32,
    "uint64": _Field.TYPE_UINT64,
}


def message(kind: str) -> Any:
    """Return an empty message of a kind."""
    return _classes()[kind]()


def parse(kind: str, data: bytes, what: str) -> Any:
    """Return the message of a kind that bytes hold.

    Raises FrontendError, which begins with `what`, for other bytes.
    """
    parsed = message(kind)
    try:
        parsed.ParseFromString(data)
    except (DecodeError, RecursionError) as error:
        raise FrontendError(f"{what}: expected a {kind}, got bytes that are none or damaged") from error
    return parsed


@cache
def _classes() -> dict[str, Any]:
    file = descriptor_pb2.FileDescriptorProto(name="whence/tensorflow.proto", package=_PACKAGE, syntax="proto3")
    for name, fields in _MESSAGES.items():
        added = file.message_type.add(name=name)
        for declaration in filter(None, map(str.strip, fields.split(","))):
            _declare(added, *declaration.split())
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    descriptors = {name: pool.FindMessageTypeByName(f"{_PACKAGE}.{name}") for name in _MESSAGES}
    return {name: message_factory.GetMessageClass(descriptor) for name, descriptor in descriptors.items()}


def _declare(declared: Any, number: str, name: str, kind: str) -> None:
    """Add a field to a message."""
    field = declared.field.add(name=name, number=int(number), label=_Field.LABEL_OPTIONAL)
    if kind.endswith("}"):
        key, _, kind = kind.strip("}").partition("{")
        entry = declared.nested_type.add(name=f"{name.title().replace('_', '')}Entry")
        entry.options.map_entry = True
        _declare(entry, "1", "key", key or "string")
        _declare(entry, "2", "value", kind)
        field.label, field.type = _Field.LABEL_REPEATED, _Field.TYPE_MESSAGE
        field.type_name = f".{_PACKAGE}.{declared.name}.{entry.name}"
        return
    if kind.endswith("*"):
        field.label = _Field.LABEL_REPEATED
    if kind.endswith("?"):
        if not declared.oneof_decl:
            declared.oneof_decl.add(name="value")
        field.oneof_index = 0
    kind = kind.rstrip("*?")
    if kind in _SCALARS:
        field.type = _SCALARS[kind]
    else:
        field.type, field.type_name = _Field.TYPE_MESSAGE, f".{_PACKAGE}.{kind}"
