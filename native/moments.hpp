// Moments of some rows of every class and column, with those of others taken together or out again. Compiled for every
// processor alike: the same tables give the same digits everywhere.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "simd.hpp"

namespace tb {

constexpr double kEps = std::numeric_limits<double>::epsilon();
constexpr double kSafety = 16.0;   // times the rounding that is expected which is still taken for rounding
constexpr double kNothing = 1e-13;  // what rounding leaves of a sum of squares is nothing

inline double share_of(double part, double whole) { return whole > 0.0 ? part / whole : 0.0; }

struct MomentTables {
    const double *weight, *mean, *m2, *rounding;  // (K, d) each; rounding (2, K, d), or null where none is known
    Index n_classes, d;
    Index size() const { return n_classes * d; }
};

struct Off {  // how far rounding may have moved a mean and a sum of squares
    double mean, m2;
};

inline Off off_of(const MomentTables& t, Index i) {
    if (t.rounding) return {t.rounding[i], t.rounding[t.size() + i]};
    const double mean = kEps * (std::fabs(t.mean[i]) + std::sqrt(share_of(t.m2[i], t.weight[i])));
    return {mean, kEps * t.m2[i] + mean * std::sqrt(t.weight[i] * t.m2[i])};
}

// out (3, d): the moments with all classes taken as one.
inline void merged_moments(const MomentTables& t, double* out) {
    double *weight = out, *mean = out + t.d, *m2 = out + 2 * t.d;
    const auto each = [&](auto add) {
        for (Index c = 0; c < t.n_classes; ++c)
            for (Index j = 0; j < t.d; ++j) add(c * t.d + j, j);
    };
    std::fill(out, out + 3 * t.d, 0.0);
    each([&](Index i, Index j) { weight[j] += t.weight[i], mean[j] += t.weight[i] * t.mean[i]; });
    for (Index j = 0; j < t.d; ++j) mean[j] = share_of(mean[j], weight[j]);
    // Σ w·mean / Σ w once more about that mean: the second pass takes out what the first rounded away.
    each([&](Index i, Index j) { m2[j] += t.weight[i] * (t.mean[i] - mean[j]); });
    for (Index j = 0; j < t.d; ++j) mean[j] += share_of(m2[j], weight[j]), m2[j] = 0.0;
    each([&](Index i, Index j) { m2[j] += t.m2[i]; });
    each([&](Index i, Index j) { m2[j] += t.weight[i] * (t.mean[i] - mean[j]) * (t.mean[i] - mean[j]); });
}

// How far off the mean and the sum of squares of a sum or a difference may be. Means are rounded independently of each
// other, so their errors add up as standard deviations do. A sum of squares has the errors of its parts and, with e that
// of the difference d of the two means, an error of `between` times 2·d·e + e²; the same e may stay for many rows, so
// these are added as they are.
inline Off rounding_of(const MomentTables& a, const MomentTables& b, Index i, double weight, double mean, double between) {
    if (!(weight > 0.0)) return {0.0, 0.0};
    const Off of_a = off_of(a, i), of_b = off_of(b, i);
    const double wa = a.weight[i], wb = b.weight[i], share = kEps * std::max(wa, wb) / weight;  // fractional weights are rounded, too
    const double delta = wa > 0.0 && wb > 0.0 ? std::fabs(a.mean[i] - b.mean[i]) : 0.0;
    const double own = kEps * std::fabs(mean) + share * delta * (wb / weight), apart = of_a.mean + of_b.mean;
    const double from_a = wa * of_a.mean / weight, from_b = wb * of_b.mean / weight;
    const double squares = of_a.m2 + of_b.m2 + between * (2.0 * delta * apart + apart * apart);
    return {std::sqrt(from_a * from_a + from_b * from_b + own * own), squares + (kEps + share) * (a.m2[i] + between * delta * delta)};
}

// out (5, K, d): weight, mean and sum of squares of both, and how far off the last two may be.
inline void joined_moments(const MomentTables& a, const MomentTables& b, double* out) {
    const Index size = a.size();
    for (Index i = 0; i < size; ++i) {
        const double weight = a.weight[i] + b.weight[i], share = share_of(b.weight[i], weight), delta = b.mean[i] - a.mean[i];
        const double mean = a.weight[i] > 0.0 ? a.mean[i] + delta * share : b.mean[i], between = a.weight[i] * share;
        const Off off = rounding_of(a, b, i, weight, mean, between);
        out[i] = weight, out[size + i] = mean, out[2 * size + i] = a.m2[i] + b.m2[i] + delta * delta * a.weight[i] * share;
        out[3 * size + i] = off.mean, out[4 * size + i] = off.m2;
    }
}

// out (5, K, d): the same of the rows of a without those of b; the weights that are left are given in it. False where b
// cannot have been part of a.
inline bool moments_without(const MomentTables& a, const MomentTables& b, double* out) {
    const Index size = a.size();
    bool was_there = true;
    for (Index i = 0; i < size; ++i) {
        const double weight = out[i], share = share_of(b.weight[i], weight), delta = a.mean[i] - b.mean[i], between = a.weight[i] * share;
        const double mean = weight > 0.0 ? a.mean[i] + delta * share : 0.0;
        const double m2 = weight > 0.0 ? a.m2[i] - b.m2[i] - delta * delta * a.weight[i] * share : 0.0;
        const Off off = rounding_of(a, b, i, weight, mean, between);
        was_there &= !(m2 < -kSafety * off.m2);
        if (!(weight > 0.0) && std::min(a.weight[i], b.weight[i]) > 0.0) {  // the last of a class are to be those that are in it
            const Off of_a = off_of(a, i), of_b = off_of(b, i);
            was_there &= !(std::fabs(delta) > kSafety * (of_a.mean + of_b.mean) || std::fabs(a.m2[i] - b.m2[i]) > kSafety * (of_a.m2 + of_b.m2));
        }
        out[size + i] = mean, out[2 * size + i] = m2 > kNothing * a.m2[i] ? m2 : 0.0;
        out[3 * size + i] = off.mean, out[4 * size + i] = off.m2;
    }
    return was_there;
}

// Where taking rows back left a column that does not vary, rounding must not pass for variation. Changes the mean and the
// sum of squares in out (5, K, d); scratch (6, d).
inline void flatten(const MomentTables& before, double* out, double* scratch) {
    const Index d = before.d, size = before.size();
    double *was = scratch, *now = scratch + 3 * d;
    merged_moments(before, was);
    merged_moments({out, out + size, out + 2 * size, nullptr, before.n_classes, d}, now);
    for (Index j = 0; j < d; ++j) {
        const double noise = 4.0 * kEps * std::fabs(was[d + j]) * std::sqrt(was[2 * d + j] * was[j]);
        if (!(now[2 * d + j] <= kNothing * was[2 * d + j] + noise)) continue;
        for (Index i = j; i < size; i += d)
            if (out[i] > 0.0) out[size + i] = now[d + j], out[2 * size + i] = 0.0;
    }
}

// What is left (n,) of weights when some are taken back. What rounding leaves is zero; false where less than that is left.
// Whole numbers are exact. Fractional weights summed in another order differ in the last digits, by a `share` of the
// sums they are part of.
inline bool weights_without(const double* mine, const double* theirs, Index n, double share, double* left) {
    bool whole = true, was_there = true;
    double largest = 0.0;
    for (Index i = 0; i < n; ++i) {
        whole &= mine[i] == std::rint(mine[i]) && theirs[i] == std::rint(theirs[i]);
        largest = std::max({largest, mine[i], theirs[i]});
    }
    for (Index i = 0; i < n; ++i) {
        const double rest = mine[i] - theirs[i], slack = whole ? 0.0 : share * (std::max(mine[i], theirs[i]) + 1e-3 * largest);
        was_there &= !(rest < -slack);
        left[i] = rest <= slack ? 0.0 : rest;
    }
    return was_there;
}

}  // namespace tb
