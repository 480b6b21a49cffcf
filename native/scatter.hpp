// How numbers vary together, class by class: means and centred products of numbers in standard units.
#pragma once

#include <algorithm>
#include <vector>

#include "simd.hpp"

namespace tb {

struct Units {  // z = (x − centre) / scale within ±farthest
    const double* centre;
    const double* scale;
    double farthest;
};

// Weights (K), means (K, wide) and products (K, d, wide) of all rows so far. Rows of numbers are as wide as whole lanes; of
// the products only those with a column at or after the row's own are counted.
class Scatter {
    static constexpr Index kLanes = 4, kRows = 4;  // numbers side by side, and rows that are added at a time
    static constexpr Index kCells = 1 << 15;       // numbers of a block, which stay in the cache
    using Four = Lanes<kLanes, double>;
    const Index n_classes_, d_, wide_, step_;
    std::vector<double> weight_, mean_, product_;
    std::vector<double> z_, column_, missing_, own_weight_, own_mean_, off_, by_;  // of the rows of a block
    std::vector<Index> start_, next_, row_;  // the complete ones, class by class

    static TB_INLINE Four& at(double* numbers) { return *reinterpret_cast<Four*>(numbers); }
    static TB_INLINE const Four& at(const double* numbers) { return *reinterpret_cast<const Four*>(numbers); }

    // The rows of a block in standard units. Answers whether all are finite or missing.
    TB_INLINE bool standardise(const Matrix<double>& x, Index first, Index n, const Units& units) {
        std::int64_t infinite = 0;
        std::fill_n(missing_.begin(), n, 0.0);
        for (Index j = 0; j < d_; ++j) {
            const double* column = &x.at(first, j);
            if (x.row_stride != 1) {
                for (Index i = 0; i < n; ++i) column_[i] = column[i * x.row_stride];
                column = column_.data();
            }
            infinite += standardise_column(column, n, units.centre[j], units.scale[j], units.farthest, column_.data(), missing_.data());
            for (Index i = 0; i < n; ++i) z_[i * wide_ + j] = column_[i];
        }
        return infinite == 0;
    }

    // NaN stays NaN in `missing`, which is zero otherwise. Answers how many are infinite.
    static TB_INLINE std::int64_t standardise_column(const double* value, Index n, double centre, double scale, double far, double* z, double* TB_RESTRICT missing) {
        std::int64_t infinite = 0;
        for (Index i = 0; i < n; ++i) {
            const double v = value[i], each = (v - centre) / scale;
            infinite += std::fabs(v) == std::numeric_limits<double>::infinity() ? 1 : 0;
            missing[i] += v == v ? 0.0 : v;
            z[i] = each < -far ? -far : each > far ? far : each;
        }
        return infinite;
    }

    // Sort the complete rows of a block by class.
    template <class L> TB_INLINE void sort(const L& labels, Index first, Index n) {
        std::fill(start_.begin(), start_.end(), Index{0});
        for (Index i = 0; i < n; ++i)
            if (missing_[i] == 0.0) labels.each(first + i, [&](Index k, double) { ++start_[k + 1]; });
        for (Index k = 0; k < n_classes_; ++k) start_[k + 1] += start_[k];
        row_.resize(static_cast<std::size_t>(start_[n_classes_]));
        by_.resize(row_.size());
        std::copy(start_.begin(), start_.end() - 1, next_.begin());
        for (Index i = 0; i < n; ++i)
            if (missing_[i] == 0.0) labels.each(first + i, [&](Index k, double w) { row_[next_[k]] = i, by_[next_[k]++] = w; });
    }

    TB_INLINE void find_mean(Index k) {
        double* mean = own_mean_.data() + k * wide_;
        std::fill_n(mean, wide_, 0.0);
        own_weight_[k] = 0.0;
        for (Index e = start_[k]; e < start_[k + 1]; ++e) {
            own_weight_[k] += by_[e];
            for (Index j = 0; j < wide_; j += kLanes) at(mean + j) += by_[e] * at(z_.data() + row_[e] * wide_ + j);
        }
        for (Index j = 0; j < wide_; ++j) mean[j] /= own_weight_[k] > 0.0 ? own_weight_[k] : 1.0;
    }

