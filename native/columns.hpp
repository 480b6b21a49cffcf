// Single columns of training rows, each row left out of what was learned: how well each column alone predicts the
// classes, and what it says of each row. A model scores some rows of the column it was last prepared for.
#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

#include "exponentials.hpp"
#include "leave_one_out.hpp"
#include "sparse_leave_one_out.hpp"

namespace tb {

constexpr Index kBuffer = 8192;  // scores worked on at a time, so that they stay in the cache
constexpr Index kLine = 16;      // columns whose evidence is written side by side: as many floats as a cache line has

// log Γ by Stirling's series, after a few steps up for small numbers.
TB_INLINE double stirling(double x) {
    const double q = 1.0 / (x * x);
    return (1.0 / 12.0 - q * (1.0 / 360.0 - q * (1.0 / 1260.0 - q * (1.0 / 1680.0 - q * (1.0 / 1188.0))))) / x;
}

TB_INLINE double log_gamma(double x) {
    double product = 1.0;
    for (; x < 16.0; x += 1.0) product *= x;
    return (x - 0.5) * std::log(x) - x + 0.5 * kLog2Pi + stirling(x) - std::log(product);
}

// Σ times · (−log P(y | x)) of some rows whose scores (rows, K) lack the prior; the scores are changed.
TB_INLINE double loss_of(double* scores, const std::int32_t* y, const double* times, Index rows, Index n_classes, const double* prior) {
    double total = 0.0;
    for (Index r = 0; r < rows; ++r) {
        double *TB_RESTRICT s = scores + r * n_classes, top = kImpossible, sum = 0.0;
        if (!(times[r] > 0.0)) continue;
        for (Index k = 0; k < n_classes; ++k) {
            s[k] += prior[k];
            top = s[k] > top ? s[k] : top;
        }
        const double own = s[y[r]];
        TB_SIMD(reduction(+ : sum))
        for (Index k = 0; k < n_classes; ++k) sum += exp_of(s[k] - top);
        const double loss = top + std::log(sum) - own;
        total += times[r] * (loss == loss ? loss : -kImpossible);
    }
    return total;
}

// Which rows of a column are alike: those of the same cell (n, d), class and size of weight. No cells: none are.
struct Alike {
    Matrix<std::int32_t> cell;  // -1 for a missing value
    const std::int32_t* size;   // (n,) the place of the row's weight
    Index n_cells, n_sizes;
};

constexpr Index kMixed = -2;  // in place of the first row of a key: its rows have several values

// Rows of one column, those that are alike only once.
struct RowsOfColumn {
    std::vector<double> value, weight, times;
    std::vector<std::int32_t> y;
    std::vector<Index> first;  // by key, the place of the first such row
    Index n = 0;
    // No rows, and room for so many.
    void clear(Index most) {
        if (const auto room = static_cast<std::size_t>(most); value.size() < room) value.resize(room), weight.resize(room), times.resize(room), y.resize(room);
        n = 0;
    }
    TB_INLINE void add(double v, std::int32_t code, double w, double repeated) { value[n] = v, y[n] = code, weight[n] = w, times[n++] = repeated; }
    Index size() const { return n; }
    double total() const { return std::accumulate(times.begin(), times.begin() + n, 0.0); }
};

// Gathers a column: first the rows that are alike, in the order of their keys, then those of cells that hold several
// values. False where there are no cells, or more keys than they would save.
template <class T>
TB_INLINE bool gather_alike(const Matrix<T>& x, const Hard& labels, Index j, Index n_classes, const Alike& alike, RowsOfColumn& rows) {
    const Index n_keys = (alike.n_cells + 1) * n_classes * alike.n_sizes;
    if (!alike.cell.data || n_keys > 4 * x.n + 1024) return false;
    rows.clear(x.n + n_keys);
    rows.first.assign(static_cast<std::size_t>(n_keys), kNone);
    const auto key_of = [&](Index i) {
        return static_cast<std::size_t>(((alike.cell.at(i, j) + 1) * n_classes + labels.codes[i]) * alike.n_sizes + alike.size[i]);
    };
    for (Index i = 0; i < x.n; ++i) {
        Index& first = rows.first[key_of(i)];
        if (first == kNone) first = i;
        if (first == kMixed) continue;
        const double v = static_cast<double>(x.at(i, j)), u = static_cast<double>(x.at(first, j));
        if (v != u && (v == v || u == u)) first = kMixed;
    }
    for (Index& first : rows.first) {
        if (first < 0) continue;
        rows.add(static_cast<double>(x.at(first, j)), labels.codes[first], labels.weight[first], 0.0);
        first = rows.size() - 1;
    }
    for (Index i = 0; i < x.n; ++i) {
        const Index first = rows.first[key_of(i)];
        if (first == kMixed) rows.add(static_cast<double>(x.at(i, j)), labels.codes[i], labels.weight[i], labels.weight[i]);
        else rows.times[static_cast<std::size_t>(first)] += labels.weight[i];
    }
    return true;
}

template <class T>
TB_INLINE void gather(const Matrix<T>& x, const Hard& labels, Index j, Index n_classes, const Alike& alike, RowsOfColumn& rows) {
    if (gather_alike(x, labels, j, n_classes, alike, rows)) return;
    rows.clear(x.n);
    for (Index i = 0; i < x.n; ++i) rows.add(static_cast<double>(x.at(i, j)), labels.codes[i], labels.weight[i], labels.weight[i]);
}

// losses (d,): the mean loss of each column alone. Answers kNone, or a column with a row that was never learned.
template <class T, class Model>
TB_INLINE Index column_losses(const Matrix<T>& x, const Hard& labels, Model& model, const double* prior, const Alike& alike, double* losses) {
    const Index k = model.n_classes, step = std::max(kLanes, kBuffer / k);
    std::vector<double> scores(static_cast<std::size_t>(step * k));
    RowsOfColumn rows;
    for (Index j = 0; j < x.d; ++j) {
        gather(x, labels, j, k, alike, rows);
        model.prepare(j);
        double loss = 0.0;
        for (Index first = 0; first < rows.size(); first += step) {
            const Index m = std::min(step, rows.size() - first);
            if (model.scores(rows.value.data() + first, rows.y.data() + first, rows.weight.data() + first, m, scores.data()) != kNone) return j;
            loss += loss_of(scores.data(), rows.y.data() + first, rows.times.data() + first, m, k, prior);
        }
        losses[j] = loss / rows.total();
    }
    return kNone;
}

// evidence (n, K, P) at the places (d,) of the columns: what each class has more than the row's own. Answers kNone or a
// row that was never learned.
template <class T, class Model>
TB_INLINE Index column_evidence(const Matrix<T>& x, const Hard& labels, Model& model, const std::int64_t* place, Index n_places, float* evidence) {
    const Index k = model.n_classes, step = std::max(kLanes, kBuffer / k);
    std::vector<double> scores(static_cast<std::size_t>(step * k)), value(static_cast<std::size_t>(step));
    for (Index tile = 0; tile < x.d; tile += kLine)
        for (Index first = 0; first < x.n; first += step) {
            const Index m = std::min(step, x.n - first);
            for (Index j = tile; j < std::min(tile + kLine, x.d); ++j) {
                for (Index r = 0; r < m; ++r) value[static_cast<std::size_t>(r)] = static_cast<double>(x.at(first + r, j));
                model.prepare(j);
                const Index bad = model.scores(value.data(), labels.codes + first, labels.weight + first, m, scores.data());
                if (bad != kNone) return first + bad;
                for (Index r = 0; r < m; ++r) {
                    const double *s = scores.data() + r * k, own = s[labels.codes[first + r]];
                    float* out = evidence + (first + r) * k * n_places + place[j];
                    for (Index c = 0; c < k; ++c) out[c * n_places] = static_cast<float>(s[c] - own);
                }
            }
        }
    return kNone;
}

// ---------------------------------------------------------------------------------------------- bell curves

// How often a number is not zero, beside the bell curve of those that are not.
struct SpikeTally {
    const double *other, *weight;  // (K, d); null where zero is a number like any other
    double alpha;
};

struct NormalColumns {
    const double *weight, *mean, *m2, *all;  // (K, d) moments and (3, d) those of all classes
    Index n_classes, d;
    double var_smoothing, least;
    bool shared, ignore_constants, logs;  // logs: of the logarithm of numbers above zero
    SpikeTally spike;
    std::vector<double> own, scratch, value;  // the moments of the column; memory of the kernel; numbers as it sees them
    double merged[3] = {0.0, 0.0, 0.0};
    Index column = 0;

