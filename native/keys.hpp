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

}  // namespace tb
