// How well scores with corrections predict the classes of rows, and how that changes with every correction.
#pragma once

#include "simd.hpp"

namespace tb {

struct CellsOfRows {
    const std::int32_t* cell;  // (n, D) row of the table that each column of a row adds; negative for none
    Index n_columns;
    const double* base;        // (n, K) scores apart from the corrections
    Index n_classes;
};

// Answers Σ w·(−log P(y | x)) over the rows first .. last; slope (cells, K) += its derivative in every correction.
// posterior (K,) is scratch.
TB_INLINE double correction_loss(const CellsOfRows& x, const Hard& labels, Index first, Index last, const double* table,
                                 double* slope, double* posterior) {
    double loss = 0.0;
    const Index n_classes = x.n_classes;
    double* TB_RESTRICT p = posterior;
    for (Index i = first; i < last; ++i) {
        const std::int32_t* cell = x.cell + i * x.n_columns;
        for (Index k = 0; k < n_classes; ++k) p[k] = x.base[i * n_classes + k];
        for (Index d = 0; d < x.n_columns; ++d) {
            if (cell[d] < 0) continue;
            const double* TB_RESTRICT add = table + cell[d] * n_classes;
            for (Index k = 0; k < n_classes; ++k) p[k] += add[k];
        }
        double top = p[0], sum = 0.0;
        for (Index k = 1; k < n_classes; ++k) top = p[k] > top ? p[k] : top;
        const double own = p[labels.codes[i]] - top, w = labels.weight[i];
        for (Index k = 0; k < n_classes; ++k) sum += p[k] = std::exp(p[k] - top);
        loss += w * (std::log(sum) - own);
        for (Index k = 0; k < n_classes; ++k) p[k] *= w / sum;
        p[labels.codes[i]] -= w;
        for (Index d = 0; d < x.n_columns; ++d) {
            if (cell[d] < 0) continue;
            double* TB_RESTRICT here = slope + cell[d] * n_classes;
            for (Index k = 0; k < n_classes; ++k) here[k] += p[k];
        }
    }
    return loss;
}

}  // namespace tb