    NormalColumns(const double* weight, const double* mean, const double* m2, const double* all, Index n_classes, Index d)
        : weight(weight), mean(mean), m2(m2), all(all), n_classes(n_classes), d(d),
          own(static_cast<std::size_t>(9 * n_classes)),
          scratch(static_cast<std::size_t>(2 * kLanes + 6 * n_classes + 11 + 4 * n_classes + 1 + kWide)) {}

    TB_INLINE void prepare(Index j) {
        column = j;
        const Index k = n_classes;
        for (Index c = 0; c < k; ++c) own[c] = weight[c * d + j], own[k + c] = mean[c * d + j], own[2 * k + c] = m2[c * d + j];
        for (Index q = 0; q < 3; ++q) merged[q] = all[q * d + j];
        if (!spike.other) return;
        for (Index c = 0; c < k; ++c) {
            double *p = own.data() + 3 * k + c, yes = spike.other[c * d + j], rows = spike.weight[c * d + j];
            p[0] = yes, p[k] = rows;
            chances(yes, rows, p[2 * k], p[3 * k]);
        }
    }

    // Log probability of zero and of any other number.
    TB_INLINE void chances(double yes, double rows, double& zero, double& other) const {
        const double mass = rows + 2.0 * spike.alpha, no = rows - yes > 1e-12 * rows ? rows - yes : 0.0;
        zero = mass > 0.0 ? std::log((no + spike.alpha) / mass) : -kLog2;
        other = mass > 0.0 ? std::log((yes + spike.alpha) / mass) : -kLog2;
    }