    // Add w off offᵀ to the products of a class, for so many rows of deviations at a time.
    template <Index rows> TB_INLINE void add(Index k, const double* w) {
        for (Index a = 0; a < d_; ++a) {
            double* row = product_.data() + (k * d_ + a) * wide_;
            for (Index b = a / kLanes * kLanes; b < wide_; b += kLanes) {
                Four sum = at(row + b);
                for (Index r = 0; r < rows; ++r) {
                    const double* off = off_.data() + r * wide_;
                    sum += (w[r] * off[a]) * at(off + b);
                }
                at(row + b) = sum;
            }
        }
    }

    TB_INLINE void deviate(Index k, Index e, Index place) {
        const double *z = z_.data() + row_[e] * wide_, *mean = own_mean_.data() + k * wide_;
        for (Index j = 0; j < wide_; j += kLanes) at(off_.data() + place * wide_ + j) = at(z + j) - at(mean + j);
    }

    TB_INLINE void add_products(Index k) {
        Index e = start_[k];
        for (; e + kRows <= start_[k + 1]; e += kRows) {
            for (Index r = 0; r < kRows; ++r) deviate(k, e + r, r);
            add<kRows>(k, by_.data() + e);
        }
        for (; e < start_[k + 1]; ++e) {
            deviate(k, e, 0);
            add<1>(k, by_.data() + e);
        }
    }

    // The products about the mean of the block become those about the mean of all rows.
    TB_INLINE void merge() {
        for (Index k = 0; k < n_classes_; ++k) {
            if (!(own_weight_[k] > 0.0)) continue;
            const double before = weight_[k], share = own_weight_[k] / (before + own_weight_[k]);
            for (Index j = 0; j < wide_; ++j) {
                off_[j] = own_mean_[k * wide_ + j] - mean_[k * wide_ + j];
                mean_[k * wide_ + j] += off_[j] * share;
            }
            const double by = before * share;
            add<1>(k, &by);
            weight_[k] += own_weight_[k];
        }
    }

    static std::vector<double> zeros(Index n) { return std::vector<double>(static_cast<std::size_t>(n), 0.0); }

public:
    Scatter(Index n_classes, Index d)
        : n_classes_(n_classes), d_(d), wide_((d + kLanes - 1) / kLanes * kLanes), step_(std::max<Index>(64, kCells / std::max<Index>(wide_, 1))),
          weight_(zeros(n_classes)), mean_(zeros(n_classes * wide_)), product_(zeros(n_classes * d * wide_)), z_(zeros(step_ * wide_)),
          column_(zeros(step_)), missing_(zeros(step_)), own_weight_(zeros(n_classes)), own_mean_(zeros(n_classes * wide_)), off_(zeros(kRows * wide_)),
          start_(static_cast<std::size_t>(n_classes + 1)), next_(static_cast<std::size_t>(n_classes)) {}

    // Rows that lack a number are left out. Answers the position of the first infinite number, or kNone.
    template <class L> TB_INLINE Index count(const Matrix<double>& x, const L& labels, const Units& units) {
        for (Index first = 0; first < x.n; first += step_) {
            const Index n = std::min(step_, x.n - first);
            if (!standardise(x, first, n, units))
                for (Index i = first; i < first + n; ++i)
                    for (Index j = 0; j < d_; ++j)
                        if (std::isinf(x.at(i, j))) return i * d_ + j;
            sort(labels, first, n);
            for (Index k = 0; k < n_classes_; ++k) {
                find_mean(k);
                add_products(k);
            }
            merge();
        }
        return kNone;
    }

    void write(double* weight, double* mean, double* product) const {
        std::copy(weight_.begin(), weight_.end(), weight);
        for (Index k = 0; k < n_classes_; ++k)
            for (Index a = 0; a < d_; ++a) {
                mean[k * d_ + a] = mean_[k * wide_ + a];
                for (Index b = a; b < d_; ++b)
                    product[(k * d_ + a) * d_ + b] = product[(k * d_ + b) * d_ + a] = product_[(k * d_ + a) * wide_ + b];
            }
    }
};

}  // namespace tb
