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
    bool ignore_constants;  // a column that never varies is no evidence
};

struct LooScratch {
    double* tile;       // (d, kLanes) values
    double* own_mean;   // (d, kLanes) mean of the lane's own class without the lane's row
    double* own_var;    // (d, kLanes) variance that goes with it, epsilon included
    double* all_mean;   // (d, kLanes) mean over all classes without the lane's row
    double* all_var;    // (d, kLanes) variance that goes with it
    double* variance;   // (K, d) with every row in, without epsilon
    double* scale;      // (K, d) 1 / (variance + epsilon)
    double* log_norm;   // (K, d) log(2 pi (variance + epsilon))
    double* within;     // (d, 2) m2 and weight summed over the classes
};

constexpr Index kProduct = 16;  // ratios multiplied together before one logarithm is taken
constexpr double kLog2Pi = 1.8378770664093454836;

TB_INLINE double at_least(double value, double least) { return value > least ? value : least; }

TB_INLINE double per_weight(double m2, double weight) { return weight > 0.0 && m2 > 0.0 ? m2 / weight : 0.0; }

// What is left of moments when a value is taken out: nothing (weight 0) when its weight was all there was.
struct Rest {
    double weight, mean, variance, m2;
};

TB_INLINE Rest without(double weight, double mean, double m2, double w, double value) {
    const double left = weight - w;
    const bool some = left > 1e-12 * weight;
    const double inverse = 1.0 / (some ? left : 1.0), z = value - mean;
    const double squares = m2 - w * z * z * (weight * inverse);
    const double rest = squares > 1e-13 * m2 ? squares : 0.0;  // what rounding leaves of nothing is nothing
    return {some ? left : 0.0, some ? mean - z * (w * inverse) : 0.0, some ? rest * inverse : 0.0, some ? rest : 0.0};
}

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
            const double floored = at_least(v + t.epsilon, t.least);
            s.scale[c] = 1.0 / floored;
            s.log_norm[c] = std::log(floored) + kLog2Pi;
        }
    }
}

// The first lane whose row cannot have been learned, or kNone: it weighs more than its class, or a value lies so far
// off that its square exceeds the class's sum of squares.
TB_INLINE Index strange_lane(const GaussianTally& t, Index d, Index rows, const std::int32_t* codes, const double* weight,
                             const double* tile) {
    double strange[kLanes] = {0.0};
    for (Index j = 0; j < d; ++j) {
        const double* lane = tile + j * kLanes;
        for (Index r = 0; r < kLanes; ++r) {
            const Index c = codes[r] * d + j;
            const double w = weight[r], full = t.weight[c], mean = t.mean[c], z = lane[r] - mean, left = full - w;
            const double square = w * z * z * (left > 1e-12 * full ? full / left : 1.0);
            const double most = t.m2[c] * (1.0 + 1e-6) + 1e-9 * full * mean * mean + 1e-300;
            const bool off = w > full * (1.0 + 1e-9) || square > most;
            strange[r] = lane[r] == lane[r] && off ? 1.0 : strange[r];
        }
    }
    for (Index r = 0; r < rows; ++r)
        if (strange[r] > 0.0) return r;
    return kNone;
}

