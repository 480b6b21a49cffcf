// The words of each document that say most for some class.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <vector>

#include "counts.hpp"
#include "logs.hpp"

namespace tb {

// A word of a document, and how strongly it speaks for a class.
struct Clue { double strength; Index entry; };

// Strengths that are alike to nine decimals are equal: rounding must not choose between words.
inline double strength_of(double said) { return std::nearbyint(said * 1e9); }

// Calls found(entry) for the `most` strongest words, of equally strong ones the first `alike`. Words that were counted
// in the same documents are equally strong, and say together little more than one of them.
template <class Found>
void each_strongest(std::vector<Clue>& words, Index most, Index alike, Found&& found) {
    const auto stronger = [](const Clue& a, const Clue& b) { return a.strength != b.strength ? a.strength > b.strength : a.entry < b.entry; };
    double last = 0.0;
    Index left = most, equal = 0;
    for (std::size_t done = 0; done < words.size() && left > 0;) {  // few of many are ever put in order
        const std::size_t end = std::min(words.size(), done + 4 * static_cast<std::size_t>(std::min<Index>(most, 1 << 20)));
        std::partial_sort(words.begin() + static_cast<std::ptrdiff_t>(done), words.begin() + static_cast<std::ptrdiff_t>(end), words.end(), stronger);
        for (; done < end && left > 0; ++done) {
            equal = words[done].strength == last ? equal + 1 : 1;
            last = words[done].strength;
            if (equal > alike) continue;
            found(words[done].entry);
            --left;
        }
    }
}

// Flags the entries of each row that are among the strongest for some class: positive ones of a column of `said` (nnz, K).
inline void strongest(const double* said, const std::int64_t* start, Index n_rows, Index n_classes, Index most, Index alike, std::uint8_t* chosen) {
    std::vector<Clue> words;
    for (Index row = 0; row < n_rows; ++row) {
        for (Index k = 0; k < n_classes; ++k) {
            words.clear();
            for (Index entry = start[row]; entry < start[row + 1]; ++entry) {
                const double strength = strength_of(said[entry * n_classes + k]);
                if (strength > 0.0) words.push_back({strength, entry});
            }
            each_strongest(words, most, alike, [&](Index entry) { chosen[entry] = 1; });
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

// A vocabulary in order, as a model file holds it, with the documents (V, 2) of two classes that have each word.
struct CountedWords {
    std::string_view text;
    const std::int64_t* start;  // (V + 1)
    const double* count;
    Index n_words;

    // Where a word is, or -1. Nothing outside the text is read, whatever the starts are.
    Index place(std::string_view word) const {
        for (Index low = 0, high = n_words; low < high;) {
            const Index middle = low + (high - low) / 2, size = static_cast<Index>(text.size());
            const std::int64_t first = start[middle], last = start[middle + 1];
            if (first < 0 || first > last || last > size) return -1;
            const int order = text.substr(static_cast<std::size_t>(first), static_cast<std::size_t>(last - first)).compare(word);
            if (order == 0) return middle;
            if (order < 0) low = middle + 1;
            else high = middle;
        }
        return -1;
    }
};

struct Scored {
    double log_odds = 0.0;  // of the second class
    Index known = 0;        // words of the document that are in the vocabulary
};

// The evidence of one document, its different words one a line, without making parameters of all words first.
inline Scored clue_odds(const CountedWords& words, const double* weight, double alpha, Index most, Index alike, std::string_view document) {
    const double base = log_of(weight[1] + 2.0 * alpha) - log_of(weight[0] + 2.0 * alpha);
    std::vector<double> odds;
    std::vector<Clue> for_first, for_second;
    Scored scored;
    for (std::size_t at = 0; at < document.size();) {
        const std::size_t end = std::min(document.find('\n', at), document.size());
        const Index place = end > at ? words.place(document.substr(at, end - at)) : -1;
        at = end + 1;
        if (place < 0) continue;
        ++scored.known;
        const double *count = words.count + 2 * place, one = log_of(count[1] + alpha) - log_of(count[0] + alpha) - base;
        if (!(count[0] > 0.0 || count[1] > 0.0)) continue;
        const double strength = strength_of(0.5 * one);
        if (strength != 0.0) (strength > 0.0 ? for_second : for_first).push_back({std::abs(strength), static_cast<Index>(odds.size())});
        odds.push_back(one);
    }
    for (auto* side : {&for_first, &for_second})
        each_strongest(*side, most, alike, [&](Index entry) { scored.log_odds += odds[static_cast<std::size_t>(entry)]; });
    return scored;
}

}  // namespace tb