    TB_INLINE Index scores(const double* v, const std::int32_t* y, const double* w, Index m, double* out) {
        const double* numbers = v;
        if (logs || spike.other) {
            value.assign(v, v + m);
            for (double& x : value) {
                if (spike.other && x == 0.0) x = std::numeric_limits<double>::quiet_NaN();
                else if (logs) x = x > 0.0 ? std::log(x) : std::numeric_limits<double>::quiet_NaN();
            }
            numbers = value.data();
        }
        const Index k = n_classes;
        double* free = scratch.data();
        const auto take = [&](Index size) { double* here = free; free += size; return here; };
        const LooScratch s{
            .tile = take(kLanes), .precision = take(kLanes), .variance = take(k), .scale = take(k), .log_norm = take(k),
            .scale_total = take(k), .log_norm_total = take(k), .steepest = take(k), .within = take(1), .within_weight = take(1),
            .all_variance = take(1), .noise = take(1), .inverse = take(k), .all_inverse = take(1), .within_inverse = take(1),
            .factor = take(k), .all_factor = take(1), .limit = take(k), .table_weight = take(k + 1), .row = take(1),
            .all_deviation = take(1), .all_left = take(1), .own_variance = take(1 + kWide)};
        const double epsilon = var_smoothing * per_weight(merged[2], merged[0]);
        const GaussianTally t{own.data(), own.data() + k, own.data() + 2 * k, merged, merged + 1, merged + 2,
                              k, var_smoothing, epsilon, least, shared, ignore_constants};
        const Matrix<double> x{numbers, m, 1, 1, 1};
        const Index bad = shared ? gaussian_leave_one_out<double, true>(x, {y, w}, t, s, out)
                                 : gaussian_leave_one_out<double, false>(x, {y, w}, t, s, out);
        if (bad != kNone) return bad < 0 ? -2 - bad : bad;
        return spike.other ? add_spike(v, y, w, m, out) : kNone;
    }