// The variance floor of each lane without its row, and the merged moments without it. A cell that was the only value
// of its column, or whose column does not vary without it, becomes a hole, as in `estimate`.
TB_INLINE void lane_floors(const GaussianTally& t, Index d, const double* weight, const LooScratch& s, double* epsilon) {
    for (Index r = 0; r < kLanes; ++r) epsilon[r] = 0.0;
    for (Index j = 0; j < d; ++j) {
        const double all = per_weight(t.all_m2[j], t.all_weight[j]);
        // What rounding may leave of a column that does not vary without the row.
        const double noise = 1e-13 * t.all_m2[j] + 8.9e-16 * std::fabs(t.all_mean[j]) * std::sqrt(t.all_m2[j] * t.all_weight[j]);
        double *lane = s.tile + j * kLanes, *mean = s.all_mean + j * kLanes, *var = s.all_var + j * kLanes;
        for (Index r = 0; r < kLanes; ++r) {
            const Rest rest = without(t.all_weight[j], t.all_mean[j], t.all_m2[j], weight[r], lane[r]);
            const bool seen = lane[r] == lane[r];
            const double variance = rest.m2 > noise ? rest.variance : 0.0, v = seen ? variance : all;
            epsilon[r] = v > epsilon[r] ? v : epsilon[r];
            mean[r] = rest.mean, var[r] = variance;
            lane[r] = rest.weight > 0.0 ? lane[r] : std::numeric_limits<double>::quiet_NaN();
        }
    }
    for (Index r = 0; r < kLanes; ++r) epsilon[r] *= t.var_smoothing;
    for (Index j = 0; j < d; ++j)
        for (Index r = 0; r < kLanes; ++r) {
            const bool flat = !(s.all_var[j * kLanes + r] > 0.0) && (t.ignore_constants || !(epsilon[r] > 0.0));
            double& value = s.tile[j * kLanes + r];
            value = flat ? std::numeric_limits<double>::quiet_NaN() : value;
        }
}

// Mean and variance of each lane's own class without the lane's row.
template <bool shared>
TB_INLINE void own_moments(const GaussianTally& t, Index d, const std::int32_t* codes, const double* weight,
                           const double* epsilon, const LooScratch& s) {
    for (Index j = 0; j < d; ++j) {
        const double *lane = s.tile + j * kLanes, *all_mean = s.all_mean + j * kLanes, *all_var = s.all_var + j * kLanes;
        double *own_mean = s.own_mean + j * kLanes, *own_var = s.own_var + j * kLanes;
        const double within = s.within[2 * j], within_weight = s.within[2 * j + 1];
        for (Index r = 0; r < kLanes; ++r) {
            const Index c = codes[r] * d + j;
            const double w = weight[r], m2 = t.m2[c];
            const Rest own = without(t.weight[c], t.mean[c], m2, w, lane[r]);
            const bool some = own.weight > 0.0;
            double v = some ? own.variance : all_var[r];
            if (shared) v = per_weight(within - m2 + own.m2, within_weight - w);
            own_mean[r] = some ? own.mean : all_mean[r];
            own_var[r] = at_least(v + epsilon[r], t.least);
        }
    }
}

// Takes the logarithm of what has been multiplied up: every kProduct columns, at the end, and before it can underflow.
TB_INLINE void fold(Index j, Index d, double* ratio, double* total) {
    double low = 1.0, high = 1.0;
    for (Index r = 0; r < kLanes; ++r) low = ratio[r] < low ? ratio[r] : low, high = ratio[r] > high ? ratio[r] : high;
    if (j % kProduct != kProduct - 1 && j != d - 1 && low > 1e-90 && high < 1e90) return;
    for (Index r = 0; r < kLanes; ++r) {
        if (ratio[r] != 1.0) total[r] += std::log(ratio[r]);
        ratio[r] = 1.0;
    }
}

// Σ z²/v + log(2πv) of all lanes under class k when only the floor has moved. For a small move of the floor 1/v
// and log v come from the first terms of their series, whose error is below rounding; a large one is divided out.
TB_INLINE void lanes_of_class(const GaussianTally& t, Index d, Index k, const double* epsilon, const LooScratch& s,
                              double* total) {
    double ratio[kLanes], moved[kLanes], largest = 0.0;
    for (Index r = 0; r < kLanes; ++r) {
        total[r] = 0.0, ratio[r] = 1.0, moved[r] = epsilon[r] - t.epsilon;
        largest = std::fabs(moved[r]) > largest ? std::fabs(moved[r]) : largest;
    }
    for (Index j = 0; j < d; ++j) {
        const Index c = k * d + j;
        const double* lane = s.tile + j * kLanes;
        const double mean = t.mean[c], v0 = s.variance[c], scale = s.scale[c], norm = s.log_norm[c];
        if (t.weight[c] > 0.0 && largest * scale < 1e-4 && v0 + t.epsilon > 2.0 * t.least) {
            for (Index r = 0; r < kLanes; ++r) {
                const double q = moved[r] * scale, z = lane[r] - mean;
                const bool seen = lane[r] == lane[r];
                const double inverse = scale * (1.0 - q * (1.0 - q * (1.0 - q)));
                const double log_ratio = q * (1.0 - q * (0.5 - q * (1.0 / 3.0 - q * 0.25)));
                total[r] += seen ? z * z * inverse + norm + log_ratio : 0.0;
            }
        } else {
            for (Index r = 0; r < kLanes; ++r) {
                const bool known = t.weight[c] > 0.0, seen = lane[r] == lane[r];
                // The class has no value here and borrows the merged ones, which the row has left as well.
                const double m = known ? mean : s.all_mean[j * kLanes + r];
                const double raw = known ? v0 : s.all_var[j * kLanes + r];
                const double v = at_least(raw + epsilon[r], t.least), z = lane[r] - m;
                total[r] += seen ? z * z / v + norm : 0.0;
                ratio[r] *= seen ? at_least(v * scale, 1e-205) : 1.0;
            }
        }
        fold(j, d, ratio, total);
    }
}

