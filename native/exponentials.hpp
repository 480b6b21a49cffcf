// Exponentials that the compiler can work out side by side.
#pragma once

#include "logs.hpp"

namespace tb {

// e to the power of a number that is not positive, within two units in the last place. Like `log_of` it has no branch.
TB_INLINE double exp_of(double x) {
    constexpr double magic = 0x1.8p52;
    const double shifted = x * 1.44269504088896338700 + magic, power = shifted - magic;
    const double r = (x - power * 6.93147180369123816490e-01) - power * 1.90821492927058770002e-10;
    double series = 1.0 / 6227020800.0;
    for (double term : {1.0 / 479001600.0, 1.0 / 39916800.0, 1.0 / 3628800.0, 1.0 / 362880.0, 1.0 / 40320.0, 1.0 / 5040.0,
                        1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0})
        series = series * r + term;
    const double scale = std::bit_cast<double>((std::bit_cast<std::uint64_t>(shifted) + 1023) << 52);
    return x > -708.0 ? series * scale : x == x ? 0.0 : x;
}

}  // namespace tb
