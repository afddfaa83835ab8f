"""FLOP and bytes of matrix products, convolutions and attention from the shapes of operators, and their roofline.

Bytes are those of each operand and of the result once. The roof is the lower of the peak and of the intensity times
the bandwidth (S. Williams, A. Waterman, D. Patterson, "Roofline", CACM 2009). FLOP of attention count half where it is
causal, and its backward pass 2.5 times; that of a convolution counts each gradient of its output mask.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from perf_io.traces.gpu_activity import GpuActivity
from perf_io.traces.trace_events import bytes_of
from perf_traces.messages.communication import sums_of
from perfcore.base.arrays import Ints
from perfcore.base.errors import OptionError

_MATMULS = {"mm": 0, "addmm": 1, "bmm": 0, "baddbmm": 1, "_scaled_mm": 0, "_int_mm": 0, "_addmm_activation": 1}
# Where stride, padding and dilation are, and whether the convolution is transposed (or where that is).
_CONVOLUTIONS: dict[str, tuple[int, int, int, int | bool]] = {
    "conv1d": (3, 4, 5, False), "conv2d": (3, 4, 5, False), "conv3d": (3, 4, 5, False),
    "conv_transpose1d": (3, 4, 7, True), "conv_transpose2d": (3, 4, 7, True), "conv_transpose3d": (3, 4, 7, True),
    "convolution": (3, 4, 5, 6), "_convolution": (3, 4, 5, 6), "convolution_backward": (4, 5, 6, 7),
}  # fmt: skip
_ATTENTIONS = {  # where the causal mask is asked for
    "_flash_attention_forward": 8, "_efficient_attention_forward": 9, "_scaled_dot_product_cudnn_attention": 6,
    "_flash_attention_backward": 11, "_efficient_attention_backward": 14,
    "_scaled_dot_product_cudnn_attention_backward": 14,
    "FlashAttnFunc": 5, "flash_attn::_flash_attn_forward": 5, "flash_attn::_flash_attn_backward": 11,
    "aiter::_flash_attn_forward": 5, "aiter::_flash_attn_backward": 12,
}  # fmt: skip
OPERATORS = re.compile(f"(?:aten::)?({'|'.join([*_MATMULS, *_CONVOLUTIONS, *_ATTENTIONS])})")
_BACKWARD, _MASK = "_backward", 10
_KINDS = {"bfloat16": "bf16", "half": "fp16", "float": "fp32", "double": "fp64", "char": "int8"}
_PREFIXES = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "p": 10**15}
_RATE = re.compile(r"(?:(\w+)=)?(\d+\.?\d*(?:e[+-]?\d+)?)\s*([kmgtp]?)(flop/?s|b/s)", re.IGNORECASE)


def parse_peak(text: str) -> dict[str, float]:
    """FLOP/s by type of numbers ("" of all) and bytes/s ("B") from ``bf16=989.4TFLOP/s,3.35TB/s``."""
    rates: dict[str, float] = {}
    for word in text.split(","):
        match = _RATE.fullmatch(word.strip())
        of_memory = match is not None and match[4].lower() == "b/s"
        if match is None or (of_memory and match[1]) or float(match[2]) == 0:
            problem = "expected TYPE=RATE as bf16=989.4TFLOP/s, or a bandwidth as 3.35TB/s"
            raise OptionError(f"--peak {word.strip()!r}: {problem}")
        rate = float(match[2]) * _PREFIXES[match[3].lower()]
        rates["B" if of_memory else (match[1] or "").lower()] = rate
    return rates


def roof(peak: Mapping[str, float], kind: str, intensity: float) -> float | None:
    """FLOP/s that are possible; None without a peak of the type."""
    bound = [intensity * peak["B"]] if "B" in peak else []
    keys = [kind, *(["tf32"] if kind == "fp32" else []), ""]
    rate = next((peak[key] for key in keys if key in peak), None)
    return None if rate is None and peak.keys() - {"B"} else min([*bound, *([] if rate is None else [rate])])


class _Arguments(msgspec.Struct):
    dims: list[Any] = msgspec.field(name="Input Dims", default_factory=list)
    types: list[str] = msgspec.field(name="Input type", default_factory=list)
    concrete: list[Any] = msgspec.field(name="Concrete Inputs", default_factory=list)


_DECODER = msgspec.json.Decoder(_Arguments)


def work_of(name: str, text: bytes) -> tuple[int, int, str] | None:
    """FLOP, bytes and type of a call by its arguments; None where these do not say it."""
    name = name.removeprefix("aten::")
    try:
        given = _DECODER.decode(text)
        kind = given.types[0]
        if name in _MATMULS:
            first = _MATMULS[name]
            (*batch, m, k), other = given.dims[first : first + 2]
            flop = math.prod(batch) * (2 * m * other[-1] * k + first * m * other[-1])
            tensors = [*given.dims[: first + 2], [*batch, m, other[-1]]]
        elif name in _CONVOLUTIONS:
            flop, tensors = _convolution(name, given)
        else:
            flop, tensors = _attention(name, given)
            kind = given.types[1] if name.endswith(_BACKWARD) else kind
        moved = sum(bytes_of(kind, math.prod(dims)) for dims in tensors)
    except (msgspec.MsgspecError, IndexError, TypeError, ValueError, RecursionError):
        return None
    short = kind.rpartition("::")[2].replace(" ", "").lower()
    return (flop, moved, "fp8" if short.startswith("float8") else _KINDS.get(short, short)) if moved > 0 else None


def _convolution(name: str, given: _Arguments) -> tuple[int, list[Any]]:
    back = name == "convolution_backward"
    data, weight = given.dims[back], given.dims[1 + back]
    places = _CONVOLUTIONS[name]
    transposed = places[3] if isinstance(places[3], bool) else str(given.concrete[places[3]]) == "True"
    kernel = weight[2:]
    stride, padding, dilation = (_numbers(given.concrete[place], len(kernel)) for place in places[:3])
    batch, spatial = data[: -len(kernel) - 1], data[-len(kernel) :]
    if back:
        result = given.dims[0]
    elif transposed:
        more, groups = (7, 8) if name.endswith("convolution") else (5, 6)
        channels = weight[1] * _numbers(given.concrete[groups], 1)[0]
        sizes = [(i - 1) * s - 2 * p + d * (k - 1) + o + 1 for i, s, p, d, k, o in zip(
            spatial, stride, padding, dilation, kernel, _numbers(given.concrete[more], len(kernel)),
            strict=True)]  # fmt: skip
        result = [*batch, channels, *sizes]
    else:  # a padding without numbers is "same" or "valid"
        same = "same" in str(given.concrete[places[1]])
        sizes = spatial if same else [(i + 2 * p - d * (k - 1) - 1) // s + 1 for i, s, p, d, k in zip(
            spatial, stride, padding or [0] * len(kernel), dilation, kernel, strict=True)]  # fmt: skip
        result = [*batch, weight[0], *sizes]
    flop = 2 * math.prod(data if transposed else result) * math.prod(weight[1:])
    bias = [given.dims[2]] if not back and given.dims[2] else []
    if not back:
        return flop, [data, weight, *bias, result]
    mask = json.loads(str(given.concrete[_MASK]).lower())
    return flop * (bool(mask[0]) + bool(mask[1])), [result, data, weight, *([data] * mask[0]), *([weight] * mask[1])]


def _numbers(text: Any, n: int) -> list[int]:
    """``[1, 1]`` or ``1`` as n numbers; none of a text such as ``same``."""
    if not re.fullmatch(r"[\[\]\d, -]+", str(text)):
        return []
    values = json.loads(str(text))
    values = values if isinstance(values, list) else [values]
    return values * n if len(values) == 1 else values


def _attention(name: str, given: _Arguments) -> tuple[int, list[Any]]:
    back = name.endswith(_BACKWARD)
    query, key, value = given.dims[back : 3 + back]
    length = 2 if name.startswith("_scaled") else 1
    causal = str(given.concrete[_ATTENTIONS[name]]) in ("True", "1", "2")
    flop = 2 * math.prod(query[:3]) * key[length] * (query[3] + value[3]) // (2 if causal else 1)
    tensors = [query, key, value, [*query[:3], value[3]]]
    return (flop * 5 // 2, [*tensors, *tensors]) if back else (flop, tensors)


def add_work(activity: GpuActivity, rows: list[dict[str, Any]], of_host: Ints, place: dict[int, int]) -> None:
    """Add FLOP, bytes and their type to rows by shape; ``place`` is the row of each group.

    Of operators within one another the outermost convolution counts, and else the one that launched the work.
    """
    host, owner, texts = activity.host, activity.pieces["owner"], activity.texts
    called = np.flatnonzero(host["text"] >= 0).tolist()
    works = [work_of(activity.names[host["name"][call]], texts[host["text"][call]]) for call in called]
    known = {call: work for call, work in zip(called, works, strict=True) if work is not None}
    piece, _, around = activity.within("shape")
    own = sums_of(owner[owner >= 0], activity.time_ns[owner >= 0], len(host["name"]))
    total = sums_of(around, activity.time_ns[piece], len(host["name"]))
    convolves = {call for call in known if "conv" in activity.names[host["name"][call]]}
    counted = {call for call in known if total[call] > 0 and (own[call] > 0 or call in convolves)}
    for call in sorted(counted):
        above = int(host["parent"][call])
        while above >= 0:
            if above in counted:  # of convolutions the outermost counts, of others the innermost
                counted.discard(call if above in convolves else above)
            above = int(host["parent"][above])
    for call in sorted(counted):
        row = rows[place[int(of_host[call])]]
        flop, moved, kind = known[call]
        row["flop"] = row.get("flop", 0) + flop
        row["moved_bytes"] = row.get("moved_bytes", 0) + moved
        row["flop_ns"] = row["total_ns" if call in convolves else "own_ns"]
        row.setdefault("type", kind)


def add_rates(rows: Sequence[dict[str, Any]], peak: Mapping[str, float]) -> None:
    """Rates of rows that have FLOP, and with a peak the roof and their share of it."""
    for row in rows:
        if row.get("flop"):
            row["flop_s"] = row["flop"] / row["flop_ns"] * 1e9
            row["flop_per_byte"] = row["flop"] / row["moved_bytes"]
            bound = roof(peak, row["type"], row["flop_per_byte"]) if peak else None
            row |= {"roof_flop_s": bound, "share_of_roof": bound and row["flop_s"] / bound}