// The same for each lane's own class, or with a shared variance for class k: both without the lane's row.
template <bool shared>
TB_INLINE void lanes_without(const GaussianTally& t, Index d, Index k, const std::int32_t* codes, const LooScratch& s,
                             double* total) {
    double ratio[kLanes];
    for (Index r = 0; r < kLanes; ++r) total[r] = 0.0, ratio[r] = 1.0;
    for (Index j = 0; j < d; ++j) {
        const double *lane = s.tile + j * kLanes, *all_mean = s.all_mean + j * kLanes;
        const double *own_mean = s.own_mean + j * kLanes, *own_var = s.own_var + j * kLanes;
        for (Index r = 0; r < kLanes; ++r) {
            const Index y = shared ? k : static_cast<Index>(codes[r]), c = y * d + j;
            const double other = t.weight[c] > 0.0 ? t.mean[c] : all_mean[r];
            const double z = lane[r] - (y == codes[r] ? own_mean[r] : other);
            const bool seen = lane[r] == lane[r];
            total[r] += seen ? z * z / own_var[r] + s.log_norm[c] : 0.0;
            ratio[r] *= seen ? at_least(own_var[r] * s.scale[c], 1e-205) : 1.0;
        }
        fold(j, d, ratio, total);
    }
}

// out[row][class] = log density of the row under the class, the row itself left out of every moment: its class's
// mean and variance, the shared variance, and the variance floor that all classes add. Answers the row that weighs
// more than its class does (it was never learned), minus two less its position for an infinite cell, or kNone.
template <class T, bool shared>
TB_INLINE Index gaussian_leave_one_out(const Matrix<T>& x, const Hard& labels, const GaussianTally& t,
                                       const LooScratch& s, double* out) {
    const Index d = x.d, n_classes = t.n_classes;
    full_variances(t, d, s);
    for (Index first = 0; first < x.n; first += kLanes) {
        const Index rows = first + kLanes < x.n ? kLanes : x.n - first;
        std::int32_t codes[kLanes] = {0};
        double weight[kLanes] = {0.0}, epsilon[kLanes], total[kLanes];
        for (Index r = 0; r < rows; ++r) codes[r] = labels.codes[first + r], weight[r] = labels.weight[first + r];
        if (!pack(x, first, rows, s.tile)) {
            const Index bad = infinite_cell(x, first, rows);
            if (bad != kNone) return -2 - bad;
        }
        const Index strange = strange_lane(t, d, rows, codes, weight, s.tile);
        if (strange != kNone) return first + strange;
        lane_floors(t, d, weight, s, epsilon);
        own_moments<shared>(t, d, codes, weight, epsilon, s);
        for (Index k = 0; k < n_classes; ++k) {
            if (shared) lanes_without<true>(t, d, k, codes, s, total);
            else lanes_of_class(t, d, k, epsilon, s, total);
            for (Index r = 0; r < rows; ++r) out[(first + r) * n_classes + k] = -0.5 * total[r];
        }
        if (shared) continue;
        lanes_without<false>(t, d, 0, codes, s, total);
        for (Index r = 0; r < rows; ++r) out[(first + r) * n_classes + codes[r]] = -0.5 * total[r];
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
