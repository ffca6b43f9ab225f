"""Modules as graphs of layers in MSC's JSON: weights inside the layers that read them, by role."""

from __future__ import annotations

from whence.contrib.msc.graph import MSCGraph as MSCGraph
from whence.contrib.msc.graph import MSCJoint as MSCJoint
from whence.contrib.msc.graph import MSCTensor as MSCTensor
from whence.contrib.msc.translate import from_relay as from_relay
from whence.contrib.msc.translate import to_relay as to_relay