    TB_INLINE Index add_spike(const double* v, const std::int32_t* y, const double* w, Index m, double* out) const {
        const Index k = n_classes;
        const double *yes = own.data() + 3 * k, *rows = yes + k;
        for (Index r = 0; r < m; ++r) {
            if (v[r] != v[r]) continue;
            const double *logs_of = v[r] == 0.0 ? rows + k : rows + 2 * k, taken = v[r] == 0.0 ? 0.0 : w[r];
            double *here = out + r * k, mine = here[y[r]], zero, other;
            if (too_much(yes[y[r]], taken) || too_much(rows[y[r]], w[r])) return r;
            for (Index c = 0; c < k; ++c) here[c] += logs_of[c];
            chances(left_of(yes[y[r]], taken), left_of(rows[y[r]], w[r]), zero, other);
            here[y[r]] = mine + (v[r] == 0.0 ? zero : other);
        }
        return kNone;
    }
};

// ---------------------------------------------------------------------------------------------- gamma

// c(a) + a (log u − u + 1) with u = x / mean and the shape a = mean² / variance; see the family.
struct GammaColumns {
    const double *weight, *mean, *m2, *all;
    Index n_classes, d;
    double var_smoothing, least;
    std::vector<double> own;  // (7, K) weight, mean, m2 and variance; shape, constant and log mean with every row in
    double merged[3] = {0.0, 0.0, 0.0}, noise = 0.0, epsilon = 0.0;

    static TB_INLINE double constant(double shape) {  // a log a − a − log Γ(a)
        double up = shape, product = 1.0;
        for (; up < 16.0; up += 1.0) product *= up;
        const double large = 0.5 * std::log(up) - 0.5 * kLog2Pi - stirling(up);  // of the shape, steps up
        return up == shape ? large : large - (up * std::log(up) - up) + (shape * std::log(shape) - shape) + std::log(product);
    }

    static TB_INLINE double density(double x, double mean, double variance) {
        const double shape = mean * mean / variance, apart = (x - mean) / mean;
        return constant(shape) + shape * (std::log1p(apart) - apart);
    }

    TB_INLINE double floored(double variance, double floor) const { return at_least(variance + floor, least); }

    TB_INLINE void prepare(Index j) {
        const Index k = n_classes;
        own.resize(static_cast<std::size_t>(7 * k));
        for (Index q = 0; q < 3; ++q) merged[q] = all[q * d + j];
        noise = 1e-13 * merged[2] + 8.9e-16 * std::fabs(merged[1]) * std::sqrt(merged[2] * merged[0]);
        epsilon = var_smoothing * per_weight(merged[2], merged[0]);
        for (Index c = 0; c < k; ++c) {
            double* p = own.data() + c;
            p[0] = weight[c * d + j], p[k] = mean[c * d + j], p[2 * k] = m2[c * d + j];
            p[3 * k] = per_weight(p[2 * k], p[0]);
            if (!(p[0] > 0.0)) continue;
            p[4 * k] = p[k] * p[k] / floored(p[3 * k], epsilon), p[5 * k] = constant(p[4 * k]), p[6 * k] = std::log(p[k]);
        }
    }

