// How well weighted words predict the classes of documents, and how that changes with every weight.
#pragma once

#include <vector>

#include "counts.hpp"
#include "logs.hpp"

namespace tb {

struct WordEvidence {
    const float* terms;          // (nnz, K) what each word says for each class
    const std::int32_t* word;    // (nnz,) whose weight it has
    const std::int64_t* start;   // (n + 1,) entries of document i: start[i] .. start[i + 1]
    const double* base;          // (n, K) what is said apart from the words
    Index n_classes;
};

// The scores of a document with these weights of its words.
TB_INLINE void document_scores(const WordEvidence& e, Index i, const double* weight, double* TB_RESTRICT p) {
    for (Index k = 0; k < e.n_classes; ++k) p[k] = e.base[i * e.n_classes + k];
    for (std::int64_t j = e.start[i]; j < e.start[i + 1]; ++j) {
        const float* TB_RESTRICT terms = e.terms + j * e.n_classes;
        const double u = weight[e.word[j]];
#pragma omp simd
        for (Index k = 0; k < e.n_classes; ++k) p[k] += u * static_cast<double>(terms[k]);
    }
}

// Returns Σ w·(−log P(y | x)) over the documents first .. last that have a weight; slope[word] += its derivative in the
// weight of the word, and curvature[word], if asked for, += the second one. posterior (n, K) is left as
// P(k | x) − 1[k = y], times the document's weight: the slope along the base.
TB_INLINE double word_loss(const WordEvidence& e, const Hard& labels, Index first, Index last, const double* weight,
                           double* slope, double* curvature, double* posterior) {
    double loss = 0.0;
    const Index n_classes = e.n_classes;
    std::vector<float> scratch(static_cast<std::size_t>(n_classes));
    float* TB_RESTRICT single = scratch.data();
    for (Index i = first; i < last; ++i) {
        double* TB_RESTRICT p = posterior + i * n_classes;
        const double w = labels.weight[i];
        if (w == 0.0) {
            for (Index k = 0; k < n_classes; ++k) p[k] = 0.0;
            continue;
        }
        document_scores(e, i, weight, p);
        double top = p[0], sum = 0.0;
        for (Index k = 1; k < n_classes; ++k) top = p[k] > top ? p[k] : top;
        const double own = p[labels.codes[i]] - top;
        for (Index k = 0; k < n_classes; ++k) sum += p[k] = std::exp(p[k] - top);
        loss += w * (std::log(sum) - own);
        for (Index k = 0; k < n_classes; ++k) p[k] *= w / sum;
        for (std::int64_t j = e.start[i]; curvature && j < e.start[i + 1]; ++j) {
            const float* TB_RESTRICT terms = e.terms + j * n_classes;
            double mean = 0.0, square = 0.0;
#pragma omp simd reduction(+ : mean, square)
            for (Index k = 0; k < n_classes; ++k) {
                const auto t = static_cast<double>(terms[k]);
                mean += p[k] * t, square += p[k] * t * t;
            }
            curvature[e.word[j]] += square - mean * mean / w;
        }
        p[labels.codes[i]] -= w;
        for (Index k = 0; k < n_classes; ++k) single[k] = static_cast<float>(p[k]);
        for (std::int64_t j = e.start[i]; j < e.start[i + 1]; ++j) {
            const float* TB_RESTRICT terms = e.terms + j * n_classes;
            float along = 0.0f;  // of few classes; the sum over documents is in double precision
#pragma omp simd reduction(+ : along)
            for (Index k = 0; k < n_classes; ++k) along += single[k] * terms[k];
            slope[e.word[j]] += static_cast<double>(along);
        }
    }
    return loss;
}

// The scores (n, K) of the documents first .. last.
TB_INLINE void word_scores(const WordEvidence& e, Index first, Index last, const double* weight, double* scores) {
    for (Index i = first; i < last; ++i) document_scores(e, i, weight, scores + i * e.n_classes);
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
