// Counting codes, words and events per class, and scoring by table and by linear weights.
#pragma once

#include <type_traits>

#include "logs.hpp"

namespace tb {

// ---------------------------------------------------------------------------------------------- category codes

// Smallest and largest code of each column.
template <class T>
TB_INLINE void code_range(const Matrix<T>& x, T* low, T* high) {
    for (Index j = 0; j < x.d; ++j) low[j] = high[j] = x.at(0, j);
    if (x.row_stride == 1) {
        for (Index j = 0; j < x.d; ++j) {
            const T* column = x.data + j * x.col_stride;
            T a = low[j], b = high[j];
            for (Index i = 0; i < x.n; ++i) {
                a = column[i] < a ? column[i] : a;
                b = column[i] > b ? column[i] : b;
            }
            low[j] = a, high[j] = b;
        }
        return;
    }
    for (Index i = 0; i < x.n; ++i) {
        const T* row = x.data + i * x.row_stride;
        for (Index j = 0; j < x.d; ++j) {
            const T value = row[j * x.col_stride];
            low[j] = value < low[j] ? value : low[j];
            high[j] = value > high[j] ? value : high[j];
        }
    }
}

// count[cell][class] += w. start[j] is the first cell of column j; code -1 is a missing value, any other code outside the
// column's levels stops the kernel before anything is written out of bounds.
template <class T, class L>
TB_INLINE Index code_counts(const Matrix<T>& x, const L& labels, Index n_classes, const std::int64_t* start,
                            double* count) {
    for (Index i = 0; i < x.n; ++i) {
        const T* row = x.data + i * x.row_stride;
        for (Index j = 0; j < x.d; ++j) {
            const std::int64_t code = static_cast<std::int64_t>(row[j * x.col_stride]);
            const std::int64_t levels = start[j + 1] - start[j];
            if (static_cast<std::uint64_t>(code) >= static_cast<std::uint64_t>(levels)) {
                if (code == -1) continue;
                return i * x.d + j;
            }
            double* cell = count + (start[j] + code) * n_classes;
            labels.each(i, [&](Index k, double w) { cell[k] += w; });
        }
    }
    return kNone;
}

// out[row][class] += table[cell][class]. Each column has one cell more than levels: the last holds what an unseen
// code is worth. Code -1 is a missing value and adds nothing.
template <class T>
TB_INLINE void table_scores(const Matrix<T>& x, Index n_classes, const std::int64_t* start, const double* table,
                            double* out) {
    for (Index i = 0; i < x.n; ++i) {
        const T* row = x.data + i * x.row_stride;
        double* score = out + i * n_classes;
        for (Index j = 0; j < x.d; ++j) {
            std::int64_t code = static_cast<std::int64_t>(row[j * x.col_stride]);
            const std::int64_t unseen = start[j + 1] - start[j] - 1;
            if (static_cast<std::uint64_t>(code) >= static_cast<std::uint64_t>(unseen)) {
                if (code == -1) continue;
                code = unseen;
            }
            const double* cell = table + (start[j] + code) * n_classes;
            for (Index k = 0; k < n_classes; ++k) score[k] += cell[k];
        }
    }
}

constexpr Index kSearched = 8;  // rows searched side by side: one search alone waits for each of its steps

// The same for numbers of some columns: the cell is how many of the column's edges, which rise, are at or below the
// number. Each column has one cell more than edges, and a last one for missing numbers.
template <class T>
TB_INLINE void bin_scores(const Matrix<T>& x, const std::int64_t* column, Index n_columns, Index n_classes,
                          const std::int64_t* start, const double* edges, const double* table, double* out) {
    double value[kSearched];
    std::int64_t code[kSearched];
    for (Index first = 0; first < x.n; first += kSearched) {
        const Index n = x.n - first < kSearched ? x.n - first : kSearched;
        for (Index j = 0; j < n_columns; ++j) {
            const double* TB_RESTRICT edge = edges + start[j] - 2 * j;
            const std::int64_t n_edges = start[j + 1] - start[j] - 2;
            for (Index l = 0; l < kSearched; ++l) {
                value[l] = l < n ? static_cast<double>(x.at(first + l, column[j])) : 0.0;
                code[l] = 0;
            }
            for (std::int64_t left = n_edges; left > 0;) {
                const std::int64_t half = (left + 1) / 2;
                for (Index l = 0; l < kSearched; ++l) code[l] += edge[code[l] + half - 1] <= value[l] ? half : 0;
                left -= half;
            }
            for (Index l = 0; l < n; ++l) {
                const std::int64_t cell = start[j] + (value[l] == value[l] ? code[l] : n_edges + 1);
                double* score = out + (first + l) * n_classes;
                for (Index k = 0; k < n_classes; ++k) score[k] += table[cell * n_classes + k];
            }
        }
    }
}

// ---------------------------------------------------------------------------------------------- dense events

// count[class][column] += w f(x), weight[class][column] += w over the cells that are not NaN, where f is the value
// itself or, with a threshold, whether it lies above. Infinite values, negative counts and, unless they are welcome,
// missing values stop the kernel.
template <class T, class L, bool binary>
TB_INLINE Index dense_sums(const Matrix<T>& x, const L& labels, double threshold, bool holes, double* count,
                           double* weight) {
    const Index d = x.d;
    for (Index i = 0; i < x.n; ++i) {
        const T* row = x.data + i * x.row_stride;
        bool fine = true;
        for (Index j = 0; j < d; ++j) {
            const double value = static_cast<double>(row[j * x.col_stride]);
            fine &= binary ? value - value == 0.0 : value >= 0.0 && value - value == 0.0;
        }
        if (!fine)
            for (Index j = 0; j < d; ++j) {
                const double value = static_cast<double>(row[j * x.col_stride]);
                if (std::isinf(value) || (!binary && value < 0.0) || (!holes && value != value)) return i * d + j;
            }
        labels.each(i, [&](Index k, double w) {
            double *c = count + k * d, *o = weight + k * d;
            for (Index j = 0; j < d; ++j) {
                const double value = static_cast<double>(row[j * x.col_stride]);
                const double event = binary ? (value > threshold ? 1.0 : 0.0) : value;
                const bool seen = value == value;
                c[j] += seen ? w * event : 0.0;
                o[j] += seen ? w : 0.0;
            }
        });
    }
    return kNone;
}

// ---------------------------------------------------------------------------------------------- sparse events

template <class T, class I>
struct Csr {
    const T* data;
    const I* column;
    const I* start;
    Index n, d, stored;
    // What a table has for the columns of a row is far apart in memory: ask for it before it is needed. The column
    // may be wrong, which is found out when its turn comes: its address is computed and not read.
    TB_INLINE void ask_for(Index p, const double* table, Index stride, Index cells) const {
        const auto bytes = static_cast<std::uintptr_t>(stride) * sizeof(double);
        const auto next = reinterpret_cast<std::uintptr_t>(table) + static_cast<std::uintptr_t>(column[p]) * bytes;
        for (std::uintptr_t b = 0; b < static_cast<std::uintptr_t>(cells) * sizeof(double); b += 64) TB_PREFETCH(next + b);
    }
    template <Index ahead = 8>
    TB_INLINE void ask_ahead(Index p, const double* table, Index stride, Index cells) const {
        if (p + ahead < stored) ask_for(p + ahead, table, stride, cells);
    }
};

// What a stored value counts for: itself, or with a threshold 1 above it and 0 otherwise.
template <bool binary>
TB_INLINE double event(double value, double threshold) {
    return binary ? (value > threshold ? 1.0 : 0.0) : value;
}

// Answers the position in data of the first entry that is negative, not finite or outside the columns.
template <class T, class I, bool binary>
TB_INLINE bool fine(const Csr<T, I>& x, Index p) {
    const double value = static_cast<double>(x.data[p]);
    const bool number = binary ? value - value == 0.0 : value >= 0.0 && value - value == 0.0;
    return number && static_cast<std::uint64_t>(x.column[p]) < static_cast<std::uint64_t>(x.d);
}

// The first entry of a row that cannot be used; all are looked at side by side.
template <class T, class I, bool binary>
TB_INLINE Index first_bad(const Csr<T, I>& x, Index first, Index last) {
    using Column = std::make_unsigned_t<I>;
    Column highest = 0;
    for (Index p = first; p < last; ++p) {
        const auto column = static_cast<Column>(x.column[p]);
        highest = column > highest ? column : highest;
    }
    T off = 0;  // stays zero while all are finite, and at or above zero where that is asked for
    TB_SIMD(reduction(+ : off))
    for (Index p = first; p < last; ++p) {
        const T value = x.data[p], none = value - value;
        off += binary || value >= 0 ? none : T{1};
    }
    if (!(off == 0) || (last > first && highest >= static_cast<Column>(x.d)))
        for (Index p = first; p < last; ++p)
            if (!fine<T, I, binary>(x, p)) return p;
    return kNone;
}

constexpr Index kChecked = 8192;  // entries that are checked at a time: they are still near when they are counted
constexpr Index kAskedAhead = 200;  // entries whose cells are on their way

// count[column][class] += w f(x) over the stored entries. The cells are far apart in memory: those of the next rows come
// while this row is counted.
template <class T, class I, bool binary>
TB_INLINE Index csr_sums(const Csr<T, I>& x, const Hard& labels, Index n_classes, double threshold, double* count) {
    const Index end = static_cast<Index>(x.start[x.n]);
    Index checked = static_cast<Index>(x.start[0]), asked = 0;
    for (Index i = 0; i < x.n; ++i) {
        const Index first = static_cast<Index>(x.start[i]), last = static_cast<Index>(x.start[i + 1]);
        while (checked < last) {
            const Index next = end - checked < kChecked ? end : checked + kChecked, bad = first_bad<T, I, binary>(x, checked, next);
            if (bad != kNone) return bad;
            checked = next;
        }
        for (; asked < x.n && static_cast<Index>(x.start[asked]) < last + kAskedAhead; ++asked)
            for (Index p = static_cast<Index>(x.start[asked]); p < static_cast<Index>(x.start[asked + 1]); ++p)
                x.ask_for(p, count + labels.codes[asked], n_classes, 1);
        const double w = labels.weight[i];
        double* TB_RESTRICT own = count + labels.codes[i];
        for (Index p = first; p < last; ++p)
            own[static_cast<Index>(x.column[p]) * n_classes] += w * event<binary>(static_cast<double>(x.data[p]), threshold);
    }
    return kNone;
}

// The same for soft labels: all classes of an entry side by side, without a look at which of them are zero.
template <class T, class I, bool binary>
TB_INLINE Index csr_shares(const Csr<T, I>& x, const double* weight, Index n_classes, double threshold, double* count) {
    constexpr Index ahead = 8;  // the cells are far apart in memory: ask for them before they are needed
    for (Index i = 0; i < x.n; ++i) {
        const Index last = static_cast<Index>(x.start[i + 1]);
        const double* TB_RESTRICT w = weight + i * n_classes;
        for (Index p = static_cast<Index>(x.start[i]); p < last; ++p) {
            if (p + ahead < x.stored) {
                const auto bytes = static_cast<std::uintptr_t>(n_classes) * sizeof(double);
                const auto next = reinterpret_cast<std::uintptr_t>(count) + static_cast<std::uintptr_t>(x.column[p + ahead]) * bytes;
                for (std::uintptr_t b = 0; b < bytes; b += 64) TB_PREFETCH(next + b);
            }
            if (!fine<T, I, binary>(x, p)) return p;
            const double amount = event<binary>(static_cast<double>(x.data[p]), threshold);
            double* TB_RESTRICT cell = count + static_cast<Index>(x.column[p]) * n_classes;
            for (Index k = 0; k < n_classes; ++k) cell[k] += w[k] * amount;
        }
    }
    return kNone;
}

// out[row][class] += sum over the stored entries of a row of f(x) slope[column][class], for W classes, whose sums stay in
// registers. A zero adds nothing whatever its slope.
template <class T, class I, bool binary, Index W>
TB_INLINE Index add_slopes(const Csr<T, I> x, Index n_classes, double threshold, const double* slope, double* out) {
    constexpr Index lanes = W < 4 ? W : 4, n = W / lanes;  // half a cache line, which those of an aligned table do not cross
    using Some = Lanes<lanes, double>;
    for (Index i = 0; i < x.n; ++i) {
        const Index first = static_cast<Index>(x.start[i]), last = static_cast<Index>(x.start[i + 1]);
        const Index bad = first_bad<T, I, binary>(x, first, last);
        if (bad != kNone) return bad;
        Some* TB_RESTRICT score = reinterpret_cast<Some*>(out + i * n_classes);
        Some sum[n];
        for (Index v = 0; v < n; ++v) sum[v] = score[v];
        for (Index p = first; p < last; ++p) {
            x.template ask_ahead<32>(p, slope, n_classes, W);
            const double amount = event<binary>(static_cast<double>(x.data[p]), threshold);
            if (amount == 0.0) continue;
            const Some* TB_RESTRICT w = reinterpret_cast<const Some*>(slope + static_cast<Index>(x.column[p]) * n_classes);
            for (Index v = 0; v < n; ++v) sum[v] += amount * w[v];
        }
        for (Index v = 0; v < n; ++v) score[v] = sum[v];
    }
    return kNone;
}

// The same for the classes from k on, at most W of them; k becomes the first that is left.
template <class T, class I, bool binary, Index W>
TB_INLINE Index add_next(const Csr<T, I>& x, Index n_classes, double threshold, const double* slope, double* out, Index& k) {
    if (n_classes - k < W) {
        if constexpr (W > 1) return add_next<T, I, binary, (W > 4 ? W - 4 : W / 2)>(x, n_classes, threshold, slope, out, k);
        return kNone;
    }
    const Index bad = add_slopes<T, I, binary, W>(x, n_classes, threshold, slope + k, out + k);
    k += W;
    return bad;
}

// The same for all classes.
template <class T, class I, bool binary>
TB_INLINE Index csr_scores(const Csr<T, I>& x, Index n_classes, double threshold, const double* slope, double* out) {
    Index bad = kNone;
    for (Index k = 0; k < n_classes && bad == kNone;) bad = add_next<T, I, binary, 24>(x, n_classes, threshold, slope, out, k);
    return bad;
}

// ---------------------------------------------------------------------------------------------- posteriors

// The largest log likelihood of a row among the classes that the prior allows. Taken off before the prior is added:
// beside a very small likelihood, equal for all classes, the prior would vanish.
TB_INLINE double largest_allowed(const double* evidence, const double* log_prior, Index n_classes) {
    double top = kImpossible;
    for (Index k = 0; k < n_classes; ++k)
        if (log_prior[k] > kImpossible && evidence[k] > top) top = evidence[k];
    return top;
}

// Index of the likeliest class of each row. A row that every class forbids (all -inf) takes the fallback's; answers
// how many such rows there are.
TB_INLINE Index best_class(const double* evidence, Index n, Index n_classes, const double* log_prior,
                           const double* fallback, std::int64_t* best) {
    Index forbidden = 0;
    for (Index i = 0; i < n; ++i) {
        const double* row = evidence + i * n_classes;
        const double shift = largest_allowed(row, log_prior, n_classes);
        const bool allowed = shift > kImpossible;
        forbidden += !allowed;
        Index top = 0;
        double most = kImpossible;
        for (Index k = 0; k < n_classes; ++k) {
            const double score = allowed ? (row[k] - shift) + log_prior[k] : fallback[k];
            if (score > most) most = score, top = k;
        }
        best[i] = top;
    }
    return forbidden;
}

// Turns the log likelihoods of one row into posteriors (or their logs) in place, subtracting the largest before
// exponentiating. Answers false, with the row as it was, where every class forbids it.
TB_INLINE bool normalise_row(double* score, Index n_classes, const double* log_prior, bool logs) {
    const double shift = largest_allowed(score, log_prior, n_classes);
    if (!(shift > kImpossible)) return false;
    double top = kImpossible, sum = 0.0;
    for (Index k = 0; k < n_classes; ++k) {
        score[k] = (score[k] - shift) + log_prior[k];
        top = score[k] > top ? score[k] : top;
    }
    if (logs) {
        for (Index k = 0; k < n_classes; ++k) sum += std::exp(score[k] - top);
        const double log_sum = std::log(sum);  // apart from top, beside which it may vanish
        for (Index k = 0; k < n_classes; ++k) score[k] = (score[k] - top) - log_sum;
    } else {
        for (Index k = 0; k < n_classes; ++k) sum += score[k] = std::exp(score[k] - top);
        for (Index k = 0; k < n_classes; ++k) score[k] /= sum;
    }
    return true;
}

// Turns log likelihoods into posteriors (or their logs) in place.
TB_INLINE Index normalise(double* evidence, Index n, Index n_classes, const double* log_prior, const double* fallback,
                          bool logs) {
    Index forbidden = 0;
    for (Index i = 0; i < n; ++i) {
        double* score = evidence + i * n_classes;
        if (normalise_row(score, n_classes, log_prior, logs)) continue;
        ++forbidden;
        for (Index k = 0; k < n_classes; ++k) score[k] = logs ? fallback[k] : std::exp(fallback[k]);
    }
    return forbidden;
}

// Turns log likelihoods into log posteriors in place, where the prior of a row's own class is another in every row.
// Without a row that was all there is, no class has a prior: they are then alike. A row that every class forbids gets
// the prior. Scratch holds two priors.
TB_INLINE Index normalise_without(double* evidence, Index n, Index n_classes, const double* log_prior,
                                  const std::int32_t* codes, const double* own_log_prior, double* scratch) {
    double *row_prior = scratch, *even = scratch + n_classes;
    Index forbidden = 0, possible = 0;
    for (Index k = 0; k < n_classes; ++k) row_prior[k] = log_prior[k], even[k] = 0.0, possible += log_prior[k] > kImpossible;
    for (Index i = 0; i < n; ++i) {
        double *score = evidence + i * n_classes, &own = row_prior[codes[i]];
        const bool others = possible > (own > kImpossible ? 1 : 0);
        own = own_log_prior[i];
        const double* prior = others || own > kImpossible ? row_prior : even;
        if (!normalise_row(score, n_classes, prior, true)) {
            ++forbidden;
            for (Index k = 0; k < n_classes; ++k) score[k] = 0.0;
            normalise_row(score, n_classes, prior, true);
        }
        own = log_prior[codes[i]];
    }
    return forbidden;
}

// The E-step: turns log joints into shares of each row's weight in place, and adds up w log sum exp. A row with the
// code k shares among the components of class k only (group[c] == k), a row with the code -1 among all. A row that
// they all forbid is shared as the fallback says and makes the sum -inf.
TB_INLINE double responsibilities(double* joint, Index n, Index n_components, const double* fallback,
                                  const std::int32_t* group, const std::int32_t* codes, const double* weight) {
    double total = 0.0;
    for (Index i = 0; i < n; ++i) {
        double* score = joint + i * n_components;
        const std::int32_t code = codes[i];
        double top = kImpossible, sum = 0.0;
        for (Index c = 0; c < n_components; ++c) {
            if (code >= 0 && group[c] != code) score[c] = kImpossible;
            top = score[c] > top ? score[c] : top;
        }
        const bool allowed = top > kImpossible;
        if (!allowed)
            for (Index c = 0; c < n_components; ++c)
                if (code < 0 || group[c] == code) score[c] = fallback[c], top = fallback[c] > top ? fallback[c] : top;
        if (!(top > kImpossible) || !(weight[i] > 0.0)) {
            for (Index c = 0; c < n_components; ++c) score[c] = 0.0;
        } else {
            for (Index c = 0; c < n_components; ++c) sum += score[c] = std::exp(score[c] - top);
            for (Index c = 0; c < n_components; ++c) score[c] *= weight[i] / sum;
        }
        if (weight[i] > 0.0) total += allowed ? weight[i] * (top + std::log(sum)) : kImpossible;
    }
    return total;
}

}  // namespace tb
