// Which pairs of columns would gain most if each of their cells had a correction of its own.
#pragma once

#include "logs.hpp"

namespace tb {

struct CodedSlopes {
    const std::int32_t* codes;   // (D, n) levels or bins, negative for a missing value
    const std::int64_t* levels;  // (D,)
    const float* terms;          // (n, W) slopes of the K classes, then curvatures, then zeros up to a multiple of four
    Index n, width, n_classes;
};

constexpr Index kSumsTogether = 4;  // side by side, so that rows of one cell need not wait for each other
constexpr Index kFewSums = 2048;    // of which there is room for so many

// sums (cells, W) += the terms of the rows in each cell of two columns; there is room for as many sums again as lie
// side by side.
template <Index N>
TB_INLINE void add_to_cells(const CodedSlopes& x, Index left, Index right, Index cells, float* sums) {
    const std::int32_t *a = x.codes + left * x.n, *b = x.codes + right * x.n;
    const Index n_right = x.levels[right], size = cells * x.width, together = size <= kFewSums ? kSumsTogether : 1;
    for (Index j = 0; j < together * size; ++j) sums[j] = 0.0f;
    for (Index i = 0; i < x.n; ++i) {
        if ((a[i] | b[i]) < 0) continue;
        float* to = sums + (i & (together - 1)) * size + (a[i] * n_right + b[i]) * x.width;
        for (Index w = 0; w < x.width; w += N)
            *reinterpret_cast<Lanes<N>*>(to + w) += *reinterpret_cast<const Lanes<N>*>(x.terms + i * x.width + w);
    }
    for (Index l = 1; l < together; ++l)
        for (Index j = 0; j < size; ++j) sums[j] += sums[l * size + j];
}

// Σ g²/(ch + λ)/2, what the corrections of the cells would gain to second order under the penalty λ, less what is expected
// of it by chance, Σ h/(ch + λ)/2; g and h are the sums of slopes and curvatures of a cell and class, and c = K/(K − 1),
// since corrections of all classes at once change nothing.
TB_INLINE double interaction_gain(const CodedSlopes& x, Index left, Index right, double penalty, float* sums) {
    const Index cells = x.levels[left] * x.levels[right];
    if (x.width % 8 == 0)
        add_to_cells<8>(x, left, right, cells, sums);
    else
        add_to_cells<4>(x, left, right, cells, sums);
    const double c = static_cast<double>(x.n_classes) / static_cast<double>(x.n_classes - 1);
    double gain = 0.0;
    for (Index cell = 0; cell < cells; ++cell)
        for (Index k = 0; k < x.n_classes; ++k) {
            const double g = sums[cell * x.width + k], h = sums[cell * x.width + x.n_classes + k];
            gain += 0.5 * (g * g - h) / (c * h + penalty);
        }
    return gain;
}

}  // namespace tb
