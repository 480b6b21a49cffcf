// Log densities of each training row as if that row had not been learned, in closed form.
#pragma once

#include "gaussian.hpp"
#include "logs.hpp"

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
    double *tile, *precision;  // (d, kLanes) values, and 1 / shared variance without the lane's row
    // With every row in, (K, d) each and (K,) over the columns:
    double *variance;          // without epsilon
    double *scale, *log_norm;  // 1 / (variance + epsilon) and log(2 pi (variance + epsilon))
    double *scale_total, *log_norm_total;
    double *steepest;          // the largest scale; infinite where a column of the class is out of the ordinary
    double *within, *within_weight;  // (d,) m2 and weight summed over the classes
    double *all_variance, *noise;    // (d,) merged variance; what rounding may leave of it in a column that is constant
    // Without a row of a certain weight, (K, d) for the own class and (d,) for the classes merged:
    double *inverse, *all_inverse, *within_inverse;  // 1 / weight left, or 0 when nothing is
    double *factor, *all_factor;                     // weight / weight left: how much further off the mean a value is
    double *limit;                                   // the largest w z^2 that the sum of squares has room for
    double *table_weight;                            // (K + 1,) the row weight that the above are for; merged last
    // One row:
    double *row, *all_deviation, *all_left;  // (d,) value; deviation from and variance of the merged rest
    double *own_variance;                    // (d rounded up to kWide,)
};

constexpr Index kWide = 8;  // products worked out side by side
constexpr double kLog2Pi = 1.8378770664093454836;

TB_INLINE double at_least(double value, double least) { return value > least ? value : least; }

TB_INLINE double per_weight(double m2, double weight) { return weight > 0.0 && m2 > 0.0 ? m2 / weight : 0.0; }

// 1 / what is left of a weight; 0 when it was all there was.
TB_INLINE double inverse_left(double weight, double w) {
    const double left = weight - w;
    return left > 1e-12 * weight ? 1.0 / left : 0.0;
}

// Variances with every row in; a class that has no value in a column borrows the merged ones, as `estimate` does.
TB_INLINE void full_variances(const GaussianTally& t, Index d, const LooScratch& s) {
    for (Index k = 0; k <= t.n_classes; ++k) s.table_weight[k] = std::numeric_limits<double>::quiet_NaN();
    for (Index k = 0; k < t.n_classes; ++k) s.scale_total[k] = s.log_norm_total[k] = s.steepest[k] = 0.0;
    for (Index j = 0; j < d; ++j) {
        double m2 = 0.0, weight = 0.0;
        for (Index k = 0; k < t.n_classes; ++k) m2 += t.m2[k * d + j], weight += t.weight[k * d + j];
        s.within[j] = m2, s.within_weight[j] = weight;
        s.all_variance[j] = per_weight(t.all_m2[j], t.all_weight[j]);
        s.noise[j] = 1e-13 * t.all_m2[j] + 8.9e-16 * std::fabs(t.all_mean[j]) * std::sqrt(t.all_m2[j] * t.all_weight[j]);
        for (Index k = 0; k < t.n_classes; ++k) {
            const Index c = k * d + j;
            double v = s.all_variance[j];
            if (t.shared) v = per_weight(m2, weight);
            else if (t.weight[c] > 0.0) v = per_weight(t.m2[c], t.weight[c]);
            s.variance[c] = v;
            const double floored = at_least(v + t.epsilon, t.least);
            s.scale[c] = 1.0 / floored;
            s.log_norm[c] = std::log(floored) + kLog2Pi;
            s.scale_total[k] += s.scale[c], s.log_norm_total[k] += s.log_norm[c];
            const bool ordinary = t.weight[c] > 0.0 && v + t.epsilon > 2.0 * t.least;
            s.steepest[k] = at_least(ordinary ? s.scale[c] : std::numeric_limits<double>::infinity(), s.steepest[k]);
        }
    }
}

// What depends on the row's weight only. Most rows weigh the same, so this is seldom done.
TB_INLINE void tables_for(const GaussianTally& t, Index d, Index y, double w, const LooScratch& s) {
    if (s.table_weight[t.n_classes] != w)
        for (Index j = 0; j < d; ++j) {
            s.all_inverse[j] = inverse_left(t.all_weight[j], w);
            s.all_factor[j] = t.all_weight[j] * s.all_inverse[j];
            s.within_inverse[j] = s.within_weight[j] - w > 0.0 ? 1.0 / (s.within_weight[j] - w) : 0.0;
        }
    if (s.table_weight[y] != w)
        for (Index c = y * d; c < (y + 1) * d; ++c) {
            const double full = t.weight[c], inverse = inverse_left(full, w), factor = full * inverse;
            const double most = t.m2[c] * (1.0 + 1e-6) + 1e-9 * full * t.mean[c] * t.mean[c] + 1e-300;
            s.inverse[c] = inverse, s.factor[c] = factor;
            s.limit[c] = w > full * (1.0 + 1e-9) ? -1.0 : inverse > 0.0 ? most / factor : most;
        }
    s.table_weight[t.n_classes] = s.table_weight[y] = w;
}

