// Two columns together: what their joint counts say beyond their margins, and what that would gain.
#pragma once

#include <vector>

#include "logs.hpp"

namespace tb {

constexpr double kMargin = 0.5;       // pseudocount of the levels of each column alone
constexpr Index kRowsTogether = 512;  // whose sums over the classes stay in the cache
constexpr Index kHistograms = 4;      // side by side, so that rows of one cell need not wait for each other
constexpr Index kNarrow = 512;        // cells of which there is room for so many

struct Joint {  // the counts of a pair, by class
    const double* both;     // (K, cells) with a step from class to class; the second column runs faster
    Index step;
    const double* margins;  // (K, n_left + n_right)
    const double* total;    // (K,) with a step
    Index total_step, n_left, n_right;

    // n_ab / (P(a)·P(b)) in a class from which a row of that weight was taken.
    TB_INLINE double ratio(Index k, Index a, Index b, double taken) const {
        const double* margin = margins + k * (n_left + n_right);
        const double here = left_of(both[k * step + a * n_right + b], taken), all = left_of(total[k * total_step], taken);
        const double left = left_of(margin[a], taken) + kMargin, right = left_of(margin[n_left + b], taken) + kMargin;
        const double scale = (all + kMargin * static_cast<double>(n_left)) * (all + kMargin * static_cast<double>(n_right));
        return here * scale / (left * right);
    }
    // The log of the joint, smoothed towards the product of its margins, over that product.
    TB_INLINE double lift(Index k, Index a, Index b, double taken, double strength) const {
        return log_of(ratio(k, a, b, taken) + strength) - log_of(left_of(total[k * total_step], taken) + strength);
    }
};

TB_INLINE void sum_margins(const double* both, Index step, Index n_classes, Index n_left, Index n_right, double* margins) {
    for (Index i = 0; i < n_classes * (n_left + n_right); ++i) margins[i] = 0.0;
    for (Index k = 0; k < n_classes; ++k) {
        double *left = margins + k * (n_left + n_right), *right = left + n_left;
        for (Index a = 0; a < n_left; ++a)
            for (Index b = 0; b < n_right; ++b) {
                left[a] += both[k * step + a * n_right + b];
                right[b] += both[k * step + a * n_right + b];
            }
    }
}

// table (cells of the pair, K): the lifts of all rows.
TB_INLINE void lift_table(const Joint& joint, Index n_classes, double strength, double* table) {
    for (Index k = 0; k < n_classes; ++k)
        for (Index a = 0; a < joint.n_left; ++a)
            for (Index b = 0; b < joint.n_right; ++b) table[(a * joint.n_right + b) * n_classes + k] = joint.lift(k, a, b, 0.0, strength);
}

struct OwnLifts {  // of one pair: lifts of cells from which a row was taken, which rows of the same weight share
    std::vector<double> lift, taken;  // (cells, K), and the weight that each was found for
    explicit OwnLifts(Index size)
        : lift(static_cast<std::size_t>(size)), taken(static_cast<std::size_t>(size), std::numeric_limits<double>::quiet_NaN()) {}
};

// Calls use(row, code, own) with the lift of the row's cell in its own class without the row, for the rows first .. last that
// have a value. Answers the row that was never learned.
template <class T, class F>
TB_INLINE Index each_pair_without(const Matrix<T>& x, Index first, Index last, Index column, const Hard& labels, Index n_classes,
                                  const Joint& joint, double strength, OwnLifts& known, F&& use) {
    const Index n_cells = joint.n_left * joint.n_right;
    for (Index i = first; i < last; ++i) {
        const auto code = static_cast<std::int64_t>(x.at(i, column));
        if (static_cast<std::uint64_t>(code) >= static_cast<std::uint64_t>(n_cells)) {
            if (code == -1) continue;
            return i;
        }
        const Index y = labels.codes[i];
        const double w = labels.weight[i];
        if (w > joint.both[y * joint.step + code] * (1.0 + 1e-9)) return i;
        const auto at = static_cast<std::size_t>(code * n_classes + y);
        if (known.taken[at] != w) {
            known.lift[at] = joint.lift(y, code / joint.n_right, code % joint.n_right, w, strength);
            known.taken[at] = w;
        }
        use(i, code, known.lift[at]);
    }
    return kNone;
}

// out[row][class][place] = the lift in the class less that in the row's own class without the row, of one pair; table (cells, K)
// has the lifts of all rows.
template <class T>
TB_INLINE Index pair_evidence(const Matrix<T>& x, Index first, Index last, Index column, const Hard& labels, const Joint& joint,
                              double strength, OwnLifts& known, const double* table, Index n_classes, float* out, Index places) {
    for (Index i = first; i < last; ++i)
        for (Index k = 0; k < n_classes; ++k) out[(i * n_classes + k) * places] = 0.0f;
    return each_pair_without(x, first, last, column, labels, n_classes, joint, strength, known, [&](Index i, Index code, double own) {
        for (Index k = 0; k < n_classes; ++k) out[(i * n_classes + k) * places] = static_cast<float>(table[code * n_classes + k] - own);
        out[(i * n_classes + labels.codes[i]) * places] = 0.0f;
    });
}

// ----------------------------------------------------------------------------------------------- slopes

struct GridRows {  // sorted by class; of each class, those that are compared come first
    const std::int32_t* codes;   // (D, n) levels or bins, negative for a missing value
    const std::int64_t* levels;  // (D,)
    const double* weight;        // (n,)
    const std::int64_t *start, *compared;  // (K + 1,) first row of each class, among all and among the compared
    const double* posterior;     // (K, compared)
    Index n, n_classes;
    double same_weight;          // of all rows; negative where they differ
    TB_INLINE Index n_compared(Index k) const { return compared[k + 1] - compared[k]; }
};

struct PairScratch {
    std::int32_t* cell;  // (n,) the last, after all cells, for missing values
    const double* said;  // (n, 4) of two classes and rows of one weight, see `said_of`; else null
    double *histogram;   // (kHistograms · cells), and four times as many for what is said
    double *moments;     // (K, cells, 2) the sums of what is said of the rows of each class
    double *both, *ratio, *own_ratio, *table, *own;  // (K, cells)
    double *margins, *total;                         // (K, n_left + n_right), (K,)
};

TB_INLINE void find_cells(const GridRows& x, Index left, Index right, std::int32_t* TB_RESTRICT cell, Index step) {
    const std::int32_t *a = x.codes + left * x.n, *b = x.codes + right * x.n;
    const auto n_right = static_cast<std::int32_t>(x.levels[right]), none = static_cast<std::int32_t>(step - 1);
    TB_SIMD()
    for (Index i = 0; i < x.n; ++i) cell[i] = (a[i] | b[i]) < 0 ? none : a[i] * n_right + b[i];
}

TB_INLINE void count_pair(const GridRows& x, const PairScratch& s, Index step) {
    const std::int32_t* cell = s.cell;
    const Index apart = step <= kNarrow ? step : 0, histograms = apart ? kHistograms : 1;
    for (Index k = 0; k < x.n_classes; ++k) {
        double *h = s.histogram, *to = s.both + k * step;
        for (Index c = 0; c < histograms * step; ++c) h[c] = 0.0;
        Index i = x.start[k];
        for (; i + kHistograms <= x.start[k + 1]; i += kHistograms)
            for (Index l = 0; l < kHistograms; ++l) h[l * apart + cell[i + l]] += x.weight[i + l];
        for (; i < x.start[k + 1]; ++i) h[cell[i]] += x.weight[i];
        double total = 0.0;
        for (Index c = 0; c < step; ++c) {
            to[c] = h[c];
            for (Index l = 1; l < histograms; ++l) to[c] += h[l * step + c];
            total += c < step - 1 ? to[c] : 0.0;
        }
        s.total[k] = total;
    }
}

// said (n, 4): the weight of each row and, where it is compared, the posterior p of the class that is not its own, and
// p·(1 − p). With two classes and one weight, slopes need no more of the rows of a cell than the sums of these.
TB_INLINE void said_of(const GridRows& x, double* said) {
    for (Index k = 0; k < 2; ++k)
        for (Index i = x.start[k]; i < x.start[k + 1]; ++i) {
            const Index place = i - x.start[k];
            const double p = place < x.n_compared(k) ? x.posterior[(1 - k) * x.compared[2] + x.compared[k] + place] : 0.0;
            const double row[4] = {x.weight[i], p, p - p * p, 0.0};
            for (Index j = 0; j < 4; ++j) said[4 * i + j] = row[j];
        }
}

// The same counts, and the sums of what is said.
TB_INLINE void count_said(const GridRows& x, const PairScratch& s, Index step) {
    using Row = Lanes<4, double>;
    const Index apart = step <= kNarrow ? 4 * step : 0, histograms = apart ? kHistograms : 1;
    for (Index k = 0; k < 2; ++k) {
        double* h = s.histogram;
        for (Index c = 0; c < histograms * 4 * step; ++c) h[c] = 0.0;
        const auto add = [&](Index i, Index l) {
            *reinterpret_cast<Row*>(h + l * apart + 4 * s.cell[i]) += *reinterpret_cast<const Row*>(s.said + 4 * i);
        };
        Index i = x.start[k];
        for (; i + kHistograms <= x.start[k + 1]; i += kHistograms)
            for (Index l = 0; l < kHistograms; ++l) add(i + l, l);
        for (; i < x.start[k + 1]; ++i) add(i, 0);
        double total = 0.0;
        for (Index c = 0; c < step; ++c) {
            double sum[3] = {h[4 * c], h[4 * c + 1], h[4 * c + 2]};
            for (Index l = 1; l < histograms; ++l)
                for (Index j = 0; j < 3; ++j) sum[j] += h[l * apart + 4 * c + j];
            s.both[k * step + c] = sum[0];
            s.moments[2 * (k * step + c)] = sum[1], s.moments[2 * (k * step + c) + 1] = sum[2];
            total += c < step - 1 ? sum[0] : 0.0;
        }
        s.total[k] = total;
    }
}

// As `add_class`, from these sums.
TB_INLINE void add_said(const GridRows& x, Index y, Index step, const PairScratch& s, double* sums) {
    const double *own = s.own + y * step, *other = s.table + (1 - y) * step, *moments = s.moments + 2 * y * step;
    double slope = 0.0, curvature = 0.0;
    for (Index c = 0; c < step; ++c) {
        const double beyond = other[c] - own[c];
        slope += beyond * moments[2 * c], curvature += beyond * beyond * moments[2 * c + 1];
    }
    sums[0] -= x.same_weight * slope, sums[1] += x.same_weight * curvature;
}

// The lift of every cell (cells,) of a class from which a row of that weight was taken; the last, for missing values, is 0.
TB_INLINE void lifts(const double* ratio, double total, double strength, Index step, double* TB_RESTRICT out) {
    const double mass = log_of(total + strength);
    TB_SIMD()
    for (Index c = 0; c < step - 1; ++c) out[c] = log_of(ratio[c] + strength) - mass;
    out[step - 1] = 0.0;
}

// What the other classes' evidence is beyond the own, of the compared rows of class y: sums[0] −= w·E, sums[1] += w·Var
// over the posterior.
TB_INLINE void add_class(const GridRows& x, Index y, Index left, Index right, const Joint& joint, double strength, const PairScratch& s,
                         double* sums) {
    double own[kRowsTogether], mean[kRowsTogether], square[kRowsTogether];
    const Index m = x.compared[x.n_classes];
    for (Index first = 0; first < x.n_compared(y); first += kRowsTogether) {
        const Index rows = x.n_compared(y) - first < kRowsTogether ? x.n_compared(y) - first : kRowsTogether, at = x.start[y] + first;
        const std::int32_t* TB_RESTRICT cell = s.cell + at;
        const double *weight = x.weight + at, *table = s.own + y * joint.step;
        for (Index r = 0; r < rows; ++r) mean[r] = square[r] = 0.0;
        if (x.same_weight >= 0.0)
            for (Index r = 0; r < rows; ++r) own[r] = table[cell[r]];
        else
            for (Index r = 0; r < rows; ++r) {
                const std::int32_t a = x.codes[left * x.n + at + r], b = x.codes[right * x.n + at + r];
                own[r] = (a | b) < 0 ? 0.0 : joint.lift(y, a, b, weight[r], strength);
            }
        for (Index k = 0; k < x.n_classes; ++k) {
            if (k == y) continue;
            const double *TB_RESTRICT p = x.posterior + k * m + x.compared[y] + first, *TB_RESTRICT other = s.table + k * joint.step;
            TB_SIMD()
            for (Index r = 0; r < rows; ++r) {
                const double beyond = other[cell[r]] - own[r], share = p[r] * beyond;
                mean[r] += share;
                square[r] += share * beyond;
            }
        }
        double slope = 0.0, curvature = 0.0;
        TB_SIMD(reduction(+ : slope, curvature))
        for (Index r = 0; r < rows; ++r) {
            slope += weight[r] * mean[r];
            curvature += weight[r] * (square[r] - mean[r] * mean[r]);
        }
        sums[0] -= slope, sums[1] += curvature;
    }
}

// out (strengths, 2) = the slope and the curvature of the log likelihood of the compared rows in the weight of a pair, at
// zero: Σ w·(e_y − Σ_k p_k·e_k) and Σ w·Var e, the evidence e of a row's own class without the row.
TB_INLINE void pair_slopes(const GridRows& x, Index left, Index right, const double* strength, Index n_strengths, const PairScratch& s,
                           double* out) {
    const Index n_left = x.levels[left], n_right = x.levels[right], step = n_left * n_right + 1;
    find_cells(x, left, right, s.cell, step);
    if (s.said) count_said(x, s, step);
    else count_pair(x, s, step);
    sum_margins(s.both, step, x.n_classes, n_left, n_right, s.margins);
    const Joint joint{s.both, step, s.margins, s.total, 1, n_left, n_right};
    const bool same = x.same_weight >= 0.0;
    for (Index k = 0; k < x.n_classes; ++k)
        for (Index a = 0; a < n_left; ++a)
            for (Index b = 0; b < n_right; ++b) {
                const Index c = k * step + a * n_right + b;
                s.ratio[c] = joint.ratio(k, a, b, 0.0);
                if (same) s.own_ratio[c] = joint.ratio(k, a, b, x.same_weight);
            }
    for (Index t = 0; t < n_strengths; ++t) {
        double* sums = out + 2 * t;
        sums[0] = sums[1] = 0.0;
        for (Index k = 0; k < x.n_classes; ++k) {
            lifts(s.ratio + k * step, s.total[k], strength[t], step, s.table + k * step);
            if (same) lifts(s.own_ratio + k * step, left_of(s.total[k], x.same_weight), strength[t], step, s.own + k * step);
        }
        for (Index y = 0; y < x.n_classes; ++y) {
            if (s.said) add_said(x, y, step, s, sums);
            else add_class(x, y, left, right, joint, strength[t], s, sums);
        }
    }
}

}  // namespace tb
