// How well weighted words predict the classes of documents, and how that changes with every weight.
#pragma once

#include "counts.hpp"

namespace tb {

struct WordEvidence {
    const float* terms;          // (nnz, K) what each word says for each class
    const std::int32_t* word;    // (nnz,) whose weight it has
    const std::int64_t* start;   // (n + 1,) entries of document i: start[i] .. start[i + 1]
    const double* base;          // (n, K) what is said apart from the words
    Index n_classes;
};

// Answers Σ w·(−log P(y | x)) over the documents first .. last; slope[word] += its derivative in the weight of the
// word. posterior (n, K) is left as P(k | x) − 1[k = y], times the document's weight: the slope along the base.
TB_INLINE double word_loss(const WordEvidence& e, const Hard& labels, Index first, Index last, const double* weight,
                           double* slope, double* posterior) {
    double loss = 0.0;
    const Index n_classes = e.n_classes;
    for (Index i = first; i < last; ++i) {
        double* TB_RESTRICT p = posterior + i * n_classes;
        for (Index k = 0; k < n_classes; ++k) p[k] = e.base[i * n_classes + k];
        for (std::int64_t j = e.start[i]; j < e.start[i + 1]; ++j) {
            const float* TB_RESTRICT terms = e.terms + j * n_classes;
            const double u = weight[e.word[j]];
            for (Index k = 0; k < n_classes; ++k) p[k] += u * static_cast<double>(terms[k]);
        }
        double top = p[0], sum = 0.0;
        for (Index k = 1; k < n_classes; ++k) top = p[k] > top ? p[k] : top;
        const double own = p[labels.codes[i]] - top, w = labels.weight[i];
        for (Index k = 0; k < n_classes; ++k) sum += p[k] = std::exp(p[k] - top);
        loss += w * (std::log(sum) - own);
        for (Index k = 0; k < n_classes; ++k) p[k] *= w / sum;
        p[labels.codes[i]] -= w;
        for (std::int64_t j = e.start[i]; j < e.start[i + 1]; ++j) {
            const float* TB_RESTRICT terms = e.terms + j * n_classes;
            double along = 0.0;
            for (Index k = 0; k < n_classes; ++k) along += p[k] * static_cast<double>(terms[k]);
            slope[e.word[j]] += along;
        }
    }
    return loss;
}

}  // namespace tb
