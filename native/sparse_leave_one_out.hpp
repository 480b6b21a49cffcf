// Scores of sparse training rows as if that row had not been counted, in closed form. Every row must have its entries
// in the order of the columns, one a column. The kernels answer the number of a row that holds more than its class does
// (it was never learned), minus two less the position of an entry that cannot be used, or kNone.
#pragma once

#include "counts.hpp"

namespace tb {

constexpr Index kEntries = 64;  // entries whose logarithms are taken at a time

struct WordCounts {
    Matrix<double> count;  // (V, K) weighted words of each class
    const double* alpha;   // pseudocount of every word
    Index alpha_step;      // 0 when all words have the same
    TB_INLINE double pseudocount(Index word) const { return alpha[word * alpha_step]; }
};

// Whether each row has its entries in the order of the columns, one a column.
template <class T, class I>
TB_INLINE bool csr_in_order(const Csr<T, I>& x) {
    for (Index i = 0; i < x.n; ++i) {
        bool falls = false;
        for (Index p = static_cast<Index>(x.start[i]) + 1; p < static_cast<Index>(x.start[i + 1]); ++p)
            falls |= x.column[p] <= x.column[p - 1];
        if (falls) return false;
    }
    return true;
}

TB_INLINE bool too_much(double have, double taken) { return have - taken < -1e-9 * have; }

// words[row] = Σ x log(own class's smoothed count without the row), length[row] = Σ x.
template <class T, class I>
TB_INLINE Index csr_words_without(const Csr<T, I>& x, const Hard& labels, const WordCounts& t, double* words,
                                  double* length) {
    double amount[kEntries], left[kEntries];
    for (Index i = 0; i < x.n; ++i) {
        const Index y = labels.codes[i], last = static_cast<Index>(x.start[i + 1]);
        const double w = labels.weight[i];
        double sum = 0.0, all = 0.0;
        for (Index p = static_cast<Index>(x.start[i]); p < last;) {
            Index filled = 0;
            for (; p < last && filled < kEntries; ++p) {
                x.ask_ahead(p, &t.count.at(0, y), t.count.row_stride, 1);
                if (!fine<T, I, false>(x, p)) return -2 - p;
                const Index word = static_cast<Index>(x.column[p]);
                const double value = static_cast<double>(x.data[p]), have = t.count.at(word, y);
                if (too_much(have, w * value)) return i;
                amount[filled] = value;
                left[filled] = left_of(have, w * value) + t.pseudocount(word);
                filled += value > 0.0;  // a stored zero says nothing, even of a word that cannot be
            }
            for (Index e = 0; e < filled; ++e) left[e] = log_of(left[e]);
            for (Index e = 0; e < filled; ++e) sum += amount[e] * left[e], all += amount[e];
        }
        words[i] = sum, length[i] = all;
    }
    return kNone;
}

// ---------------------------------------------------------------------------------------------- yes and no

struct YesCounts {
    Matrix<double> yes;     // (V, K) weight of yes
    Matrix<double> weight;  // (V, K) weight of all; its row stride is 0 when all columns have the same
    const double* alpha;
    Index alpha_step;
    TB_INLINE double pseudocount(Index column) const { return alpha[column * alpha_step]; }
};

// Smoothed weight of no when a row that said no is left out.
TB_INLINE double smoothed_no(double yes, double rest, double alpha) {
    const double no = rest - (yes < rest ? yes : rest);
    return (no > 1e-12 * rest ? no : 0.0) + alpha;
}

// A column's smoothed weight of no, zero or not, and of both, when a row of weight w that said no is left out.
struct NoShare {
    double no, mass;
};

TB_INLINE NoShare no_without(const YesCounts& t, Index column, Index k, double w) {
    const double a = t.pseudocount(column), rest = left_of(t.weight.at(column, k), w), mass = rest + 2.0 * a;
    const double no = smoothed_no(t.yes.at(column, k), rest, a);
    return {mass > 0.0 ? no : 1.0, mass > 0.0 ? mass : 2.0};  // neither a row nor smoothing: one half
}

// own[class] = Σ log P(no) over all columns when a row of weight w that said no is left out. True zeros are not in the
// sum; zeros[class] says how many there are.
TB_INLINE void all_no_without(const YesCounts& t, double w, double* scratch, double* own, double* zeros) {
    const Index n_classes = t.yes.d;
    double *no = scratch, *mass = no + n_classes, *exponent = mass + n_classes, *mass_exponent = exponent + n_classes;
    for (Index k = 0; k < n_classes; ++k) no[k] = mass[k] = 1.0, exponent[k] = mass_exponent[k] = zeros[k] = 0.0;
    for (Index c = 0; c < t.yes.n; ++c)
        for (Index k = 0; k < n_classes; ++k) {
            const NoShare share = no_without(t, c, k, w);
            const bool some = share.no > 0.0;
            zeros[k] += some ? 0.0 : 1.0;
            multiply_up(some ? share.no : 1.0, no[k], exponent[k]);
            multiply_up(some ? share.mass : 1.0, mass[k], mass_exponent[k]);
        }
    for (Index k = 0; k < n_classes; ++k)
        own[k] = log_of_product(no[k], exponent[k]) - log_of_product(mass[k], mass_exponent[k]);
}

// The same as a function of w, for rows that all weigh differently: Σ_p coefficient[p][class] w^p. It is exact but for
// rounding up to the weight `most` over the columns where that is a small part of what said no; near[column][class]
// marks the others.
constexpr Index kTerms = 9;

TB_INLINE void all_no_series(const YesCounts& t, double most, double* scratch, double* coefficient, std::uint8_t* near) {
    const Index n_classes = t.yes.d;
    double *no = scratch, *mass = no + n_classes, *exponent = mass + n_classes, *mass_exponent = exponent + n_classes;
    for (Index k = 0; k < n_classes; ++k) no[k] = mass[k] = 1.0, exponent[k] = mass_exponent[k] = 0.0;
    for (Index c = 0; c < kTerms * n_classes; ++c) coefficient[c] = 0.0;
    for (Index c = 0; c < t.yes.n; ++c)
        for (Index k = 0; k < n_classes; ++k) {
            const double a = t.pseudocount(c), all = t.weight.at(c, k), said_no = all - t.yes.at(c, k);
            near[c * n_classes + k] = !(said_no > 0.0 && said_no >= 64.0 * most);
            if (near[c * n_classes + k]) continue;
            multiply_up(said_no + a, no[k], exponent[k]);
            multiply_up(all + 2.0 * a, mass[k], mass_exponent[k]);
            // log(v - w) = log v - Σ (w/v)^p / p
            const double by_no = 1.0 / (said_no + a), by_mass = 1.0 / (all + 2.0 * a);
            double no_power = 1.0, mass_power = 1.0;
            for (Index p = 1; p < kTerms; ++p) {
                no_power *= by_no, mass_power *= by_mass;
                coefficient[p * n_classes + k] += (mass_power - no_power) / static_cast<double>(p);
            }
        }
    for (Index k = 0; k < n_classes; ++k)
        coefficient[k] = log_of_product(no[k], exponent[k]) - log_of_product(mass[k], mass_exponent[k]);
}

struct NoSeries {
    const double* coefficient;           // (kTerms, K)
    const std::int64_t *start, *column;  // (K + 1,) the first near column of each class, and the columns
};

// own[row] and zeros[row] as of `all_no_without`, from the series and the columns near to running out.
TB_INLINE void all_no_of_rows(const Hard& labels, Index n, const YesCounts& t, const NoSeries& s, double* own, double* zeros) {
    for (Index i = 0; i < n; ++i) {
        const Index y = labels.codes[i];
        const double w = labels.weight[i];
        double sum = 0.0, odds = 1.0, exponent = 0.0;
        for (Index p = kTerms - 1; p >= 0; --p) sum = sum * w + s.coefficient[p * t.yes.d + y];
        zeros[i] = 0.0;
        for (std::int64_t q = s.start[y]; q < s.start[y + 1]; ++q) {
            const NoShare share = no_without(t, static_cast<Index>(s.column[q]), y, w);
            zeros[i] += share.no > 0.0 ? 0.0 : 1.0;
            multiply_up(share.no > 0.0 ? share.no / share.mass : 1.0, odds, exponent);
        }
        own[i] = sum + log_of_product(odds, exponent);
    }
}

// own[row] += Σ log P(yes) - log P(no) over the entries that say yes, in the row's own class without the row;
// zeros[row] += true zeros among the P(yes), less those among the P(no).
template <class T, class I, bool binary>
TB_INLINE Index csr_yes_without(const Csr<T, I>& x, const Hard& labels, const YesCounts& t, double threshold, double* own,
                                double* zeros) {
    for (Index i = 0; i < x.n; ++i) {
        const Index y = labels.codes[i], last = static_cast<Index>(x.start[i + 1]);
        const double w = labels.weight[i];
        double odds = 1.0, exponent = 0.0;
        for (Index p = static_cast<Index>(x.start[i]); p < last; ++p) {
            x.ask_ahead(p, &t.yes.at(0, y), t.yes.row_stride, 1);
            if (!fine<T, I, binary>(x, p)) return -2 - p;
            if (!(event<binary>(static_cast<double>(x.data[p]), threshold) > 0.5)) continue;
            const Index c = static_cast<Index>(x.column[p]);
            const double have = t.yes.at(c, y), all = t.weight.at(c, y), a = t.pseudocount(c);
            if (too_much(have, w) || too_much(all, w)) return i;
            const double rest = left_of(all, w), mass = rest + 2.0 * a;
            if (!(mass > 0.0)) continue;  // neither a row nor smoothing: one half each
            const double yes = left_of(have, w) + a, no = smoothed_no(have, rest, a);
            zeros[i] += (yes > 0.0 ? 0.0 : 1.0) - (no > 0.0 ? 0.0 : 1.0);
            multiply_up((yes > 0.0 ? yes : 1.0) / (no > 0.0 ? no : mass), odds, exponent);
        }
        own[i] += log_of_product(odds, exponent);
    }
    return kNone;
}

// ---------------------------------------------------------------------------------------------- words of the others

struct RivalCounts {
    WordCounts words;           // with the classes of a word side by side
    const double* word_total;   // (V,) Σ count over the classes
    const double* other_total;  // (K,) words of all classes but the one
    double alpha_total;         // Σ alpha
    double heaviest;            // weight of a word that no other class has
    const double* logs;         // (K,) Σ log of the other classes' smoothed counts that are not zero,
    const double* zeros;        // (K,) and how many are zero: only for weights that are divided by their sum
};

struct RivalScratch {  // (K,) each
    double *left;                  // smoothed count of an entry's word among the others, one where it is zero
    double *mantissa, *exponent;   // product of the counts, each as often as its word occurs,
    double *logs;                  // what is not in the product, for words that do not occur a few whole times,
    double *zeros;                 // and the occurrences of words that the others lack
    double *change, *fewer;        // Σ log and zeros of the row's words, less the same with the row in
};

// The smoothed counts of one word among the others without the row, which all classes but its own have there.
// Answers whether the row can have been learned.
template <bool norm>
TB_INLINE bool rivals_of_word(const RivalCounts& t, Index word, Index y, double w, double amount, const RivalScratch& s) {
    const double* TB_RESTRICT count = &t.words.count.at(word, 0);
    double *TB_RESTRICT left = s.left, *TB_RESTRICT zeros = s.zeros, *TB_RESTRICT change = s.change, *TB_RESTRICT fewer = s.fewer;
    const double total = t.word_total[word], a = t.words.pseudocount(word), row = w * amount;
    std::int64_t excess = 0;
    for (Index k = 0; k < t.words.count.d; ++k) {
        const double others = total - count[k], have = others > 0.0 ? others : 0.0;
        const double taken = k == y ? 0.0 : row, rest = left_of(have, taken) + a;
        excess += too_much(have, taken);
        zeros[k] += rest > 0.0 ? 0.0 : amount;
        left[k] = rest > 0.0 ? rest : 1.0;
        if (!norm) continue;
        const double full = have + a;
        change[k] += log_of(left[k] / (full > 0.0 ? full : 1.0));
        fewer[k] += (rest > 0.0 ? 0.0 : 1.0) - (full > 0.0 ? 0.0 : 1.0);
    }
    return excess == 0;
}

// Adds amount · log(left). A word mostly occurs once or a few times: multiplying is quicker than a logarithm.
TB_INLINE void add_logs(double amount, Index n_classes, const RivalScratch& s) {
    const double* TB_RESTRICT left = s.left;
    double *TB_RESTRICT mantissa = s.mantissa, *TB_RESTRICT exponent = s.exponent, *TB_RESTRICT logs = s.logs;
    if (amount == 1.0 || amount == 2.0 || amount == 3.0)
        for (double times = 0.0; times < amount; ++times)
            for (Index k = 0; k < n_classes; ++k) multiply_up(left[k], mantissa[k], exponent[k]);
    else
        for (Index k = 0; k < n_classes; ++k) logs[k] += amount * log_of(left[k]);
}

// out[row][class] = Σ x weight of the class without the row: a row's words are among the others of every class but its
// own. With `norm` the weights of a class are divided by their sum over all words.
template <class T, class I, bool norm>
TB_INLINE Index csr_rivals_without(const Csr<T, I>& x, const Hard& labels, const RivalCounts& t, const RivalScratch& s,
                                   double* out) {
    const Index n_classes = t.words.count.d;
    const double n_words = static_cast<double>(x.d), log_words = x.d > 0 ? std::log(n_words) : 0.0;
    for (Index i = 0; i < x.n; ++i) {
        const Index y = labels.codes[i], last = static_cast<Index>(x.start[i + 1]);
        const double w = labels.weight[i];
        double length = 0.0;
        for (Index k = 0; k < n_classes; ++k)
            s.mantissa[k] = 1.0, s.exponent[k] = s.logs[k] = s.zeros[k] = s.change[k] = s.fewer[k] = 0.0;
        for (Index p = static_cast<Index>(x.start[i]); p < last; ++p) {
            x.ask_ahead(p, t.words.count.data, t.words.count.row_stride, n_classes);
            if (!fine<T, I, false>(x, p)) return -2 - p;
            const double amount = static_cast<double>(x.data[p]);
            if (!rivals_of_word<norm>(t, static_cast<Index>(x.column[p]), y, w, amount, s)) return i;
            add_logs(amount, n_classes, s);
            length += amount;
        }
        for (Index k = 0; k < n_classes; ++k) {
            const double taken = k == y ? 0.0 : w * length;
            if (too_much(t.other_total[k], taken)) return i;
            const double mass = left_of(t.other_total[k], taken) + t.alpha_total, log_mass = log_of(mass > 0.0 ? mass : 1.0);
            const double logs = s.logs[k] + log_of_product(s.mantissa[k], s.exponent[k]);
            double score = (length - s.zeros[k]) * log_mass - logs + t.heaviest * s.zeros[k];
            if (!(mass > 0.0)) score = length * log_words;  // no others and no smoothing: all words alike
            if (norm) {
                const double zeros = t.zeros[k] + s.fewer[k];
                double sum = (n_words - zeros) * log_mass - (t.logs[k] + s.change[k]) + t.heaviest * zeros;
                if (!(mass > 0.0)) sum = n_words * log_words;
                score /= sum > 0.0 ? sum : 1.0;
            }
            out[i * n_classes + k] = score;
        }
    }
    return kNone;
}

}  // namespace tb