// The variance floor without the row, and the merged moments without it. A cell that was the only value of its column,
// or whose column does not vary without it, counts as missing, as in `estimate`.
struct Floor {
    double epsilon;
    bool whole;    // no cell counts as missing
    bool learned;  // false when the row weighs more than its class, or lies further off than its sum of squares allows
};

TB_INLINE Floor floor_without(const GaussianTally& t, Index d, Index y, double w, const LooScratch& s) {
    double top = 0.0;
    std::int64_t flat = 0, unknown = 0;
    const double *TB_RESTRICT row = s.row, *TB_RESTRICT mean = t.mean + y * d, *TB_RESTRICT limit = s.limit + y * d;
    const double *TB_RESTRICT all_mean = t.all_mean, *TB_RESTRICT all_m2 = t.all_m2, *TB_RESTRICT noise = s.noise;
    const double *TB_RESTRICT factor = s.all_factor, *TB_RESTRICT inverse = s.all_inverse, *TB_RESTRICT full = s.all_variance;
    double *TB_RESTRICT deviation = s.all_deviation, *TB_RESTRICT left = s.all_left;
    TB_SIMD(reduction(max : top) reduction(+ : flat, unknown))
    for (Index j = 0; j < d; ++j) {
        const double z = row[j] - all_mean[j], off = z * factor[j], squares = all_m2[j] - w * z * off, own = row[j] - mean[j];
        const double with_row = full[j], rest = squares * inverse[j], variance = squares > noise[j] ? rest : 0.0;
        const double v = z == z ? variance : with_row;
        top = v > top ? v : top;
        flat += v > 0.0 ? 0 : 1;
        unknown += w * own * own > limit[j] ? 1 : 0;
        deviation[j] = off, left[j] = variance;
    }
    Floor floor{t.var_smoothing * top, true, unknown == 0};
    if (flat > 0)
        for (Index j = 0; j < d; ++j) {
            const bool silent = t.ignore_constants || !(floor.epsilon > 0.0) || !(inverse[j] > 0.0);
            if (!silent || left[j] > 0.0) continue;
            s.row[j] = std::numeric_limits<double>::quiet_NaN(), floor.whole = false;
        }
    return floor;
}

// What the row's own class says of it without it.
struct Own {
    double squares, log_norm;  // Σ z²/v and Σ log(2πv)
};

template <bool shared>
TB_INLINE Own own_without(const GaussianTally& t, Index d, Index y, double w, double epsilon, const LooScratch& s) {
    const Index c = y * d;
    const double *TB_RESTRICT means = t.mean + c, *TB_RESTRICT squares = t.m2 + c;
    const double *TB_RESTRICT all_left = s.all_left, *TB_RESTRICT all_deviation = s.all_deviation;
    const double *TB_RESTRICT within = s.within, *TB_RESTRICT within_inverse = s.within_inverse;
    const double *TB_RESTRICT inverse = s.inverse + c, *TB_RESTRICT factor = s.factor + c, *TB_RESTRICT row = s.row;
    double* TB_RESTRICT variance = s.own_variance;
    const double least = t.least;
    double sum = 0.0;
    std::int64_t cells = 0;
    TB_SIMD(reduction(+ : sum, cells))
    for (Index j = 0; j < d; ++j) {
        const double z = row[j] - means[j], off = z * factor[j], left = squares[j] - w * z * off;
        const double borrowed_v = all_left[j], borrowed_z = all_deviation[j], one_in = inverse[j];
        const bool seen = z == z, some = one_in > 0.0;
        const double rest = some & (left > 1e-13 * squares[j]) ? left : 0.0;  // what rounding leaves of nothing is nothing
        const double own = rest * one_in, pooled = at_least((within[j] - squares[j] + rest) * within_inverse[j], 0.0);
        const double v = at_least((shared ? pooled : some ? own : borrowed_v) + epsilon, least);
        const double apart = some ? off : borrowed_z, square = apart * apart / v;
        sum += seen ? square : 0.0;
        cells += seen;
        variance[j] = seen ? v : 1.0;
    }
    for (Index j = d; j % kWide != 0; ++j) variance[j] = 1.0;
    double mantissa[kWide], exponent[kWide], logs = static_cast<double>(cells) * kLog2Pi;
    for (Index l = 0; l < kWide; ++l) mantissa[l] = 1.0, exponent[l] = 0.0;
    for (Index j = 0; j < d; j += kWide) {
        TB_SIMD()
        for (Index l = 0; l < kWide; ++l) multiply_up(variance[j + l], mantissa[l], exponent[l]);
    }
    const Index used = d < kWide ? d : kWide;  // the others hold a product of ones, whose logarithm is nothing
    for (Index l = 0; l < used; ++l) logs += log_of_product(mantissa[l], exponent[l]);
    return {sum, logs};
}

