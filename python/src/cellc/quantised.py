"""The integer arithmetic of generated code in NumPy.

Cells and dense layers multiply integers, one scale for each row of weights and at every step one
for x and one for h. Each operation has the order and the rounding of generated code, so integers
and results have the bits of generated code for processors with a fused multiply-add
(``fused=True``) or without one (``fused=False``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

PRECISIONS = ("int8", "int8x16", "int16")
"""The names of the precisions that multiply integers."""

_LARGEST_SUM = 2**31 - 1
_LEAST_LARGEST = np.float32(2.0**-100)
# adding this number to a small one rounds to a whole number, half to even
_ROUNDING = np.float32(12_582_912.0)


@dataclass(frozen=True)
class Integers:
    """Rows of integers. A row times its scale is near the numbers that were rounded."""

    values: np.ndarray
    """int16, of the shape of the numbers."""
    scales: np.ndarray
    """float32, one for each row. NaN if a number of the row is not finite."""

    def numbers(self) -> np.ndarray:
        """The integers times their scales, as float32."""
        return self.values.astype(np.float32) * self.scales[..., None]


def largest(precision: str, length: int) -> int:
    """The largest magnitude of the integers of a vector x or h, so that no sum exceeds 32 bits."""
    if precision not in PRECISIONS:
        raise ValueError(f"precision is {precision!r}: {', '.join(PRECISIONS)} are valid")
    length = max(length, 1)
    if precision == "int16":
        return int(min((2.0**32 / length) ** 0.5, 32_767))
    beside_bytes = min(max(_LARGEST_SUM // 127 // length, 1), 32_767)
    return min(beside_bytes, 127) if precision == "int8" and length > 4 else beside_bytes


def vectors(values: Any, precision: str) -> Integers:
    """Rounds vectors x or h. The last axis has the elements of a vector."""
    values = _flush(np.asarray(values, np.float32))
    most = np.float32(largest(precision, values.shape[-1]))
    magnitude = np.maximum(np.max(np.abs(values), axis=-1, initial=0), _LEAST_LARGEST)
    with np.errstate(invalid="ignore", over="ignore"):
        scales = magnitude / most + magnitude * np.float32(0)
        rounded = _whole(values * (most / magnitude)[..., None])
        return Integers(np.nan_to_num(rounded, posinf=0, neginf=0).astype(np.int16), scales)


def rows(weights: Any, precision: str) -> Integers:
    """Rounds a matrix of weights, each row with its own scale. A row that is made of integers times
    a scale keeps this scale."""
    weights = np.asarray(weights, np.float32)
    if weights.ndim != 2:
        raise ValueError(f"weights: the shape is {list(weights.shape)}, but a matrix is read")
    # sums of products with the largest integers of a vector stay within 32 bits
    limit = _LARGEST_SUM // largest(precision, weights.shape[1])
    magnitudes = np.max(np.abs(weights), axis=-1, initial=0)
    magnitudes[~np.isfinite(magnitudes)] = np.nan
    if precision != "int16":
        ranges = np.full(len(weights), 127)
    else:
        ranges = _ranges(weights, magnitudes, limit)
    scales = magnitudes / ranges.astype(np.float32)
    most = 255 if precision == "int16" else 127
    for row in _candidates(weights, magnitudes, most):
        own = _own_scale(weights[row], magnitudes[row], most)
        if own > 0 and (precision != "int16" or _sum(weights[row], own, most) <= limit):
            scales[row], ranges[row] = own, most
    return Integers(_within(weights, scales, ranges).astype(np.int16), scales)


def _ranges(weights: np.ndarray, magnitudes: np.ndarray, limit: int) -> np.ndarray:
    """The largest 16-bit integer of each row whose magnitudes then have a sum within the limit."""
    ranges = np.full(len(weights), 32_767)

    def sums(of: np.ndarray) -> np.ndarray:
        scales = magnitudes[of] / ranges[of].astype(np.float32)
        return np.abs(_within(weights[of], scales, ranges[of])).sum(-1, dtype=np.float64)

    total = sums(np.arange(len(weights))).astype(np.int64)
    above = np.flatnonzero(total > limit)
    # each integer may be rounded up by a half
    left = max(limit - weights.shape[1] // 2, 0)
    ranges[above] = np.clip(left * 32_767 // np.maximum(total[above], 1), 1, 32_766)
    while len(above):
        above = above[(sums(above) > limit) & (ranges[above] > 1)]
        ranges[above] -= 1
    return ranges


def _within(weights: np.ndarray, scales: np.ndarray, ranges: np.ndarray) -> np.ndarray:
    """Weights over the scales of their rows, rounded, within the ranges; 0 without a scale."""
    ends = ranges.astype(np.float32)[:, None]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        whole = np.maximum(np.minimum(_whole(weights / scales[:, None]), ends), -ends)
        return np.where(scales[:, None] > 0, whole, np.float32(0))


def _sum(row: np.ndarray, scale: np.float32, most: int) -> int:
    """The sum of the magnitudes of a row of integers."""
    whole = _within(row[None], np.array([scale], np.float32), np.array([most]))
    return int(np.abs(whole).sum(dtype=np.float64))


def _candidates(weights: np.ndarray, magnitudes: np.ndarray, most: int) -> np.ndarray:
    """The rows that may be made of integers times a scale: some scale suits their first weights."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        shares = magnitudes[:, None] / np.arange(1, most + 1, dtype=np.float32)
        part, shares = weights[:, None, :5], shares[:, :, None]
        off = np.abs(_whole(part / shares) * shares - part)
        # twice the slack: the scales beside a share are off by one unit in the last place
        near = np.all(off <= magnitudes[:, None, None] / np.float32(2**20), axis=-1)
        whole = np.all(weights == np.round(weights), axis=-1)
        return np.flatnonzero((near.any(axis=-1) | whole) & (magnitudes > 0))


