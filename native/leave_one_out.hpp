// Log densities of each training row as if that row had not been learned, in closed form.
#pragma once

#include "gaussian.hpp"

namespace tb {

struct GaussianTally {
    const double *weight, *mean, *m2;              // (K, d) moments per class
    const double *all_weight, *all_mean, *all_m2;  // (d,) the same with the classes merged into one
    Index n_classes;
    double var_smoothing;
    double epsilon;  // var_smoothing times the largest merged variance, with every row in
    double least;    // the smallest variance allowed, so that a constant column divides by something
    bool shared;     // one variance a column for all classes
};

struct LooScratch {
    double* tile;      // (d, kLanes)
    double* variance;  // (K, d) with every row in, without epsilon
    double* floored;   // (K, d) the same with epsilon
    double* log_norm;  // (K, d) log(2 pi floored)
    double* within;    // (d, 2) m2 and weight summed over the classes
    double* rest;      // (d, 3) for one row: mean of its class, variance, mean of all, each without the row
};

constexpr Index kProduct = 16;  // ratios multiplied together before one logarithm is taken

struct Rest {
    double weight, mean, m2;
};

// What is left when a value is taken out; nothing is left when its weight was all there was.
TB_INLINE Rest without(double weight, double mean, double m2, double w, double value) {
    const double rest = weight - w;
    if (!(rest > 1e-12 * weight)) return {0.0, 0.0, 0.0};
    const double z = value - mean, left = m2 - w * z * z * (weight / rest);
    return {rest, mean - z * (w / rest), left > 0.0 ? left : 0.0};
}

TB_INLINE double per_weight(double m2, double weight) { return weight > 0.0 && m2 > 0.0 ? m2 / weight : 0.0; }

// Variances with every row in; a class that has no value in a column borrows the merged ones, as `estimate` does.
TB_INLINE void full_variances(const GaussianTally& t, Index d, const LooScratch& s) {
    for (Index j = 0; j < d; ++j) {
        double m2 = 0.0, weight = 0.0;
        for (Index k = 0; k < t.n_classes; ++k) m2 += t.m2[k * d + j], weight += t.weight[k * d + j];
        s.within[2 * j] = m2, s.within[2 * j + 1] = weight;
        for (Index k = 0; k < t.n_classes; ++k) {
            const Index c = k * d + j;
            double v = per_weight(t.all_m2[j], t.all_weight[j]);
            if (t.shared) v = per_weight(m2, weight);
            else if (t.weight[c] > 0.0) v = per_weight(t.m2[c], t.weight[c]);
            s.variance[c] = v;
            s.floored[c] = v + t.epsilon > t.least ? v + t.epsilon : t.least;
            s.log_norm[c] = std::log(s.floored[c]) + 1.8378770664093454836;
        }
    }
}

// The variance floor of each lane without its row. A cell that was the only value of its column becomes a hole:
// without it nothing is known of the column.
TB_INLINE void lane_floors(const GaussianTally& t, Index d, Index rows, const double* weight, double* tile,
                           double* epsilon) {
    for (Index r = 0; r < kLanes; ++r) epsilon[r] = 0.0;
    for (Index j = 0; j < d; ++j) {
        const double all = per_weight(t.all_m2[j], t.all_weight[j]);
        for (Index r = 0; r < rows; ++r) {
            double& value = tile[j * kLanes + r];
            double v = all;
            if (value == value) {
                const Rest rest = without(t.all_weight[j], t.all_mean[j], t.all_m2[j], weight[r], value);
                v = per_weight(rest.m2, rest.weight);
                if (!(rest.weight > 0.0)) value = std::numeric_limits<double>::quiet_NaN();
            }
            epsilon[r] = v > epsilon[r] ? v : epsilon[r];
        }
    }
    for (Index r = 0; r < kLanes; ++r) epsilon[r] *= t.var_smoothing;
}

// All lanes under class k when only the floor has moved: sum of z^2 / v + log(2 pi v), the logarithms of the moved
// variances taken a product at a time.
TB_INLINE void lanes_of_class(const GaussianTally& t, Index d, Index k, const double* tile, const double* epsilon,
                              const double* weight, const LooScratch& s, Index rows, double* total) {
    double sum[kLanes], ratio[kLanes];
    for (Index r = 0; r < kLanes; ++r) sum[r] = 0.0, ratio[r] = 1.0;
    for (Index j = 0; j < d; ++j) {
        const Index c = k * d + j;
        const double* lane = tile + j * kLanes;
        if (t.weight[c] > 0.0) {
            const double mean = t.mean[c], v0 = s.variance[c], scale = 1.0 / s.floored[c], norm = s.log_norm[c];
            const double least = t.least;
            for (Index r = 0; r < kLanes; ++r) {
                const double moved = v0 + epsilon[r], v = moved > least ? moved : least, z = lane[r] - mean;
                const bool seen = lane[r] == lane[r];
                sum[r] += seen ? z * z / v + norm : 0.0;
                ratio[r] *= seen ? v * scale : 1.0;
            }
        } else {
            for (Index r = 0; r < rows; ++r) {
                if (lane[r] != lane[r]) continue;
                const Rest all = without(t.all_weight[j], t.all_mean[j], t.all_m2[j], weight[r], lane[r]);
                const double moved = per_weight(all.m2, all.weight) + epsilon[r], v = moved > t.least ? moved : t.least;
                const double z = lane[r] - all.mean;
                sum[r] += z * z / v + std::log(v) + 1.8378770664093454836;
            }
        }
        if (j % kProduct == kProduct - 1 || j == d - 1)
            for (Index r = 0; r < kLanes; ++r) {
                if (ratio[r] != 1.0) sum[r] += std::log(ratio[r]);
                ratio[r] = 1.0;
            }
    }
    for (Index r = 0; r < kLanes; ++r) total[r] = sum[r];
}

// out[row][class] = log density of the row under the class, the row itself left out of every moment: its class's
// mean and variance, the shared variance, and the variance floor that all classes add. Answers the row that weighs
// more than its class does (it was never learned), or kNone.
template <class T>
TB_INLINE Index gaussian_leave_one_out(const Matrix<T>& x, const Hard& labels, const GaussianTally& t,
                                       const LooScratch& s, double* out) {
    const Index d = x.d, n_classes = t.n_classes;
    full_variances(t, d, s);
    for (Index first = 0; first < x.n; first += kLanes) {
        const Index rows = first + kLanes < x.n ? kLanes : x.n - first;
        const double* weight = labels.weight + first;
        double epsilon[kLanes], total[kLanes];
        pack(x, first, rows, s.tile);
        lane_floors(t, d, rows, weight, s.tile, epsilon);
        for (Index k = 0; !t.shared && k < n_classes; ++k) {
            lanes_of_class(t, d, k, s.tile, epsilon, weight, s, rows, total);
            for (Index r = 0; r < rows; ++r) out[(first + r) * n_classes + k] = -0.5 * total[r];
        }
        for (Index r = 0; r < rows; ++r) {  // the row's own class, and all classes when they share a variance
            const Index y = labels.codes[first + r];
            const double w = weight[r];
            for (Index j = 0; j < d; ++j) {
                const double value = s.tile[j * kLanes + r];
                const Index c = y * d + j;
                if (value != value) continue;
                if (w > t.weight[c] * (1.0 + 1e-9)) return first + r;
                const Rest all = without(t.all_weight[j], t.all_mean[j], t.all_m2[j], w, value);
                const Rest own = without(t.weight[c], t.mean[c], t.m2[c], w, value);
                double v = per_weight(all.m2, all.weight);
                if (t.shared) v = per_weight(s.within[2 * j] - t.m2[c] + own.m2, s.within[2 * j + 1] - w);
                else if (own.weight > 0.0) v = per_weight(own.m2, own.weight);
                s.rest[3 * j] = own.weight > 0.0 ? own.mean : all.mean;
                s.rest[3 * j + 1] = v + epsilon[r] > t.least ? v + epsilon[r] : t.least;
                s.rest[3 * j + 2] = all.mean;
            }
            for (Index k = t.shared ? 0 : y; k < (t.shared ? n_classes : y + 1); ++k) {
                double sum = 0.0, ratio = 1.0;
                for (Index j = 0; j < d; ++j) {
                    const double value = s.tile[j * kLanes + r];
                    const Index c = k * d + j;
                    if (value == value) {
                        const double mean = k == y ? s.rest[3 * j] : t.weight[c] > 0.0 ? t.mean[c] : s.rest[3 * j + 2];
                        const double v = s.rest[3 * j + 1], z = value - mean;
                        sum += z * z / v + s.log_norm[c];
                        ratio *= v / s.floored[c];
                    }
                    if (j % kProduct == kProduct - 1 || j == d - 1) sum += std::log(ratio), ratio = 1.0;
                }
                out[(first + r) * n_classes + k] = -0.5 * sum;
            }
        }
    }
    return kNone;
}

// own[row] = sum over columns of log P(code | own class) without the row; false when the row was never learned.
template <class T>
TB_INLINE Index table_leave_one_out(const Matrix<T>& x, const Hard& labels, Index n_classes, const std::int64_t* start,
                                    const double* count, const double* weight, const double* alpha, double* own) {
    for (Index i = 0; i < x.n; ++i) {
        const Index y = labels.codes[i];
        const double w = labels.weight[i];
        double sum = 0.0;
        for (Index j = 0; j < x.d; ++j) {
            const std::int64_t code = static_cast<std::int64_t>(x.at(i, j)), levels = start[j + 1] - start[j];
            if (static_cast<std::uint64_t>(code) >= static_cast<std::uint64_t>(levels)) {
                if (code == -1) continue;
                return i;
            }
            const double here = count[(start[j] + code) * n_classes + y], all = weight[y * x.d + j];
            if (w > here * (1.0 + 1e-9)) return i;
            const double left = here - w > 1e-12 * here ? here - w : 0.0, rest = all - w > 1e-12 * all ? all - w : 0.0;
            const double mass = rest + alpha[j] * static_cast<double>(levels);
            sum += mass > 0.0 ? std::log((left + alpha[j]) / mass) : -std::log(static_cast<double>(levels));
        }
        own[i] = sum;
    }
    return kNone;
}

}  // namespace tb
