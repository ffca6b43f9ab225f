"""The reports of the gallery by name, the cheapest ones for tests among them."""

from __future__ import annotations

from functools import partial

from gallery import models, tours
from gallery.entry import Entry
from whence.exploring.measuring import Wishes

_VALUES = Wishes(seconds=1.0, tensors=True)

ENTRIES: tuple[Entry, ...] = (
    Entry(
        "resnet50",
        "ResNet-50",
        "The image classifier that is shipped with onnx: 53 convolutions, each with a batch norm.",
        partial(models.shipped, "light_resnet50"),
        "Where did the batch norms go?",
        tours.batch_norms,
        wishes=_VALUES,
    ),
    Entry(
        "mobilenet_v2",
        "MobileNetV2",
        "A classifier for phones at 96 pixels: 1x1 convolutions between depthwise ones.",
        models.mobilenet,
        "Why is my MobileNet slow at the end?",
        tours.slow_end,
        beside=True,
    ),
    Entry(
        "bert",
        "BERT-base",
        "Twelve encoder layers at 128 tokens, which share their kernels.",
        models.bert_base,
        "Which part of the encoder takes the time?",
        tours.encoder,
    ),
    Entry(
        "llama_step",
        "A step of a Llama",
        "A decoder of four layers writes one token after 128: grouped queries, rotary places, a cache.",
        models.llama_step,
        "What does a token cost?",
        tours.token,
    ),
    Entry(
        "mobilenet_int8",
        "MobileNet of integers",
        "A quantised TFLite model: int8 values with a scale.",
        models.quantised_mobilenet,
        "Are integers multiplied as integers?",
        tours.integers,
        wishes=_VALUES,
    ),
    Entry(
        "yolov8n",
        "YOLOv8n",
        "A detector at 320 pixels, with the decoding of its boxes.",
        models.yolo,
        "What happens after the convolutions?",
        tours.detector,
    ),
    Entry(
        "deep_speech",
        "Deep Speech 2",
        "Speech to letters: two convolutions of a spectrogram, and six GRUs.",
        models.speech,
        "Why can a GRU not use all cores?",
        tours.recurrent,
    ),
    Entry(
        "forest",
        "A forest",
        "A TreeEnsembleRegressor of 200 trees, 63 comparisons in each.",
        models.forest,
        "How do trees become machine code?",
        tours.trees,
        inputs=models.forest_inputs,
    ),
    Entry(
        "matmul",
        "A matrix product in eight steps",
        "One tensor expression under eight schedules, from the plain triple loop to vectors, registers and threads.",
        models.products,
        "What does each primitive gain?",
        tours.product,
        wishes=Wishes(seconds=2.0),
    ),
    Entry(
        "torch_transformer",
        "A torch program",
        "A decoder exported by torch.export, which quotes the lines of Python that called each layer.",
        models.transformer,
        "Which line of my Python is slow?",
        tours.python,
        wishes=Wishes(seconds=0.5, sources=True, sizes={"ids_0": 2, "ids_1": 32}),
    ),
    Entry(
        "loop",
        "A loop",
        "An LSTM as a while loop, whose number of steps only a value decides.",
        models.loop,
        "What is compiled, and what is interpreted?",
        tours.control_flow,
        inputs=models.loop_inputs,
        wishes=Wishes(seconds=0.5, sizes={"x_0": models.STEPS, "x_1": 2, "n_0": 0}),
    ),
    Entry(
        "open_bert",
        "Open sizes",
        "A BERT from PyTorch's exporter, compiled once for every batch and length.",
        models.open_bert,
        "Which sizes are these numbers of?",
        tours.open_sizes,
        wishes=Wishes(seconds=0.5, sizes={"batch": 4, "seq": 64}),
    ),
)
CHEAP = ("forest", "loop")
"""The reports that a test has time for."""
