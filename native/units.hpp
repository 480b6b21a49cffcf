// The mean and the spread of some numbers, the same in whatever order they come.
#pragma once

#include <algorithm>

#include "simd.hpp"

namespace tb {

struct ExactSum {  // what rounding loses of each step is summed by itself (Neumaier 1974)
    double sum = 0.0, lost = 0.0;
    TB_INLINE void add(double x) {
        const double next = sum + x, part = next - sum;
        lost += (sum - (next - part)) + (x - part);
        sum = next;
    }
    TB_INLINE double value() const { return sum + lost; }
};

// The weighted mean and standard deviation of the finite numbers; rows of no weight are none.
TB_INLINE void units_of(const double* x, const double* weight, Index n, double* mean, double* deviation) {
    const auto counts = [&](Index i) { return weight[i] > 0.0 && std::isfinite(x[i]); };
    double largest = 0.0;
    for (Index i = 0; i < n; ++i)
        if (counts(i)) largest = std::max(largest, std::fabs(x[i]));
    // A power of two as the unit: squares neither overflow nor vanish in it, and no digit is lost.
    const double unit = largest > 0.0 ? std::ldexp(1.0, std::ilogb(largest)) : 1.0;
    ExactSum total, first, second;
    for (Index i = 0; i < n; ++i)
        if (counts(i)) total.add(weight[i]), first.add(weight[i] * (x[i] / unit));
    const double all = total.value() > 0.0 ? total.value() : 1.0, centre = first.value() / all;
    for (Index i = 0; i < n; ++i)
        if (counts(i)) {
            const double off = x[i] / unit - centre;
            second.add(weight[i] * (off * off));
        }
    *mean = centre * unit, *deviation = std::sqrt(second.value() / all) * unit;
}

}  // namespace tb
