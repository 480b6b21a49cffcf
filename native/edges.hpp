// Where the fine bins of a number begin: between neighbouring values, at the number of fewest decimal digits.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <vector>

#include "simd.hpp"

namespace tb {

constexpr int kDigits = 17;  // decimal digits that distinguish all floats

// The float nearest to whole · 10^power.
inline double decimal(double whole, double power) {
    static constexpr double exact[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                       1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    if (std::fabs(whole) <= 0x1p53 && std::fabs(power) <= 22.0)  // both are exact, so one operation rounds once
        return power < 0.0 ? whole / exact[static_cast<int>(-power)] : whole * exact[static_cast<int>(power)];
    char text[400];  // the largest float has 309 digits
    std::snprintf(text, sizeof text, "%.0fe%.0f", whole, power);
    return std::strtod(text, nullptr);
}

// The last multiple of 10^power up to high, or NaN where it is not above low.
inline double truncated(double low, double high, double power, double nudge) {
    constexpr double none = std::numeric_limits<double>::quiet_NaN();
    const double unit = std::pow(10.0, std::fabs(power)), scaled = power < 0.0 ? high * unit : high / unit;
    const double sign = scaled > 0.0 ? 1.0 : scaled < 0.0 ? -1.0 : 0.0, whole = std::floor(scaled * (1.0 + nudge * sign));
    const double near = power < 0.0 ? whole / unit : whole * unit, room = 1e-12 * std::fabs(high);
    if (!std::isfinite(whole) || !(near > low - room && near <= high + room)) return none;
    const double number = decimal(whole, power);
    return low < number && number <= high && std::isfinite(number) ? number : none;
}

// The number of fewest decimal digits with low < number <= high.
inline double shortest_decimal(double low, double high) {
    if (low < 0.0 && high >= 0.0) return 0.0;
    const double top = std::floor(std::log10(std::max(std::fabs(low), std::fabs(high)))) + 1.0;
    for (int digits = 0; digits < kDigits; ++digits)
        for (double nudge : {4e-16, 0.0, -4e-16}) {  // the product of a float and a power of ten is rounded
            const double number = truncated(low, high, top - digits, nudge);
            if (number == number) return number;
        }
    return high;
}

// The first of each bin but the first, where n things are shared out evenly.
inline std::vector<Index> ranks(Index n, Index bins) {
    std::vector<Index> first;
    for (Index i = 1; i < bins; ++i) first.push_back(i * n / bins);
    return first;
}

// Edges of fine bins of values in rising order; numbers that differ by a share of at most `same` are one. See
// `learning.bins`, which says what the edges are.
inline std::vector<double> fine_edges(const double* value, Index n, Index bins, double same) {
    std::vector<Index> starts, chosen;  // of the different values; those that bins begin with
    for (Index i = 0; i < n; ++i)
        if (i == 0 || value[i] - value[i - 1] > same * std::fabs(value[i])) starts.push_back(i);
    const Index different = static_cast<Index>(starts.size());
    if (different <= bins) {
        for (Index i = 1; i < different; ++i) chosen.push_back(i);
    } else {
        chosen = ranks(different, bins / 2);
        Index before = kNone;
        for (Index rank : ranks(n, bins / 2)) {
            const Index place = std::upper_bound(starts.begin(), starts.end(), rank) - starts.begin() - 1;
            chosen.push_back(place == before ? place + 1 : place);  // after a value that fills a bin the next begins one
            before = place;
        }
        std::sort(chosen.begin(), chosen.end());
        chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
    }
    std::vector<double> edges;
    for (Index c : chosen)
        if (c > 0 && c < different) edges.push_back(shortest_decimal(value[starts[c] - 1], value[starts[c]]));
    return edges;
}

constexpr Index kSought = 16;  // values whose bins are looked for at a time

// How many edges are not above each of some values; -1 for a missing one. Answers whether one is infinite.
TB_INLINE bool bins_of_some(const double* TB_RESTRICT value, const double* TB_RESTRICT edges, Index n_edges, std::int32_t* TB_RESTRICT codes) {
    std::int64_t below[kSought] = {};
    for (Index left = n_edges; left > 0;) {  // all values take the same steps, so that none waits for a comparison
        const Index half = (left + 1) / 2;
        for (Index i = 0; i < kSought; ++i) below[i] += edges[below[i] + half - 1] <= value[i] ? half : 0;
        left -= half;
    }
    std::int32_t infinite = 0;
    for (Index i = 0; i < kSought; ++i) {
        codes[i] = value[i] == value[i] ? static_cast<std::int32_t>(below[i]) : -1;
        infinite |= std::fabs(value[i]) == std::numeric_limits<double>::infinity();
    }
    return infinite != 0;
}

// The same of any number of values. Answers the first infinite one, or kNone.
TB_INLINE Index bin_codes(const double* TB_RESTRICT values, Index n, const double* TB_RESTRICT edges, Index n_edges, std::int32_t* TB_RESTRICT codes) {
    bool infinite = false;
    Index first = 0;
    for (; first + kSought <= n; first += kSought) infinite |= bins_of_some(values + first, edges, n_edges, codes + first);
    double rest[kSought] = {};
    std::int32_t found[kSought];
    std::copy(values + first, values + n, rest);
    infinite |= bins_of_some(rest, edges, n_edges, found);
    std::copy(found, found + (n - first), codes + first);
    return infinite ? std::find_if(values, values + n, [](double value) { return std::isinf(value); }) - values : kNone;
}

}  // namespace tb