def _own_scale(row: np.ndarray, magnitude: np.float32, most: int) -> np.float32:
    """The scale of a row that is made of integers up to ``most`` times a scale; 0 for others."""
    if _are_own(row, np.ones(1, np.float32), most, np.float32(0))[0]:
        return np.float32(1)
    # the largest weight is a multiple, too
    shares = magnitude / np.arange(1, most + 1, dtype=np.float32)
    bits = shares.view(np.uint32)[:, None] + np.array([0, 1, 2**32 - 1], np.uint32)
    nearby = bits.ravel().view(np.float32)
    exact = np.flatnonzero(_are_own(row, nearby, most, np.float32(0)))
    if len(exact):
        return nearby[exact[0]]
    near = np.flatnonzero(_are_own(row, shares, most, magnitude / np.float32(2**21)))
    return shares[near[0]] if len(near) else np.float32(0)


def _are_own(row: np.ndarray, scales: np.ndarray, most: int, slack: np.float32) -> np.ndarray:
    """For each scale, whether all weights are multiples of it, but for the slack."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        times = _whole(row / scales[:, None])
        off = np.abs(times * scales[:, None] - row)
        return np.all((off <= slack) & (np.abs(times) <= most), axis=-1)


def _whole(values: np.ndarray) -> np.ndarray:
    return (values + _ROUNDING) - _ROUNDING


def _flush(values: np.ndarray) -> np.ndarray:
    """Numbers smaller than 2^-100 in magnitude become 0."""
    return np.where(np.abs(values) < _LEAST_LARGEST, np.float32(0), values)


def product(vector: Integers, matrix: Integers) -> np.ndarray:
    """The products of rounded vectors with the rows of a matrix. Sums of integers are exact."""
    # 53 bits hold every sum
    sums = vector.values.astype(np.float64) @ matrix.values.astype(np.float64).T
    return sums.astype(np.float32) * matrix.scales * vector.scales[..., None]


class _Functions:
    """Functions of float32 with a fused multiply-add or without one."""

    def __init__(self, fused: bool) -> None:
        self.fused = fused

    def mul_add(self, a: Any, b: Any, c: Any) -> np.ndarray:
        # products are exact in float64; sums are rounded to 53 bits first
        element = np.float64 if self.fused else np.float32
        a, b, c = (np.asarray(of, element) for of in (a, b, c))
        return np.asarray(a * b + c, np.float32)

    def _polynomial(self, x: np.ndarray, coefficients: "list[float]") -> np.ndarray:
        value: Any = np.float32(coefficients[-1])
        for coefficient in reversed(coefficients[:-1]):
            value = self.mul_add(value, x, np.float32(coefficient))
        return value

    def tanh(self, x: np.ndarray) -> np.ndarray:
        one, half = np.float32(1), np.float32(0.5)
        x = np.asarray(x, np.float32)
        a = np.minimum(np.abs(x), np.float32(10))
        shift = np.float32(12_583_039)
        k = self.mul_add(a, np.float32(2.88539), shift)
        n = k - shift
        s = (k.view(np.uint32) << np.uint32(23)).view(np.float32)
        r = self.mul_add(n, np.float32(-0.3465736), a)
        r2 = r * r
        high = self.mul_add(
            r2, np.float32(0.044225313), self._polynomial(r, [0.33334616, 0.13389884])
        )
        q = self.mul_add(r2, high, self._polynomial(r, [0.9999999, 0.66666085]))
        p = self.mul_add(r2, q, r)
        d = self.mul_add(s, p, self.mul_add(s, half, half))
        above = one - one / d
        a2 = a * a
        c = self._polynomial(a2, [-0.33333316, 0.13332544, -0.053847548, 0.021050714, -0.006242849])
        below = self.mul_add(a2 * a, c, a)
        return np.copysign(np.where(a < np.float32(0.54930615), below, above), x)

    def sigmoid(self, x: np.ndarray) -> np.ndarray:
        small = np.float32(2.0**-64)
        v = np.minimum(np.maximum(np.asarray(x, np.float32), np.float32(-105)), np.float32(20))
        shift = np.float32(12_583_231)
        k = self.mul_add(v, np.float32(-1.442695), shift)
        n = k - shift
        s = (k.view(np.uint32) << np.uint32(23)).view(np.float32)
        r = self.mul_add(n, np.float32(1.4286068e-6), self.mul_add(n, np.float32(0.69314575), v))
        q = self._polynomial(
            r, [-0.49999994, 0.16666517, -0.041668102, 0.0083691925, -0.0013838812]
        )
        p = self.mul_add(r * r, q, r)
        return small / self.mul_add(s, p, small - s)


def tanh(x: Any, fused: bool = True) -> np.ndarray:
    """tanh of float32, with the bits of generated code."""
    return _Functions(fused).tanh(np.asarray(x, np.float32))


def sigmoid(x: Any, fused: bool = True) -> np.ndarray:
    """1 / (1 + exp(-x)) of float32, with the bits of generated code."""
    return _Functions(fused).sigmoid(np.asarray(x, np.float32))


def relu(x: Any) -> np.ndarray:
    """The positive part of float32. NaN stays NaN."""
    return np.maximum(np.asarray(x, np.float32), np.float32(0))


def _bias(given: Any, count: int) -> np.ndarray:
    return np.zeros(count, np.float32) if given is None else np.asarray(given, np.float32)


class Linear:
    """A dense layer in integers: ``Linear(weight, bias, "int8")(x)``. The last axis of x has the
    elements of a vector; each vector has its own scale."""

    def __init__(self, weight: Any, bias: Any = None, precision: str = "int8") -> None:
        self.precision = precision
        self.weight = rows(weight, precision)
        self.bias = _bias(bias, len(self.weight.scales))

    def __call__(self, x: Any) -> np.ndarray:
        return _flush(self.bias + product(vectors(x, self.precision), self.weight))


class _Cell:
    """Weights and biases of a cell in the layout of PyTorch, split into gates."""

    gates = 1

    def __init__(
        self,
        weight_ih: Any,
        weight_hh: Any,
        bias_ih: Any = None,
        bias_hh: Any = None,
        precision: str = "int8",
        fused: bool = True,
    ) -> None:
        self.precision = precision
        self.weight_ih, self.weight_hh = rows(weight_ih, precision), rows(weight_hh, precision)
        self.hidden_size = self.weight_hh.values.shape[1]
        if len(self.weight_hh.scales) != self.gates * self.hidden_size:
            raise ValueError(
                f"weight_hh: the shape is {list(self.weight_hh.values.shape)}, but a cell"
                f" has {self.gates} gates"
            )
        count = self.gates * self.hidden_size
        self.bias_ih, self.bias_hh = _bias(bias_ih, count), _bias(bias_hh, count)
        self._functions = _Functions(fused)

    def _products(self, x: Any, h: np.ndarray) -> "tuple[list[np.ndarray], list[np.ndarray]]":
        """The products with x and with h, by gate, without biases."""
        of_x = product(vectors(x, self.precision), self.weight_ih)
        of_h = product(vectors(h, self.precision), self.weight_hh)
        return np.split(of_x, self.gates, -1), np.split(of_h, self.gates, -1)

    def _sums(self, x: Any, h: np.ndarray) -> "list[np.ndarray]":
        """The sums of each gate, with biases."""
        biases = np.split(self.bias_ih + self.bias_hh, self.gates)
        return [a + b + bias for a, b, bias in zip(*self._products(x, h), biases)]


class RNN(_Cell):
    """One step of an RNN: ``h = RNN(weight_ih, weight_hh, bias_ih, bias_hh)(x, h)``."""

    def __init__(self, *weights: Any, nonlinearity: str = "tanh", **options: Any) -> None:
        super().__init__(*weights, **options)
        self.nonlinearity = nonlinearity

    def __call__(self, x: Any, h: Any) -> np.ndarray:
        (total,) = self._sums(x, _flush(np.asarray(h, np.float32)))
        return _flush(relu(total) if self.nonlinearity == "relu" else self._functions.tanh(total))


class GRU(_Cell):
    """One step of a GRU, gates r, z, n:
    ``h = GRU(weight_ih, weight_hh, bias_ih, bias_hh)(x, h)``."""

    gates = 3

    def __call__(self, x: Any, h: Any) -> np.ndarray:
        h = _flush(np.asarray(h, np.float32))
        one, of = np.float32(1), self._functions
        (xr, xz, xn), (hr, hz, hn) = self._products(x, h)
        br, bz, _ = np.split(self.bias_ih + self.bias_hh, 3)
        z = of.sigmoid(xz + hz + bz)
        r = of.sigmoid(xr + hr + br)
        n = of.mul_add(r, hn + np.split(self.bias_hh, 3)[2], xn + np.split(self.bias_ih, 3)[2])
        return _flush(of.mul_add(z, h, (one - z) * of.tanh(n)))


class LSTM(_Cell):
    """One step of an LSTM, gates i, f, g, o:
    ``h, c = LSTM(weight_ih, weight_hh, bias_ih, bias_hh)(x, h, c)``."""

    gates = 4

    def __call__(self, x: Any, h: Any, c: Any) -> "tuple[np.ndarray, np.ndarray]":
        of, c = self._functions, _flush(np.asarray(c, np.float32))
        i, f, g, o = self._sums(x, _flush(np.asarray(h, np.float32)))
        c = of.mul_add(of.sigmoid(f), c, of.sigmoid(i) * of.tanh(g))
        return _flush(of.sigmoid(o) * of.tanh(c)), _flush(c)
