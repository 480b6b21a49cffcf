// Weights of single words: how the loss of documents changes with each, from leave-one-out evidence.
#pragma once

#include <algorithm>
#include <vector>

#include "counts.hpp"
#include "logs.hpp"

namespace tb {

constexpr float kRounding = 1e-6f;  // share of a sum of floats that may be left of nothing
constexpr std::int64_t kAhead = 32;  // entries
constexpr Index kSums = 4;  // that grow side by side: one alone waits for each of its additions
constexpr float kNothing = 1e-30f;  // amount that stands for none: its logarithm is finite

struct WordTable {
    const float* amount;  // (V, K) smoothed amount of each word in each class, or in all the other classes
    const float* total;   // (V,) amount in all classes, not smoothed
    const double* mass;   // (K,) smoothed amount of all words in each class, or in all the others
    float alpha;
    bool rivals;          // whether the amounts are those of the other classes
    Index n_classes;
};

struct TextRows {
    const std::int64_t* start;  // (n + 1,) entries of document i: start[i] .. start[i + 1]
    const std::int32_t* word;   // (nnz,)
    const float* amount;        // (nnz,) how much of it
    const double* length;       // (n,) amount of all its words, those that are not among the entries, too
};

// Where a document's terms and sums are worked out. Terms are (entries, K), as in the table.
struct WordScratch {
    std::vector<float> terms, by, share, log_mass;
    WordScratch(const TextRows& x, Index n, Index n_classes) {
        std::int64_t longest = 0;
        for (Index i = 0; i < n; ++i) longest = std::max(longest, x.start[i + 1] - x.start[i]);
        by.resize(static_cast<std::size_t>(longest)), terms.resize(by.size() * static_cast<std::size_t>(n_classes));
        share.resize(static_cast<std::size_t>(n_classes)), log_mass.resize(share.size());
    }
};

// Calls work for the classes in turn, with how many there are at a time, a constant, and the first of them.
template <class Work>
TB_INLINE void over_classes(Index n_classes, const Work& work) {
    Index k = 0;
    for (; k + 16 <= n_classes; k += 16) work(std::integral_constant<Index, 16>(), k);
    for (; k + 8 <= n_classes; k += 8) work(std::integral_constant<Index, 8>(), k);
    for (; k + 4 <= n_classes; k += 4) work(std::integral_constant<Index, 4>(), k);
    for (; k < n_classes; ++k) work(std::integral_constant<Index, 1>(), k);
}

// How much each entry of a document counts, and the logarithm of what the classes have of its word and of all words,
// the document left out of the counts. A word that no other document has counts nothing.
TB_INLINE void document_logs(const WordTable& t, const TextRows& x, Index i, Index own, double weight, WordScratch& s) {
    const Index n_classes = t.n_classes, first = x.start[i], length = x.start[i + 1] - first;
    const float least = t.alpha > kNothing ? t.alpha : kNothing, w = static_cast<float>(weight);
    const std::int32_t* TB_RESTRICT word = x.word + first;
    const float* TB_RESTRICT amount = x.amount + first;
    float *TB_RESTRICT terms = s.terms.data(), *TB_RESTRICT by = s.by.data(), *TB_RESTRICT of_class = s.log_mass.data();
    for (Index j = 0; j < length; ++j, terms += n_classes) {
        if (j + kAhead < length) {  // words lie all over the table: what comes next is fetched meanwhile
            const float* next = t.amount + static_cast<Index>(word[j + kAhead]) * n_classes;
            TB_PREFETCH(next), TB_PREFETCH(next + n_classes - 1), TB_PREFETCH(t.total + word[j + kAhead]);
        }
        const float* TB_RESTRICT have = t.amount + static_cast<Index>(word[j]) * n_classes;
        const float taken = w * amount[j], of_all = t.rivals ? taken : 0.0f, total = t.total[word[j]];
        over_classes(n_classes, [&](auto some, Index k) {
            for (Index c = k; c < k + some; ++c) terms[c] = have[c] - of_all > least ? have[c] - of_all : least;
        });
        terms[own] = std::max(have[own] - (t.rivals ? 0.0f : taken), least);
        by[j] = total - taken > kRounding * total ? (t.rivals ? -amount[j] : amount[j]) : 0.0f;
    }
    terms = s.terms.data();
    for (Index c = 0; c < length * n_classes; ++c) terms[c] = log_of(terms[c]);
    for (Index k = 0; k < n_classes; ++k) {
        const double left = t.mass[k] - ((k == own) != t.rivals ? weight * x.length[i] : 0.0);
        of_class[k] = log_of(std::max(static_cast<float>(left), kNothing));
    }
}

// Turns logarithms into what the entries say for N classes, and adds it up, each times the factor of its word.
template <Index N>
TB_INLINE void add_terms(const std::int32_t* TB_RESTRICT word, const float* TB_RESTRICT by, Index length, const float* factor,
                         const float* log_mass, Index n_classes, float* TB_RESTRICT terms, float* TB_RESTRICT score) {
    using Some = Lanes<N>;
    const Some of_class = *reinterpret_cast<const Some*>(log_mass);
    Some sum[kSums] = {};
    const auto add = [&](Index j, Some& into) {
        Some& term = *reinterpret_cast<Some*>(terms + j * n_classes);
        term = by[j] * (term - of_class);
        into += factor[word[j]] * term;
    };
    Index j = 0;
    for (; j + kSums <= length; j += kSums)
        for (Index c = 0; c < kSums; ++c) add(j + c, sum[c]);
    for (; j < length; ++j) add(j, sum[0]);
    for (Index c = 0; c < kSums; ++c) *reinterpret_cast<Some*>(score) += sum[c];
}

// How the loss Σ w·(−log P(y | x)) of the documents first .. last that have a weight changes with the weight of each
// word: slopes (V, 2) grow by the first derivative and the second. The score of a document is base plus what
// its words say, each times its factor (V,). Returns the loss.
TB_INLINE double word_slopes(const WordTable& t, const TextRows& x, const Hard& labels, const double* base,
                             const float* factor, Index first, Index last, WordScratch& s, double* slopes) {
    double loss = 0.0;
    const Index n_classes = t.n_classes;
    float* TB_RESTRICT p = s.share.data();
    for (Index i = first; i < last; ++i) {
        const double w = labels.weight[i];
        const Index own = labels.codes[i], length = x.start[i + 1] - x.start[i];
        const std::int32_t* word = x.word + x.start[i];
        if (w == 0.0) continue;
        document_logs(t, x, i, own, w, s);
        for (Index k = 0; k < n_classes; ++k) p[k] = static_cast<float>(base[i * n_classes + k]);
        over_classes(n_classes, [&](auto some, Index k) {
            add_terms<some>(word, s.by.data(), length, factor, s.log_mass.data() + k, n_classes, s.terms.data() + k, p + k);
        });
        const float top = *std::max_element(p, p + n_classes), mine = p[own] - top;
        float sum = 0.0f;
        for (Index k = 0; k < n_classes; ++k) sum += p[k] = exp_of(p[k] - top);
        loss += w * (std::log(static_cast<double>(sum)) - mine);
        for (Index k = 0; k < n_classes; ++k) p[k] = k == own || p[k] / sum < kRounding ? 0.0f : p[k] / sum;
        const float* TB_RESTRICT terms = s.terms.data();
        for (Index j = 0; j < length; ++j, terms += n_classes) {
            if (j + kAhead < length) TB_PREFETCH(slopes + 2 * static_cast<Index>(word[j + kAhead]));
            const float zero = terms[own];  // against the document's own class: small numbers lose nothing in squares
            float mean = 0.0f, square = 0.0f;
            over_classes(n_classes, [&](auto some, Index k) {
                using Some = Lanes<some>;
                const Some e = *reinterpret_cast<const Some*>(terms + k) - zero, pe = *reinterpret_cast<const Some*>(p + k) * e;
                mean += sum_of<some>(pe), square += sum_of<some>(pe * e);
            });
            const float spread = square - mean * mean;
            double* at = slopes + 2 * static_cast<Index>(word[j]);
            at[0] += w * static_cast<double>(mean);
            at[1] += w * static_cast<double>(spread > 0.0f ? spread : 0.0f);
        }
    }
    return loss;
}

// Turns the amounts (V, K) of a table into what each word says in a document that is not in the counts; one that no
// document has says nothing.
TB_INLINE void word_evidence(const float* TB_RESTRICT total, const double* mass, float alpha, bool rivals, Index n_words, Index n_classes,
                             float* TB_RESTRICT amount) {
    const float least = alpha > kNothing ? alpha : kNothing;
    std::vector<float> log_mass(static_cast<std::size_t>(n_classes));
    for (Index k = 0; k < n_classes; ++k) log_mass[static_cast<std::size_t>(k)] = log_of(std::max(static_cast<float>(mass[k]), kNothing));
    for (Index j = 0; j < n_words * n_classes; ++j) amount[j] = log_of(amount[j] > least ? amount[j] : least);
    const float* TB_RESTRICT of_class = log_mass.data();
    for (Index v = 0; v < n_words; ++v, amount += n_classes) {
        const float sign = total[v] <= 0.0f ? 0.0f : rivals ? -1.0f : 1.0f;
        for (Index k = 0; k < n_classes; ++k) amount[k] = sign * (amount[k] - of_class[k]);
    }
}

// The scores of a document for N classes by M weights of its words, which stay in registers: to score (M, K).
template <Index N, Index M>
TB_INLINE void add_words(const float* evidence, Index n_classes, const std::int32_t* TB_RESTRICT word, const float* TB_RESTRICT amount, Index length,
                         const float* weight, Index stride, double* score) {
    using Some = Lanes<N>;
    Some sum[M] = {};
    for (Index j = 0; j < length; ++j) {
        if (j + kAhead < length) {
            const Index next = word[j + kAhead];
            TB_PREFETCH(evidence + next * n_classes), TB_PREFETCH(evidence + next * n_classes + N - 1), TB_PREFETCH(weight + next * stride);
        }
        const Some says = amount[j] * *reinterpret_cast<const Some*>(evidence + static_cast<Index>(word[j]) * n_classes);
        const float* TB_RESTRICT by = weight + static_cast<Index>(word[j]) * stride;
        for (Index m = 0; m < M; ++m) sum[m] += by[m] * says;
    }
    for (Index m = 0; m < M; ++m)
        for (Index v = 0; v < N; ++v) score[m * n_classes + v] = static_cast<double>(sum[m][v]);
}

// The scores (rows, M, K) of some documents by M weights (V, M) of every word, from what each word says (V, K).
TB_INLINE void word_scores(const float* evidence, Index n_classes, const TextRows& x, const std::int64_t* chosen, Index n,
                           const float* weight, Index m, double* scores) {
    for (Index r = 0; r < n; ++r, scores += m * n_classes) {
        const Index first = x.start[chosen[r]], length = x.start[chosen[r] + 1] - first;
        const std::int32_t* word = x.word + first;
        const float* amount = x.amount + first;
        over_classes(n_classes, [&](auto some, Index k) {
            Index c = 0;
            for (; c + 6 <= m; c += 6) add_words<some, 6>(evidence + k, n_classes, word, amount, length, weight + c, m, scores + c * n_classes + k);
            for (; c < m; ++c) add_words<some, 1>(evidence + k, n_classes, word, amount, length, weight + c, m, scores + c * n_classes + k);
        });
    }
}

// The entries of documents whose words have a place, which is not negative: to word and amount, with the starts of the
// documents. lengths[i] is the amount of all words of document i, and singles[i] how many have the place −1. Returns
// how many entries there are.
TB_INLINE std::int64_t placed_words(const std::int64_t* start, const std::int32_t* column, const float* data, Index n,
                                    const std::int32_t* place, std::int64_t* starts, std::int32_t* word, float* amount,
                                    double* lengths, std::int64_t* singles) {
    std::int64_t at = 0;
    for (Index i = 0; i < n; ++i) {
        double length = 0.0;
        std::int64_t alone = 0;
        for (std::int64_t j = start[i]; j < start[i + 1]; ++j) {
            if (j + kAhead < start[n]) TB_PREFETCH(place + column[j + kAhead]);
            const std::int32_t there = place[column[j]];
            word[at] = there, amount[at] = data[j];
            at += there >= 0, alone += there == -1, length += static_cast<double>(data[j]);
        }
        starts[i + 1] = at, lengths[i] = length, singles[i] = alone;
    }
    return at;
}

// How many documents have each word: to documents (V,), which begins with zeros.
TB_INLINE void documents_with(const std::int32_t* word, Index n_entries, std::int32_t* documents) {
    for (Index j = 0; j < n_entries; ++j) {
        if (j + kAhead < n_entries) TB_PREFETCH(documents + word[j + kAhead]);
        ++documents[word[j]];
    }
}

// The counts (V, K) of some words as floats.
TB_INLINE void counts_of(const double* count, Index n_classes, const std::int64_t* words, Index n, float* out) {
    for (Index v = 0; v < n; ++v, out += n_classes) {
        const double* TB_RESTRICT have = count + words[v] * n_classes;
        if (v + kAhead < n) TB_PREFETCH(count + words[v + kAhead] * n_classes);
        for (Index k = 0; k < n_classes; ++k) out[k] = static_cast<float>(have[k]);
    }
}

// Turns counts (V, K) of all documents into the smoothed amounts of a table, and their totals (V,), without some of the
// documents. Returns how many words are left.
TB_INLINE Index word_table(const TextRows& x, const Hard& labels, const std::int64_t* without, Index n, Index n_words,
                           Index n_classes, float alpha, bool rivals, float* count, float* total) {
    for (Index v = 0; v < n_words; ++v) {
        float sum = 0.0f;
        TB_SIMD(reduction(+ : sum))
        for (Index k = 0; k < n_classes; ++k) sum += count[v * n_classes + k];
        total[v] = sum;
    }
    for (Index r = 0; r < n; ++r) {
        const Index i = without[r];
        const auto w = static_cast<float>(labels.weight[i]);
        float* own = count + labels.codes[i];
        for (std::int64_t j = x.start[i]; j < x.start[i + 1]; ++j) {
            if (j + kAhead < x.start[i + 1]) TB_PREFETCH(own + static_cast<Index>(x.word[j + kAhead]) * n_classes);
            own[static_cast<Index>(x.word[j]) * n_classes] -= w * x.amount[j];
        }
    }
    Index known = 0;
    for (Index v = 0; v < n_words; ++v) {
        float* TB_RESTRICT have = count + v * n_classes;
        const float nothing = kRounding * total[v];
        float left = 0.0f;
        TB_SIMD(reduction(+ : left))
        for (Index k = 0; k < n_classes; ++k) left += have[k] = have[k] > nothing ? have[k] : 0.0f;
        total[v] = left, known += left > 0.0f;
        for (Index k = 0; k < n_classes; ++k) have[k] = (rivals ? (left > have[k] ? left - have[k] : 0.0f) : have[k]) + alpha;
    }
    return known;
}

// What the other classes have of words, for the leave-one-out evidence of a complement text.
struct RivalWords {
    const double* count;        // (V, K)
    const double* word_total;   // (V,)
    const double* other_total;  // (K,)
    const double* alpha;        // (V,)
    double alpha_sum, heaviest;
    Index n_classes;
};

// −log of the share that each word of a document has in the classes other than k, the document itself left out, times
// its amount: terms (nnz, K). A document is among the others of every class but its own. Returns whether some document
// has more than its class.
template <class T>
TB_INLINE bool rival_words(const RivalWords& r, const Hard& labels, const std::int64_t* start, const std::int32_t* word,
                           const double* amount, Index n, double* TB_RESTRICT mass, T* terms) {
    bool beyond = false;
    const Index n_classes = r.n_classes;
    const auto left_of = [&](double have, double taken) {
        const double left = have - taken;
        beyond |= left < -1e-9 * (have > 1e-300 ? have : 1e-300);
        return left > 1e-12 * have ? left : 0.0;
    };
    for (Index i = 0; i < n; ++i) {
        const double w = labels.weight[i];
        double in_all = 0.0;
        for (std::int64_t j = start[i]; j < start[i + 1]; ++j) in_all += w * amount[j];
        for (Index k = 0; k < n_classes; ++k) mass[k] = log_of(left_of(r.other_total[k], k == labels.codes[i] ? 0.0 : in_all) + r.alpha_sum);
        for (std::int64_t j = start[i]; j < start[i + 1]; ++j) {
            const double x = amount[j], taken = w * x, total = r.word_total[word[j]], alpha = r.alpha[word[j]];
            const double* TB_RESTRICT count = r.count + static_cast<Index>(word[j]) * n_classes;
            T* TB_RESTRICT out = terms + j * n_classes;
            double least = 0.0;
            for (Index k = 0; k < n_classes; ++k) {
                const double have = total - count[k] > 0.0 ? total - count[k] : 0.0, left = have - taken;
                const double own = k == labels.codes[i] ? have : left > 1e-12 * have ? left : 0.0;
                least = k == labels.codes[i] || left + 1e-9 * have > least ? least : left + 1e-9 * have;
                const double says = mass[k] - log_of(own + alpha);
                out[k] = static_cast<T>((says < r.heaviest ? says : r.heaviest) * x);
            }
            beyond |= least < 0.0;
        }
    }
    return beyond;
}

}  // namespace tb
