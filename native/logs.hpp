// Logarithms that the compiler can work out side by side, and sums of logarithms that need only one.
#pragma once

#include <bit>

#include "simd.hpp"

namespace tb {

constexpr std::uint64_t kMantissa = 0x000fffffffffffff, kOne = 0x3ff0000000000000;  // bits of a double
constexpr double kLog2 = 0.693147180559945309417;
constexpr double kImpossible = -std::numeric_limits<double>::infinity();

// A small whole number as a double: put into the last bits of 2^52. Not every processor converts many at once.
TB_INLINE double whole(std::uint64_t number) { return std::bit_cast<double>(0x4330000000000000 | number) - 0x1p52; }

// e^x of a float to about its last bit; beyond what a float holds, the largest or the least of them. No branch either.
TB_INLINE float exp_of(float x) {
    x = x < -87.0f ? -87.0f : x > 88.0f ? 88.0f : x;
    const float shifted = x * 1.44269504f + 12582912.0f, whole = shifted - 12582912.0f;  // 1.5·2^23: rounds to an integer
    const float r = (x - whole * 0.693359375f) + whole * 2.12194440e-4f;
    const float series = 1.0f + r * (1.0f + r * (0.5f + r * (1.6666665e-1f + r * (4.1665796e-2f + r * (8.3334519e-3f +
                         r * (1.3981999e-3f + r * 1.9875691e-4f))))));
    const std::uint32_t exponent = (std::bit_cast<std::uint32_t>(shifted) + 127u) << 23;
    return series * std::bit_cast<float>(exponent);
}

// Natural logarithm of a finite number that is not negative, within a unit in the last place (after fdlibm's e_log).
// It has no branch and no table, so a loop over it becomes vector code.
TB_INLINE double log_of(double x) {
    constexpr std::uint64_t root_half = 0x3fe6a09e667f3bcd;  // m lies between sqrt(1/2) and sqrt(2)
    const bool subnormal = x < 0x1p-1022;
    const std::uint64_t bits = std::bit_cast<std::uint64_t>(subnormal ? x * 0x1p54 : x) + (kOne - root_half);
    const double exponent = whole(bits >> 52) - (subnormal ? 1023.0 + 54.0 : 1023.0);
    const double f = std::bit_cast<double>((bits & kMantissa) + root_half) - 1.0, s = f / (2.0 + f), z = s * s;
    const double series = z * (6.666666666666735130e-01 + z * (3.999999999940941908e-01 + z * (2.857142874366239149e-01 +
                          z * (2.222219843214978396e-01 + z * (1.818357216161805012e-01 + z * (1.531383769920937332e-01 +
                          z * 1.479819860511658591e-01))))));
    const double half = 0.5 * f * f;
    const double low = s * (half + series) + exponent * 1.90821492927058770002e-10;
    const double log = exponent * 6.93147180369123816490e-01 - ((half - low) - f);
    return x > 0.0 ? log : kImpossible;
}

// The same of a float that is neither zero nor subnormal (after e_logf).
TB_INLINE float log_of(float x) {
    constexpr std::uint32_t root_half = 0x3f3504f3;
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(x) + (0x3f800000u - root_half);
    const float exponent = static_cast<float>(static_cast<std::int32_t>(bits >> 23) - 127);
    const float f = std::bit_cast<float>((bits & 0x007fffffu) + root_half) - 1.0f, s = f / (2.0f + f), z = s * s;
    const float series = z * (0.66666662693f + z * (0.40000972152f + z * (0.28498786688f + z * 0.24279078841f)));
    const float half = 0.5f * f * f;
    return exponent * 6.9313812256e-01f - ((half - (s * (half + series) + exponent * 9.0580006145e-06f)) - f);
}

// Σ log v as one logarithm of the product, whose exponent is kept apart so that it can neither overflow nor vanish.
// The numbers must be positive and finite.
TB_INLINE void multiply_up(double v, double& mantissa, double& exponent) {
    const bool small = v < 0x1p-512;
    const std::uint64_t bits = std::bit_cast<std::uint64_t>(mantissa * (small ? v * 0x1p600 : v * 0.5));
    exponent += whole(bits >> 52) - (small ? 1023.0 + 600.0 : 1023.0 - 1.0);
    mantissa = std::bit_cast<double>((bits & kMantissa) | kOne);
}

TB_INLINE double log_of_product(double mantissa, double exponent) { return log_of(mantissa) + exponent * kLog2; }

}  // namespace tb
