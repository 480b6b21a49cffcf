// Centred moments per class and column, and Gaussian log densities.
#pragma once

#include "simd.hpp"

namespace tb {

constexpr Index kBlock = 256;  // rows summed before they are merged into the running moments
constexpr Index kLanes = 32;   // rows scored side by side: one SIMD lane a row, so no horizontal sums

// ---------------------------------------------------------------------------------------------- moments

struct MomentScratch {
    double* shift;  // (K, d) what is subtracted before squaring
    double* s1;     // (K, d) sum of w (x - shift)
    double* s2;     // (K, d) sum of w (x - shift)^2
    double* sw;     // (K, d) sum of w; only the first of each class is used while no cell is missing
    double* tile;   // (kBlock, d) rows of a block gathered from a matrix that is not in C order
};

// Sums of one block when every cell is finite. Answers false if some cell was not (the sums are then NaN).
template <class T, class L>
TB_INLINE bool sum_block(const Matrix<T>& x, const L& labels, Index first, Index n_classes, const MomentScratch& s) {
    const Index d = x.d;
    for (Index c = 0; c < n_classes * d; ++c) s.s1[c] = s.s2[c] = 0.0;
    for (Index k = 0; k < n_classes; ++k) s.sw[k * d] = 0.0;
    for (Index i = 0; i < x.n; ++i) {
        const T* TB_RESTRICT row = x.data + i * x.row_stride;
        labels.each(first + i, [&](Index k, double w) {
            const double* TB_RESTRICT shift = s.shift + k * d;
            double* TB_RESTRICT s1 = s.s1 + k * d;
            double* TB_RESTRICT s2 = s.s2 + k * d;
            for (Index j = 0; j < d; ++j) {
                const double z = static_cast<double>(row[j]) - shift[j], wz = w * z;
                s1[j] += wz;
                s2[j] += wz * z;
            }
            s.sw[k * d] += w;
        });
    }
    double probe = 0.0;
    for (Index c = 0; c < n_classes * d; ++c) probe += s.s2[c] * 0.0;
    if (!(probe == 0.0)) return false;
    for (Index k = 0; k < n_classes; ++k)
        for (Index j = 1; j < d; ++j) s.sw[k * d + j] = s.sw[k * d];
    return true;
}

// The same, cell by cell: NaN is missing and adds no weight; an infinite cell stops the kernel.
template <class T, class L>
TB_INLINE Index sum_block_with_holes(const Matrix<T>& x, const L& labels, Index first, Index n_classes,
                                     const MomentScratch& s) {
    const Index d = x.d;
    for (Index c = 0; c < n_classes * d; ++c) s.s1[c] = s.s2[c] = s.sw[c] = 0.0;
    for (Index i = 0; i < x.n; ++i) {
        const T* row = x.data + i * x.row_stride;
        for (Index j = 0; j < d; ++j)
            if (std::isinf(row[j])) return (first + i) * d + j;
        labels.each(first + i, [&](Index k, double w) {
            for (Index j = 0; j < d; ++j) {
                const double value = static_cast<double>(row[j]);
                if (value != value) continue;
                const double z = value - s.shift[k * d + j];
                s.s1[k * d + j] += w * z;
                s.s2[k * d + j] += w * z * z;
                s.sw[k * d + j] += w;
            }
        });
    }
    return kNone;
}

// Where a class has no mean yet, a value of this block stands in for it. Answers whether there was such a class.
template <class T, class L>
TB_INLINE bool first_shift(const Matrix<T>& x, const L& labels, Index first, Index n_classes, const double* weight,
                           double* shift) {
    bool settled = true;
    for (Index c = 0; c < n_classes * x.d; ++c) settled &= weight[c] > 0.0;
    if (settled) return false;
    bool fresh = false;
    for (Index i = 0; i < x.n; ++i)
        labels.each(first + i, [&](Index k, double w) {
            for (Index j = 0; j < x.d; ++j) {
                const Index c = k * x.d + j;
                const double value = static_cast<double>(x.data[i * x.row_stride + j]);
                if (weight[c] > 0.0 || !(w > 0.0) || value - value != 0.0) continue;
                fresh = true;
                shift[c] = value;
            }
        });
    return fresh;
}

// Adds one block to the running moments. It is summed about the mean known so far, so the squares stay small, and
// merged with the between-means term (Chan, Golub and LeVeque 1979). A class without a mean is summed twice: once
// to find its mean, once about it.
template <class T, class L>
TB_INLINE Index add_block(const Matrix<T>& x, const L& labels, Index first, Index n_classes, double* weight,
                          double* mean, double* m2, const MomentScratch& s) {
    const Index cells = n_classes * x.d;
    for (Index c = 0; c < cells; ++c) s.shift[c] = mean[c];
    const bool fresh = first_shift(x, labels, first, n_classes, weight, s.shift);
    for (int pass = fresh ? 0 : 1; pass < 2; ++pass) {
        if (!sum_block(x, labels, first, n_classes, s)) {
            const Index bad = sum_block_with_holes(x, labels, first, n_classes, s);
            if (bad != kNone) return bad;
        }
        if (pass == 0)
            for (Index c = 0; c < cells; ++c)
                if (!(weight[c] > 0.0) && s.sw[c] > 0.0) s.shift[c] += s.s1[c] / s.sw[c];
    }
    for (Index c = 0; c < cells; ++c) {
        const double wb = s.sw[c];
        if (!(wb > 0.0)) continue;
        const double step = s.s1[c] / wb;
        const double m2b = s.s2[c] - s.s1[c] * step;
        const double total = weight[c] + wb;
        const double delta = s.shift[c] - mean[c] + step;
        m2[c] += (m2b > 0.0 ? m2b : 0.0) + delta * delta * weight[c] * (wb / total);
        mean[c] = weight[c] > 0.0 ? mean[c] + delta * (wb / total) : s.shift[c] + step;
        weight[c] = total;
    }
    return kNone;
}

// Adds all rows of x to running moments, a block at a time.
template <class T, class L>
TB_INLINE Index moments(const Matrix<T>& x, const L& labels, Index n_classes, double* weight, double* mean, double* m2,
                        const MomentScratch& s) {
    Index bad = kNone;
    for (Index first = 0; first < x.n && bad == kNone; first += kBlock) {
        const Index rows = first + kBlock < x.n ? kBlock : x.n - first;
        if (x.col_stride == 1) {
            const Matrix<T> block{x.data + first * x.row_stride, rows, x.d, x.row_stride, 1};
            bad = add_block(block, labels, first, n_classes, weight, mean, m2, s);
        } else {
            for (Index j = 0; j < x.d; ++j)
                for (Index i = 0; i < rows; ++i) s.tile[i * x.d + j] = static_cast<double>(x.at(first + i, j));
            const Matrix<double> block{s.tile, rows, x.d, x.d, 1};
            bad = add_block(block, labels, first, n_classes, weight, mean, m2, s);
        }
    }
    return bad;
}

// ---------------------------------------------------------------------------------------------- scores

// Copies up to kLanes rows into tile[column][lane]; answers whether every cell is finite.
template <class T>
TB_INLINE bool pack(const Matrix<T>& x, Index first, Index rows, double* tile) {
    const Index d = x.d;
    if (rows < kLanes)
        for (Index c = 0; c < d * kLanes; ++c) tile[c] = 0.0;
    if (x.row_stride == 1) {
        for (Index j = 0; j < d; ++j) {
            const T* column = x.data + first + j * x.col_stride;
            for (Index r = 0; r < rows; ++r) tile[j * kLanes + r] = static_cast<double>(column[r]);
        }
    } else {
        for (Index r = 0; r < rows; ++r) {
            const T* row = x.data + (first + r) * x.row_stride;
            for (Index j = 0; j < d; ++j) tile[j * kLanes + r] = static_cast<double>(row[j * x.col_stride]);
        }
    }
    double probe[kLanes] = {0.0};
    for (Index j = 0; j < d; ++j)
        for (Index r = 0; r < kLanes; ++r) probe[r] += tile[j * kLanes + r] * 0.0;
    double all = 0.0;
    for (Index r = 0; r < kLanes; ++r) all += probe[r];
    return all == 0.0;
}

template <class T>
TB_INLINE Index infinite_cell(const Matrix<T>& x, Index first, Index rows) {
    for (Index i = first; i < first + rows; ++i)
        for (Index j = 0; j < x.d; ++j)
            if (std::isinf(x.at(i, j))) return i * x.d + j;
    return kNone;
}

struct Normals {          // (K, d) each
    const double* mean;
    const double* precision;  // 1 / variance
    const double* log_norm;   // -log(2 pi variance) / 2
    const double* total;      // (K,) sum of log_norm over the columns
    Index n_classes;
};

// out[row][class] += log density of the row. Missing cells add nothing.
template <class T>
TB_INLINE Index gaussian_scores(const Matrix<T>& x, const Normals& p, double* tile, double* out) {
    const Index d = x.d, n_classes = p.n_classes;
    for (Index first = 0; first < x.n; first += kLanes) {
        const Index rows = first + kLanes < x.n ? kLanes : x.n - first;
        const bool whole = pack(x, first, rows, tile);
        if (!whole) {
            const Index bad = infinite_cell(x, first, rows);
            if (bad != kNone) return bad;
        }
        for (Index k = 0; k < n_classes; ++k) {
            const double *mean = p.mean + k * d, *precision = p.precision + k * d, *norm = p.log_norm + k * d;
            double sum[kLanes] = {0.0};
            if (whole) {
                for (Index j = 0; j < d; ++j) {
                    const double m = mean[j], q = precision[j];
                    const double* lane = tile + j * kLanes;
                    for (Index r = 0; r < kLanes; ++r) {
                        const double z = lane[r] - m;
                        sum[r] += z * z * q;
                    }
                }
                for (Index r = 0; r < rows; ++r) out[(first + r) * n_classes + k] += p.total[k] - 0.5 * sum[r];
            } else {
                for (Index j = 0; j < d; ++j) {
                    const double* lane = tile + j * kLanes;
                    for (Index r = 0; r < kLanes; ++r) {
                        const double z = lane[r] - mean[j];
                        sum[r] += lane[r] == lane[r] ? norm[j] - 0.5 * z * z * precision[j] : 0.0;
                    }
                }
                for (Index r = 0; r < rows; ++r) out[(first + r) * n_classes + k] += sum[r];
            }
        }
    }
    return kNone;
}

}  // namespace tb