// A lane's cell under a class that has no value in its column: it borrows the merged moments, which the row has left.
struct Borrowed {
    double z, variance;
};

TB_INLINE Borrowed borrowed(const GaussianTally& t, Index j, double w, double value, const LooScratch& s) {
    const double inverse = inverse_left(t.all_weight[j], w), z = value - t.all_mean[j], off = z * t.all_weight[j] * inverse;
    const double squares = t.all_m2[j] - w * z * off;
    return {off, squares > s.noise[j] ? squares * inverse : 0.0};
}

// Σ z²/v + log(2πv) of all lanes under class k when only the floor has moved, and that by less than 1e-8 of any v: a
// step along the slope is then exact but for rounding.
TB_INLINE void whole_lanes(const GaussianTally& t, Index d, Index k, const double* moved, const LooScratch& s, double* total) {
    const double *mean = t.mean + k * d, *scale = s.scale + k * d;
    double sum[kLanes] = {0.0}, slope[kLanes] = {0.0};
    for (Index j = 0; j < d; ++j) {
        const double m = mean[j], q = scale[j], q2 = q * q;
        const double* lane = s.tile + j * kLanes;
        for (Index r = 0; r < kLanes; ++r) {
            const double z = lane[r] - m, square = z * z;
            sum[r] += square * q;
            slope[r] += square * q2;
        }
    }
    for (Index r = 0; r < kLanes; ++r)
        total[r] = (sum[r] + s.log_norm_total[k]) + moved[r] * (s.scale_total[k] - slope[r]);
}

// The same with missing values, larger moves and columns that the class has no value in. For a small move of the floor 1/v
// and log v come from the first terms of their series, whose error is below rounding; a large one is divided out.
TB_INLINE void lanes_of_class(const GaussianTally& t, Index d, Index k, const double* weight, const double* moved,
                              double largest, const LooScratch& s, double* total) {
    double mantissa[kLanes], exponent[kLanes];
    for (Index r = 0; r < kLanes; ++r) total[r] = exponent[r] = 0.0, mantissa[r] = 1.0;
    for (Index j = 0; j < d; ++j) {
        const Index c = k * d + j;
        const double* lane = s.tile + j * kLanes;
        const double mean = t.mean[c], v0 = s.variance[c], scale = s.scale[c], norm = s.log_norm[c];
        const bool known = t.weight[c] > 0.0;
        if (known && largest * scale < 1e-4 && v0 + t.epsilon > 2.0 * t.least) {
            for (Index r = 0; r < kLanes; ++r) {
                const double q = moved[r] * scale, z = lane[r] - mean;
                const bool seen = lane[r] == lane[r];
                const double inverse = scale * (1.0 - q * (1.0 - q * (1.0 - q)));
                const double log_ratio = q * (1.0 - q * (0.5 - q * (1.0 / 3.0 - q * 0.25)));
                total[r] += seen ? z * z * inverse + norm + log_ratio : 0.0;
            }
        } else {
            for (Index r = 0; r < kLanes; ++r) {
                const Borrowed other = borrowed(t, j, weight[r], lane[r], s);
                const double z = known ? lane[r] - mean : other.z, raw = known ? v0 : other.variance;
                const double v = at_least(raw + (moved[r] + t.epsilon), t.least);
                const bool seen = lane[r] == lane[r];
                total[r] += seen ? z * z / v + kLog2Pi : 0.0;
                multiply_up(seen ? v : 1.0, mantissa[r], exponent[r]);
            }
        }
    }
    for (Index r = 0; r < kLanes; ++r) total[r] += log_of_product(mantissa[r], exponent[r]);
}

