// The words of each document that say most for some class.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "counts.hpp"
#include "logs.hpp"

namespace tb {

// Flags the entries of each row that are among the `most` largest positive ones of a column of `said` (nnz, K). What is
// alike to nine decimals is equally strong, and then the first counts: rounding must not choose between words.
inline void strongest(const double* said, const std::int64_t* start, Index n_rows, Index n_classes, Index most, std::uint8_t* chosen) {
    struct Word { double strength; Index entry; };
    std::vector<Word> candidates;
    const auto stronger = [](const Word& a, const Word& b) { return a.strength != b.strength ? a.strength > b.strength : a.entry < b.entry; };
    for (Index row = 0; row < n_rows; ++row) {
        for (Index k = 0; k < n_classes; ++k) {
            candidates.clear();
            for (Index entry = start[row]; entry < start[row + 1]; ++entry) {
                const double strength = std::nearbyint(said[entry * n_classes + k] * 1e9);
                if (strength > 0.0) candidates.push_back({strength, entry});
            }
            const auto count = std::min<std::size_t>(candidates.size(), static_cast<std::size_t>(most));
            if (count < candidates.size()) std::nth_element(candidates.begin(), candidates.begin() + static_cast<std::ptrdiff_t>(count), candidates.end(), stronger);
            for (std::size_t i = 0; i < count; ++i) chosen[candidates[i].entry] = 1;
        }
    }
}

// What each word of each row says (nnz, K) without the row, whose weight is taken out of the count (V, K) of its words and
// out of the weight of its class: log of the smoothed share of the class, less the mean of all classes; nothing where
// nobody else used the word. Answers the first row that holds more than its class does, or -1.
inline Index said_without(const double* count, const double* weight, Index n_classes, double alpha, const std::int64_t* start, const std::int32_t* word, Index n_rows, const std::int32_t* codes, const double* weights, double* said) {
    const auto classes = static_cast<std::size_t>(n_classes);
    std::vector<double> base(classes), left(classes);
    const auto taken = [](double have, double own) { return have - own > 1e-12 * have ? have - own : 0.0; };
    const auto too_much = [](double have, double own) { return have - own < -1e-9 * std::max(have, 1e-300); };
    for (Index row = 0; row < n_rows; ++row) {
        const auto own = static_cast<std::size_t>(codes[row]);
        if (too_much(weight[own], weights[row])) return row;
        for (std::size_t k = 0; k < classes; ++k) base[k] = log_of((k == own ? taken(weight[k], weights[row]) : weight[k]) + 2.0 * alpha);
        for (Index entry = start[row]; entry < start[row + 1]; ++entry) {
            std::copy_n(count + static_cast<Index>(word[entry]) * n_classes, classes, left.data());
            if (too_much(left[own], weights[row])) return row;
            left[own] = taken(left[own], weights[row]);
            double* const out = said + entry * n_classes;
            if (std::all_of(left.begin(), left.end(), [](double n) { return n == 0.0; })) {
                std::fill_n(out, classes, 0.0);
                continue;
            }
            double mean = 0.0;
            for (std::size_t k = 0; k < classes; ++k) mean += out[k] = log_of(left[k] + alpha) - base[k];
            mean /= static_cast<double>(n_classes);
            for (std::size_t k = 0; k < classes; ++k) out[k] -= mean;
        }
    }
    return -1;
}

}  // namespace tb
