// Keys of rows: 64 bits that depend on what the cells of a row hold, never on where the row stands.
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>

#include "simd.hpp"
#include "text.hpp"

namespace tb {

constexpr std::uint64_t kMissingKey = 0x9E3779B97F4A7C15u;

// The finaliser of SplitMix64.
TB_INLINE std::uint64_t spread(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

// Numbers that compare equal have the same key, whatever their type; −0 is 0, and NaN is a missing value.
TB_INLINE std::uint64_t number_key(double value) {
    const std::uint64_t bits = std::bit_cast<std::uint64_t>(value + 0.0);
    return value != value ? kMissingKey : value == 0.0 ? 0 : bits;
}

// A file of text writes true and false as words, so the words have the keys of the values.
inline std::uint64_t text_key(std::string_view text) {
    if (text == "true" || text == "True") return number_key(1.0);
    if (text == "false" || text == "False") return number_key(0.0);
    return hashed(text);
}

template <class T>
TB_INLINE void number_keys(const T* x, Index step, Index n, std::uint64_t own, std::uint64_t* TB_RESTRICT total) {
    for (Index i = 0; i < n; ++i) total[i] += spread(number_key(static_cast<double>(x[i * step])) + own);
}

// The place of a number in the range of its column, to 16 binary digits: the same in every unit.
TB_INLINE float placed(double value, double low, double width) {
    return std::bit_cast<float>((std::bit_cast<std::uint32_t>(static_cast<float>((value - low) / width)) + 0x80u) & 0xFFFFFF00u);
}

// Add the keys of numbers by their places to `free`, and those of the numbers as they are to `exact`.
template <class T>
TB_INLINE void place_keys(const T* x, Index step, Index n, double low, double width, std::uint64_t own, std::uint64_t* TB_RESTRICT free,
                          std::uint64_t* TB_RESTRICT exact) {
    for (Index i = 0; i < n; ++i) {
        const double value = static_cast<double>(x[i * step]);
        free[i] += spread((value != value ? kMissingKey : number_key(placed(value, low, width))) + own);
        exact[i] += spread(number_key(value) + own);
    }
}

constexpr std::uint64_t kCopy = 0xD1342543DE82EF95u;  // what a copy of a row adds to its key
constexpr std::uint64_t kExactDigits = 0xFFFFFFu;           // digits of a key that come from the exact values

// Whether the key of one of the copies `first` to `last` − 1 of a row may be as small as the bound.
TB_INLINE bool reaches(std::uint64_t free, std::uint64_t bound, std::uint64_t first, std::uint64_t last) {
    bool found = false;
    for (std::uint64_t copy = first; copy < last; ++copy) found |= (spread(free + copy * kCopy + 1) & ~kExactDigits) <= bound;
    return found;
}

constexpr std::uint8_t kCandidate = 1, kOften = 2;
constexpr Index kSide = 256;  // rows whose copies are looked at together
constexpr Index kAhead = 16;  // rows whose cells are asked for before they are needed

// Mark rows of which one of the first copies may be drawn, and those whose cell has counted `enough` others before.
TB_INLINE void sort_out(const std::uint64_t* free, const std::uint64_t* exact, Index n, std::uint64_t bound, std::uint64_t copies, std::uint8_t enough,
                        std::uint8_t* TB_RESTRICT cells, std::uint64_t mask, std::uint8_t* TB_RESTRICT mark) {
    for (Index first = 0; first < n; first += kSide) {
        const Index last = first + kSide < n ? first + kSide : n;
        std::uint64_t found[kSide] = {};
        for (std::uint64_t copy = 0; copy < copies; ++copy)  // of rows side by side, rather than of one after another
            for (Index i = first; i < last; ++i) found[i - first] |= (spread(free[i] + copy * kCopy + 1) & ~kExactDigits) <= bound ? 1u : 0u;
        for (Index i = first; i < last; ++i) mark[i] = found[i - first] ? kCandidate : 0;
    }
    for (Index i = 0; i < n; ++i) {
        TB_PREFETCH(cells + (exact[i + kAhead < n ? i + kAhead : i] & mask));
        if (mark[i]) continue;
        std::uint8_t& cell = cells[exact[i] & mask];
        if (cell < enough) ++cell;
        else mark[i] = kOften;
    }
}

}  // namespace tb