// Σ z²/v of all lanes under class k with the shared variance that each lane's row has left.
TB_INLINE void lanes_of_shared(const GaussianTally& t, Index d, Index k, const double* weight, const LooScratch& s, double* total) {
    for (Index r = 0; r < kLanes; ++r) total[r] = 0.0;
    for (Index j = 0; j < d; ++j) {
        const double *lane = s.tile + j * kLanes, *precision = s.precision + j * kLanes, mean = t.mean[k * d + j];
        if (t.weight[k * d + j] > 0.0) {
            for (Index r = 0; r < kLanes; ++r) {
                const double z = lane[r] - mean;
                total[r] += lane[r] == lane[r] ? z * z * precision[r] : 0.0;
            }
        } else {
            for (Index r = 0; r < kLanes; ++r) {
                const double z = borrowed(t, j, weight[r], lane[r], s).z;
                total[r] += lane[r] == lane[r] ? z * z * precision[r] : 0.0;
            }
        }
    }
}

// out[row][class] = log density of the row under the class, the row itself left out of every moment: its class's
// mean and variance, the shared variance, and the variance floor that all classes add. Answers the row that weighs
// more than its class does (it was never learned), minus two less its position for an infinite cell, or kNone.
// What differs from row to row is worked out along the row, what all rows share across the lanes.
template <class T, bool shared>
TB_INLINE Index gaussian_leave_one_out(const Matrix<T>& x, const Hard& labels, const GaussianTally& t,
                                       const LooScratch& s, double* out) {
    const Index d = x.d, n_classes = t.n_classes;
    full_variances(t, d, s);
    for (Index first = 0; first < x.n; first += kLanes) {
        const Index rows = first + kLanes < x.n ? kLanes : x.n - first;
        const std::int32_t* codes = labels.codes + first;
        double weight[kLanes] = {0.0}, moved[kLanes] = {0.0}, total[kLanes], largest = 0.0;
        Own own[kLanes];
        bool whole = pack(x, first, rows, s.tile);
        if (!whole) {
            const Index bad = infinite_cell(x, first, rows);
            if (bad != kNone) return -2 - bad;
        }
        if (shared)
            for (Index c = 0; c < d * kLanes; ++c) s.precision[c] = 0.0;
        for (Index r = 0; r < rows; ++r) {
            const double w = weight[r] = labels.weight[first + r];
            for (Index j = 0; j < d; ++j) s.row[j] = static_cast<double>(x.at(first + r, j));
            tables_for(t, d, codes[r], w, s);
            const Floor floor = floor_without(t, d, codes[r], w, s);
            if (!floor.learned) return first + r;
            own[r] = own_without<shared>(t, d, codes[r], w, floor.epsilon, s);
            moved[r] = floor.epsilon - t.epsilon;
            largest = at_least(std::fabs(moved[r]), largest);
            if (!floor.whole) {
                whole = false;
                for (Index j = 0; j < d; ++j) s.tile[j * kLanes + r] = s.row[j];
            }
            if (shared)
                for (Index j = 0; j < d; ++j) s.precision[j * kLanes + r] = 1.0 / s.own_variance[j];
        }
        for (Index k = 0; k < n_classes; ++k) {
            if (shared) lanes_of_shared(t, d, k, weight, s, total);
            else if (whole && largest * s.steepest[k] < 1e-8) whole_lanes(t, d, k, moved, s, total);
            else lanes_of_class(t, d, k, weight, moved, largest, s, total);
            for (Index r = 0; r < rows; ++r) out[(first + r) * n_classes + k] = -0.5 * (shared ? total[r] + own[r].log_norm : total[r]);
        }
        for (Index r = 0; r < rows; ++r) out[(first + r) * n_classes + codes[r]] = -0.5 * (own[r].squares + own[r].log_norm);
    }
    return kNone;
}

// own[row] = sum over columns of log P(code | own class) without the row. Answers the row that was never learned.
// Probabilities are multiplied up, and the logarithm taken when the product has become small.
template <class T>
TB_INLINE Index table_leave_one_out(const Matrix<T>& x, const Hard& labels, Index n_classes, const std::int64_t* start,
                                    const double* count, const double* weight, const double* alpha, double* own) {
    for (Index i = 0; i < x.n; ++i) {
        const Index y = labels.codes[i];
        const double w = labels.weight[i];
        double sum = 0.0, product = 1.0;
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
            const double p = mass > 0.0 ? (left + alpha[j]) / mass : 1.0 / static_cast<double>(levels);
            if (p < 1e-100) {
                sum += std::log(p);
                continue;
            }
            product *= p;
            if (product < 1e-200) sum += std::log(product), product = 1.0;
        }
        own[i] = sum + std::log(product);
    }
    return kNone;
}

}  // namespace tb
