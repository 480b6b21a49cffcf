// The words of each document that say most for some class.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "counts.hpp"

namespace tb {

// Flags the entries of each row that are among the `most` largest positive ones of a column of `said` (nnz, K). What is
// alike to nine decimals is equally strong, and then the first counts: rounding must not choose between words.
inline void strongest(const double* said, const std::int64_t* start, Index n_rows, Index n_classes, Index most, std::uint8_t* chosen) {
    struct Word { double strength; Index entry; };
    std::vector<Word> heard;
    const auto stronger = [](const Word& a, const Word& b) { return a.strength != b.strength ? a.strength > b.strength : a.entry < b.entry; };
    for (Index row = 0; row < n_rows; ++row) {
        for (Index k = 0; k < n_classes; ++k) {
            heard.clear();
            for (Index entry = start[row]; entry < start[row + 1]; ++entry) {
                const double strength = std::nearbyint(said[entry * n_classes + k] * 1e9);
                if (strength > 0.0) heard.push_back({strength, entry});
            }
            const auto count = std::min<std::size_t>(heard.size(), static_cast<std::size_t>(most));
            if (count < heard.size()) std::nth_element(heard.begin(), heard.begin() + static_cast<std::ptrdiff_t>(count), heard.end(), stronger);
            for (std::size_t i = 0; i < count; ++i) chosen[heard[i].entry] = 1;
        }
    }
}

}  // namespace tb
