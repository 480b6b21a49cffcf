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
    static constexpr Index kLanes = 4, kCells = 1 << 15;  // numbers of a block, which stay in the cache
    using Four = Lanes<kLanes, double>;
    const Index n_classes_, d_, wide_, step_;
    std::vector<double> weight_, mean_, product_;
    std::vector<double> z_, own_weight_, own_mean_, off_;  // of the rows of a block
    std::vector<char> complete_;

    // The rows of a block in standard units. Answers whether all are finite or missing.
    TB_INLINE bool standardise(const Matrix<double>& x, Index first, Index n, const Units& units) {
        bool finite = true;
        std::fill_n(complete_.begin(), n, char{1});
        for (Index j = 0; j < d_; ++j) {
            const double centre = units.centre[j], scale = units.scale[j], far = units.farthest;
            for (Index i = 0; i < n; ++i) {
                const double value = x.at(first + i, j), z = (value - centre) / scale;
                finite &= !(std::fabs(value) == std::numeric_limits<double>::infinity());
                complete_[i] &= static_cast<char>(value == value);
                z_[i * wide_ + j] = z < -far ? -far : z > far ? far : z;
            }
        }
        return finite;
    }

    template <class L> TB_INLINE void find_means(const L& labels, Index first, Index n) {
        std::fill(own_weight_.begin(), own_weight_.end(), 0.0);
        std::fill(own_mean_.begin(), own_mean_.end(), 0.0);
        for (Index i = 0; i < n; ++i)
            if (complete_[i])
                labels.each(first + i, [&](Index k, double w) {
                    own_weight_[k] += w;
                    for (Index j = 0; j < wide_; ++j) own_mean_[k * wide_ + j] += w * z_[i * wide_ + j];
                });
        for (Index k = 0; k < n_classes_; ++k)
            for (Index j = 0; j < wide_; ++j) own_mean_[k * wide_ + j] /= own_weight_[k] > 0.0 ? own_weight_[k] : 1.0;
    }

    // Add w off offᵀ to the products of a class.
    TB_INLINE void add(Index k, double w) {
        for (Index a = 0; a < d_; ++a) {
            double* row = product_.data() + (k * d_ + a) * wide_;
            const double by = w * off_[a];
            for (Index b = a / kLanes * kLanes; b < wide_; b += kLanes)
                *reinterpret_cast<Four*>(row + b) += by * *reinterpret_cast<const Four*>(off_.data() + b);
        }
    }

    template <class L> TB_INLINE void add_products(const L& labels, Index first, Index n) {
        for (Index i = 0; i < n; ++i)
            if (complete_[i])
                labels.each(first + i, [&](Index k, double w) {
                    for (Index j = 0; j < wide_; ++j) off_[j] = z_[i * wide_ + j] - own_mean_[k * wide_ + j];
                    add(k, w);
                });
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
            add(k, before * share);
            weight_[k] += own_weight_[k];
        }
    }

    static std::vector<double> zeros(Index n) { return std::vector<double>(static_cast<std::size_t>(n), 0.0); }

public:
    Scatter(Index n_classes, Index d)
        : n_classes_(n_classes), d_(d), wide_((d + kLanes - 1) / kLanes * kLanes), step_(std::max<Index>(64, kCells / std::max<Index>(wide_, 1))),
          weight_(zeros(n_classes)), mean_(zeros(n_classes * wide_)), product_(zeros(n_classes * d * wide_)), z_(zeros(step_ * wide_)),
          own_weight_(zeros(n_classes)), own_mean_(zeros(n_classes * wide_)), off_(zeros(wide_)), complete_(static_cast<std::size_t>(step_)) {}

    // Rows that lack a number are left out. Answers the position of the first infinite number, or kNone.
    template <class L> TB_INLINE Index count(const Matrix<double>& x, const L& labels, const Units& units) {
        for (Index first = 0; first < x.n; first += step_) {
            const Index n = std::min(step_, x.n - first);
            if (!standardise(x, first, n, units))
                for (Index i = first; i < first + n; ++i)
                    for (Index j = 0; j < d_; ++j)
                        if (std::isinf(x.at(i, j))) return i * d_ + j;
            find_means(labels, first, n);
            add_products(labels, first, n);
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