    TB_INLINE Index scores(const double* v, const std::int32_t* y, const double* w, Index m, double* out) const {
        const Index k = n_classes;
        const double *known = own.data(), *centre = known + k, *squares = centre + k, *spread = squares + k;
        const double *shape = spread + k, *level = shape + k, *log_mean = level + k;
        for (Index r = 0; r < m; ++r) {
            double* here = out + r * k;
            const double x = v[r], z = x - merged[1], inverse = inverse_left(merged[0], w[r]);
            const double left = merged[2] - w[r] * z * z * merged[0] * inverse;
            if (std::isinf(x) || (x > 0.0 && too_much(known[y[r]], w[r]))) return r;
            if (!(x > 0.0) || !(inverse > 0.0) || !(left > noise)) {  // missing, or no evidence without the row
                for (Index c = 0; c < k; ++c) here[c] = 0.0;
                continue;
            }
            const double rest = left * inverse, floor = var_smoothing * rest, moved = std::fabs(floor - epsilon);
            const double rest_mean = merged[1] - w[r] * z * inverse, log_x = std::log(x);
            for (Index c = 0; c < k; ++c) here[c] = level[c] + shape[c] * (log_x - log_mean[c] - x / centre[c] + 1.0);
            // A narrow distribution, and one whose variance is hardly more than the floor, need more care.
            for (Index c = 0; c < k; ++c)
                if (!(known[c] > 0.0)) here[c] = density(x, rest_mean, floored(rest, floor));
                else if (shape[c] > 1e4 || moved > 1e-10 * spread[c]) here[c] = density(x, centre[c], floored(spread[c], floor));
            const Index c = y[r];
            const double off = x - centre[c], one_in = inverse_left(known[c], w[r]), mine = squares[c] - w[r] * off * off * known[c] * one_in;
            if (mine < -1e-6 * squares[c] - 1e-9 * known[c] * centre[c] * centre[c]) return r;
            if (one_in > 0.0)
                here[c] = density(x, centre[c] - w[r] * off * one_in, floored(mine > 1e-13 * squares[c] ? mine * one_in : 0.0, floor));
            else here[c] = density(x, rest_mean, floored(rest, floor));
        }
        return kNone;
    }
};

// ---------------------------------------------------------------------------------------------- exponential

// −log μ − x / μ with μ = (Σ x + a·μ̄) / (n + a); see the family.
struct ExponentialColumns {
    const double *sum, *weight;  // (K, d)
    Index n_classes, d;
    const double* alpha;  // (d,)
    std::vector<double> own;  // (2, K)
    double all_sum = 0.0, all_weight = 0.0, a = 0.0;

    TB_INLINE void prepare(Index j) {
        own.resize(static_cast<std::size_t>(2 * n_classes));
        all_sum = all_weight = 0.0, a = alpha[j];
        for (Index c = 0; c < n_classes; ++c) {
            all_sum += own[c] = sum[c * d + j];
            all_weight += own[n_classes + c] = weight[c * d + j];
        }
    }

    TB_INLINE double mean_of(double total, double rows, double overall) const {
        const double mass = rows + a, mean = mass > 0.0 ? (total + a * overall) / mass : 0.0;
        return mean > 0.0 ? mean : overall > 0.0 ? overall : 1.0;
    }

    TB_INLINE Index scores(const double* v, const std::int32_t* y, const double* w, Index m, double* out) const {
        const double *total = own.data(), *rows = total + n_classes;
        for (Index r = 0; r < m; ++r) {
            double* TB_RESTRICT here = out + r * n_classes;
            if (!std::isfinite(v[r])) {
                for (Index c = 0; c < n_classes; ++c) here[c] = 0.0;
                continue;
            }
            const Index own_class = y[r];
            const double taken = w[r] * v[r];
            if (too_much(total[own_class], taken) || too_much(rows[own_class], w[r])) return r;
            const double mine = left_of(total[own_class], taken), left = left_of(rows[own_class], w[r]);
            const double all = all_sum - total[own_class] + mine, n = all_weight - rows[own_class] + left;
            const double overall = n > 0.0 && all > 0.0 ? all / n : 0.0;
            for (Index c = 0; c < n_classes; ++c) {
                const double mean = mean_of(total[c], rows[c], overall);
                here[c] = -log_of(mean) - v[r] / mean;
            }
            const double mean = mean_of(mine, left, overall);
            here[own_class] = -std::log(mean) - v[r] / mean;
        }
        return kNone;
    }
};

}  // namespace tb
