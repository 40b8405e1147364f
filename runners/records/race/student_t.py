"""Student's t distribution with the standard library alone, for decisions while measuring."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from math import exp, inf, lgamma, log, log1p, sqrt

# About double precision: the continued fraction ends when a step changes it by less.
_PRECISION = 1e-15
_TINY = 1e-300
_MAX_STEPS = 10_000


@dataclass
class Moments:
    """The running count, mean and sum of squared deviations of numbers.

    Welford, "Note on a method for calculating corrected sums of squares and products" (1962).
    """

    count: int = 0
    mean: float = 0.0
    squares: float = 0.0

    @classmethod
    def of(cls, values: Iterable[float]) -> Moments:
        """Return the moments of these numbers."""
        moments = cls()
        for value in values:
            moments.add(value)
        return moments

    def add(self, value: float) -> None:
        """Add one more number."""
        self.count += 1
        away = value - self.mean
        self.mean += away / self.count
        self.squares += away * (value - self.mean)

    @property
    def variance(self) -> float:
        """The variance (n - 1); 0 of a single number."""
        return self.squares / (self.count - 1) if self.count > 1 else 0.0


def upper_tail(t: float, df: float) -> float:
    """Return the probability that Student's t with `df` degrees of freedom is at least `t`.

    By the regularised incomplete beta function, Abramowitz and Stegun, Handbook of Mathematical
    Functions, 26.7.1 and 26.5.2. `df` may be any positive number.
    """
    if t < 0:
        return 1.0 - upper_tail(-t, df)
    if t == 0:
        return 0.5
    if t == inf:  # values without any variance
        return 0.0
    # For a small t, 1 - x is small; it is computed by itself, so that no digits are lost.
    square = t * t
    x, rest = df / (df + square), square / (df + square)
    if x > (df / 2 + 1) / (df / 2 + 2.5):
        # For such an x the fraction converges slowly (ibid. 26.5.8).
        return 0.5 - 0.5 * _lower_share(0.5, df / 2, rest, x)
    return 0.5 * _lower_share(df / 2, 0.5, x, rest)


def p_value(difference: float, error: float, df: float) -> float:
    """Return the probability between equals of a difference so large or larger.

    `error` is its standard error; 0 for values without any variance.
    """
    if error > 0:
        return upper_tail(difference / error, df)
    return upper_tail(inf if difference > 0 else -inf if difference < 0 else 0.0, df)


@lru_cache(maxsize=10_000)
def quantile(p: float, df: float) -> float:
    """Return the t that is exceeded with the probability `p`, at most one half."""
    low, high = 0.0, 1.0
    while upper_tail(high, df) > p:
        low, high = high, 2 * high
    # 60 halvings leave nothing of double precision's 53 bits.
    for _ in range(60):
        middle = (low + high) / 2
        if upper_tail(middle, df) > p:
            low = middle
        else:
            high = middle
    return high


def welch(a: Moments, b: Moments) -> tuple[float, float]:
    """Return the standard error of the difference of two means, and its degrees of freedom.

    Welch, "The generalization of Student's problem when several different population variances are
    involved" (1947). Each has two values at least.
    """
    of_a, of_b = a.variance / a.count, b.variance / b.count
    if of_a + of_b == 0:
        return 0.0, float(min(a.count, b.count) - 1)
    squares = of_a**2 / (a.count - 1) + of_b**2 / (b.count - 1)
    return sqrt(of_a + of_b), (of_a + of_b) ** 2 / squares


def _lower_share(a: float, b: float, x: float, rest: float) -> float:
    """Return the regularised incomplete beta function of x; `rest` is 1 - x, given exactly."""
    if x == 0:
        return 0.0
    power = b * (log(rest) if x > 0.5 else log1p(-x))
    log_beta = lgamma(a) + lgamma(b) - lgamma(a + b)
    return exp(a * log(x) + power - log(a) - log_beta) / _fraction(a, b, x)


def _fraction(a: float, b: float, x: float) -> float:
    """Return the continued fraction of the incomplete beta function, ibid. 26.5.8.

    Evaluated from its beginning by the modified method of Lentz (Thompson and Barnett, "Coulomb
    and Bessel functions of complex arguments and order", 1986).
    """
    value, c, d = 1.0, 1.0, 0.0
    for step in range(1, _MAX_STEPS):
        m = step // 2
        if step % 2:
            term = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            term = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        d = 1.0 / (1.0 + term * d or _TINY)
        c = 1.0 + term / c or _TINY
        value *= c * d
        if abs(c * d - 1.0) < _PRECISION:
            break
    return value
