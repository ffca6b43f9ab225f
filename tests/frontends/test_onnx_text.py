"""Texts and maps in ONNX models, which the interpreter works on: against onnxruntime, else the standard's reference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator
from reference_runtime import onnxruntime_outputs

import whence
from whence.reading.arrays import default_inputs, random_inputs
from whence.support.errors import FrontendError

WORDS = np.array([["red", "green"], ["", "blue"], ["red", "größe"]], np.object_)


def compiled(model: onnx.ModelProto, **options: Any) -> Any:
    return whence.compile(model, **options)


def text(source: str) -> onnx.ModelProto:
    return onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": 21, "ai.onnx.ml": 4]> {source}')


def model(op: str, inputs: Sequence[Any], domain: str = "", version: int = 21, **attributes: Any) -> onnx.ModelProto:
    names = [f"x{at}" for at in range(len(inputs))]
    given = [
        helper.make_tensor_value_info(
            name,
            TensorProto.STRING if x.dtype.hasobject else helper.np_dtype_to_tensor_dtype(x.dtype),
            [None] * x.ndim,
        )
        for name, x in zip(names, inputs, strict=True)
    ]
    node = helper.make_node(op, names, ["y"], "layer", domain=domain, **attributes)
    opsets = [helper.make_opsetid("", 21)]
    if domain:
        opsets.append(helper.make_opsetid(domain, version))
    graph = helper.make_graph([node], "text", given, [onnx.ValueInfoProto(name="y")])
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def same(found: Any, expected: Any) -> None:
    if isinstance(expected, list):
        assert found == expected
        return
    assert found.shape == expected.shape
    if expected.dtype.kind in "OU":
        assert found.tolist() == expected.tolist()
    else:
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=1e-5)


def _of_standard(proto: onnx.ModelProto, given: dict[str, Any]) -> Any:
    evaluator: Any = ReferenceEvaluator(proto)
    return evaluator.run(None, given)


def check(op: str, *inputs: Any, reference: bool = False, **arguments: Any) -> None:
    proto = model(op, inputs, **arguments)
    given = {f"x{at}": x for at, x in enumerate(inputs)}
    expected: Any = _of_standard(proto, given) if reference else onnxruntime_outputs(proto, given)
    same(compiled(proto)(*inputs), expected[0])


@pytest.mark.parametrize(
    ("op", "others", "attributes"),
    [
        ("Identity", [], {}),
        ("Reshape", [np.array([2, -1])], {}),
        ("Flatten", [], {"axis": 0}),
        ("Transpose", [], {"perm": [1, 0]}),
        ("Unsqueeze", [np.array([0, -1])], {}),
        ("Concat", [WORDS], {"axis": 1}),
        ("Gather", [np.array([[0, -1], [2, 1]])], {"axis": 0}),
        ("GatherND", [np.array([[0, 1], [2, 0]])], {}),
        ("Equal", [WORDS[::-1].copy()], {}),
        ("Expand", [np.array([2, 3, 1])], {}),
        ("Tile", [np.array([2, 1])], {}),
        ("Slice", [np.array([2]), np.array([0]), np.array([0]), np.array([-1])], {}),
        ("Slice", [np.array([-1]), np.array([-9]), np.array([0]), np.array([-1])], {}),
        ("Shape", [], {}),
        ("Size", [], {}),
        ("Compress", [np.array([True, False, True])], {"axis": 0}),
    ],
)
def test_texts_move_as_numbers_do(op: str, others: list[Any], attributes: dict[str, Any]):
    check(op, WORDS, *others, **attributes, reference=op in ("Tile", "Flatten", "Gather"))


def test_texts_are_chosen_and_split():
    check("Where", np.array([[True], [False], [True]]), WORDS, WORDS[:, ::-1].copy())
    proto = text("g (string[N] x) => (string[M] a, string[K] b) { a, b = Split <axis = 0, num_outputs = 2> (x) }")
    a, b = compiled(proto)(WORDS[:, 1])
    assert (a.tolist(), b.tolist()) == (["green", "blue"], ["größe"])


@pytest.mark.parametrize(
    ("dtype", "numbers"),
    [
        ("float32", [1.5, -2.0, 0.1, 1e20, 1e-9, np.inf, -np.inf, np.nan, 123456.7]),
        ("int64", [1, -7, 2**40]),
        ("bool", [True, False]),
    ],
)
def test_numbers_are_spelled_as_by_onnxruntime(dtype: str, numbers: list[Any]):
    check("Cast", np.array(numbers, dtype), to=TensorProto.STRING)


def test_texts_are_read_as_numbers():
    check("Cast", np.array(["1", "-2.5", "1e3", "NaN", "INF", "-INF"], np.object_), to=TensorProto.FLOAT)
    check("Cast", np.array(["1", "-25"], np.object_), to=TensorProto.INT64)
    with pytest.raises(FrontendError, match=r"Cast: expected .* 'red' \(layer 'layer', <memory> node 0\)"):
        compiled(model("Cast", [WORDS], to=TensorProto.FLOAT))(WORDS)


def test_texts_are_joined_and_matched():
    check("StringConcat", WORDS, WORDS[:1])
    for pattern in ("r.*", "[a-z]*", "gr(ee|ö).*"):
        check("RegexFullMatch", WORDS, pattern=pattern)
    with pytest.raises(FrontendError, match=r"RegexFullMatch: expected a regular expression .*layer 'layer'"):
        compiled(model("RegexFullMatch", [WORDS], pattern="(a)\\1"))(WORDS)


@pytest.mark.parametrize("action", ["NONE", "LOWER", "UPPER"])
@pytest.mark.parametrize("sensitive", [0, 1])
def test_texts_are_normalised(action: str, sensitive: int):
    words = np.array(["Red", "red", "The", "size"], np.object_)
    arguments: dict[str, Any] = {
        "case_change_action": action,
        "is_case_sensitive": sensitive,
        "stopwords": ["the", "red"],
    }
    if sensitive or action != "NONE":  # where the reference forgets to compare in one case
        check("StringNormalizer", words, **arguments, reference=True)
    check("StringNormalizer", words[1:2], reference=True, **{**arguments, "is_case_sensitive": 1})
    folded = compiled(model("StringNormalizer", [words], case_change_action=action))(np.array(["Öß"]))
    assert folded.tolist() == [{"NONE": "Öß", "LOWER": "öß", "UPPER": "Öß"}[action]]


@pytest.mark.parametrize("mode", ["TF", "IDF", "TFIDF"])
@pytest.mark.parametrize("skips", [0, 1, 5])
def test_n_grams_are_counted(mode: str, skips: int):
    rng = np.random.default_rng(skips)
    pool = [1, 2, 3, 1, 2, 2, 2, 3, 1, 1, 2, 3, 2, 2, 2]
    arguments: dict[str, Any] = {
        "mode": mode,
        "min_gram_length": 1,
        "max_gram_length": 3,
        "max_skip_count": skips,
        "ngram_counts": [0, 3, 9],
        "ngram_indexes": [3, 0, 1, 2, 6, 5, 4, 7],
        "weights": [float(x) for x in rng.random(8)],
    }
    numbers = rng.integers(1, 4, (5, 9))
    check("TfIdfVectorizer", numbers, **arguments, pool_int64s=pool)
    check("TfIdfVectorizer", numbers[0], **arguments, pool_int64s=pool)
    words = np.array(["", "a", "b", "c"], np.object_)
    arguments["pool_strings"] = [str(words[at]) for at in pool]
    arguments["min_gram_length"] = 2
    check("TfIdfVectorizer", words[numbers], **arguments)


def test_texts_are_cut_into_words():
    x = np.array([["red, green;blue", "a"], ["", ";;x, yz"]], np.object_)
    arguments: dict[str, Any] = {"domain": "com.microsoft", "version": 1, "mark": 0, "pad_value": "#", "mincharnum": 1}
    check("Tokenizer", x, separators=[";", ", "], **arguments)
    check("Tokenizer", x, separators=[""], **arguments)
    check("Tokenizer", x, tokenexp="[a-z]+", **arguments)
    arguments |= {"mark": 1, "mincharnum": 2}
    check("Tokenizer", x, separators=[";", ", "], **arguments)


def test_encoders_of_texts():
    ml: dict[str, Any] = {"domain": "ai.onnx.ml", "version": 2}
    keys = ["red", "blue", "red"]
    check("LabelEncoder", WORDS, keys_strings=keys, values_int64s=[4, 5, 6], default_int64=9, **ml)
    check("LabelEncoder", WORDS, keys_strings=keys[:2], values_floats=[4.0, 0.5], **ml)
    check("LabelEncoder", WORDS, keys_strings=keys[:2], values_strings=["r", "b"], default_string="?", **ml)
    check("LabelEncoder", np.array([1, 2, 5]), keys_int64s=[5, 1], values_strings=["five", "one"], **ml)
    check("LabelEncoder", WORDS[:, 1], classes_strings=["blue", "green"], domain="ai.onnx.ml", version=1)
    check("LabelEncoder", np.array([1, 0, 7]), classes_strings=["blue", "green"], domain="ai.onnx.ml", version=1)
    one: dict[str, Any] = {"domain": "ai.onnx.ml", "version": 1}
    check("OneHotEncoder", WORDS, cats_strings=["red", "blue", "green"], zeros=1, **one)
    names: dict[str, Any] = {
        "cats_strings": ["red", "blue"],
        "cats_int64s": [7, -3],
        "default_int64": 1,
        "default_string": "none",
    }
    check("CategoryMapper", WORDS, **names, **one)
    check("CategoryMapper", np.array([[7, 0], [-3, -3]]), **names, **one)


@pytest.mark.parametrize("texts", [False, True])
def test_a_category_that_is_none_is_refused(texts: bool):
    x = WORDS if texts else np.array([[1, 2], [3, 1]])
    categories: dict[str, Any] = {"cats_strings": ["red"]} if texts else {"cats_int64s": [1, 3]}
    executable = compiled(model("OneHotEncoder", [x], "ai.onnx.ml", 1, zeros=0, **categories))
    with pytest.raises(FrontendError, match=r"OneHotEncoder: expected a category among .*got .*layer 'layer'"):
        executable(x)
    assert executable(x[:1, :1]).tolist() == ([[[1.0]]] if texts else [[[1.0, 0.0]]])


def test_maps_are_made_and_taken():
    labels = text("""g (float[N, 2] x) => (seq(map(string, float)) z, float[N, 2] y) {
        [relu] y = Relu (x)
        [zip] z = ai.onnx.ml.ZipMap <classlabels_strings = ["a", "b"]> (y) }""")
    x = np.array([[1, -2], [0.5, 3]], np.float32)
    executable = compiled(labels)
    assert executable.decided == (
        "ZipMap: expected steps that shapes decide, got one on texts or maps (layer 'zip', <memory> node 1)"
    )
    for rows in (x, x[:1]):
        for mine, theirs in zip(executable(rows), onnxruntime_outputs(labels, {"x": rows}), strict=True):
            same(mine, theirs)
    assert len(executable.specializations) == 1
    vocabulary = text("""g (map(string, float) x) => (float[1, 3] y) {
        y = ai.onnx.ml.DictVectorizer <string_vocabulary = ["a", "c", "b"]> (x) }""")
    same(compiled(vocabulary).run({"x": {"b": 2.5, "a": 1.0}})["y"], np.array([[1, 0, 2.5]], np.float32))
    for form, expected in (("DENSE", [[3, 7]]), ("SPARSE", [[0, 7, 0, 3]])):
        cast = text(f"""g (map(int64, float) x) => (int64[M, K] y) {{
            y = ai.onnx.ml.CastMap <cast_to = "TO_INT64", map_form = "{form}", max_map = 4> (x) }}""")
        found = compiled(cast).run({"x": {3: 3.0, 1: 7.0} if form == "SPARSE" else {2: 7.0, 1: 3.0}})["y"]
        same(found, np.array(expected, np.int64))
    with pytest.raises(FrontendError, match="expected map 'x'"):
        compiled(vocabulary).run({"x": x})


def test_steps_that_python_does_are_layers_like_others():
    proto = text("""g (string[N] x, float[N] v) => (string[N] y, float[N] w) {
        [joined] c = StringConcat (x, x)
        [grown] w = Exp (v)
        [lower] y = StringNormalizer <case_change_action = "LOWER"> (c) }""")
    executable = compiled(proto)
    assert executable.layers == ("joined", "grown", "lower")
    y, w = executable(["A", "b"], np.zeros(2, np.float32))
    assert (y.tolist(), w.tolist()) == (["aa", "bb"], [1.0, 1.0])
    assert "grown" in str(executable.why("fused_exp"))
    assert str(executable.where("lower")) == (
        "layer lower (StringNormalizer, <memory>:2): StringNormalizer, done by the interpreter"
    )
    assert executable.decided == "input 'x': expected a tensor of numbers, got texts"


def test_texts_in_branches_and_loops():
    branch = text("""g (bool c, string[N] x) => (string[N] y) {
        y = If (c) < then_branch = a () => (string[N] t) { t = StringConcat (x, x) },
                     else_branch = b () => (string[N] e) { e = Identity (x) } > }""")
    executable = compiled(branch)
    for condition in (True, False):
        found = executable(np.array(condition), np.array(["a", "b"]))
        assert found.tolist() == (["aa", "bb"] if condition else ["a", "b"])
    loop = text("""g (int64 n, string[N] x) => (string[N] y) {
        go = Constant <value = bool {1}> ()
        add = Constant <value_strings = ["!"]> ()
        y = Loop (n, go, x) < body = b (int64 i, bool on, string[N] s) => (bool still, string[N] more) {
            still = Identity (on)
            more = StringConcat (s, add) } > }""")
    assert compiled(loop)(np.array(3), np.array(["a", "b"])).tolist() == ["a!!!", "b!!!"]


def test_operators_that_take_no_texts_say_so():
    with pytest.raises(
        FrontendError, match=r"Exp: expected numbers, got texts or maps \(layer 'layer', <memory> node 0\)"
    ):
        compiled(model("Exp", [WORDS]))
    with pytest.raises(FrontendError, match=r"Gather: expected indices in \[-3, 3\), got 7 to 7 \(layer 'layer'"):
        compiled(model("Gather", [WORDS, np.array([7])], axis=0))(WORDS, np.array([7]))


def test_inputs_of_texts_are_made_up_by_the_command_line():
    executable = compiled(model("StringConcat", [WORDS, WORDS]), input_shapes="x0:[2,1] x1:[2,1]")
    for inputs in (default_inputs(executable.inputs), random_inputs(executable.inputs, 0)):
        made: dict[str, Any] = dict(inputs)
        assert executable.run(made)["y"].tolist() == (made["x0"] + made["x1"]).tolist()
