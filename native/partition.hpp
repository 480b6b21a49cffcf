// Fine bins: the partition with the shortest description of the labels.
#pragma once

#include "columns.hpp"

namespace tb {

// group (bins,): the number of the merged bin of each bin, for the counts (bins, K) of one column; see the family
// Binned. The counts of a class that a bin does not have change no cost, so a run of bins costs its entries only.
TB_INLINE void partition(const double* count, Index bins, Index n_classes, Index most, std::int64_t* group) {
    const auto size = [](Index n) { return static_cast<std::size_t>(n); };
    std::vector<double> cost(size((bins + 1) * (bins + 1)), -kImpossible), inside(size(n_classes)), factorials;
    std::vector<std::vector<Index>> present(size(bins));
    double all = 0.0;
    bool integers = true;
    for (Index b = 0; b < bins; ++b)
        for (Index k = 0; k < n_classes; ++k) {
            const double n = count[b * n_classes + k];
            if (n != 0.0) present[b].push_back(k);
            all += n, integers = integers && n == std::floor(n) && n >= 0.0;
        }
    const double classes = static_cast<double>(n_classes), base = log_gamma(classes);
    if (integers && all <= 1e6)
        for (Index n = 0; n <= static_cast<Index>(all) + n_classes; ++n) factorials.push_back(log_gamma(static_cast<double>(n) + 1.0));
    const auto log_factorial = [&](double n) { return factorials.empty() ? log_gamma(n + 1.0) : factorials[size(static_cast<Index>(n))]; };
    for (Index i = 0; i < bins; ++i) {
        double total = 0.0, logs = 0.0;
        std::fill(inside.begin(), inside.end(), 0.0);
        for (Index j = i; j < bins; ++j) {
            for (Index k : present[j]) {
                const double n = count[j * n_classes + k];
                logs += log_factorial(inside[k] + n) - (inside[k] > 0.0 ? log_factorial(inside[k]) : 0.0);
                inside[k] += n, total += n;
            }
            cost[i * (bins + 1) + j + 1] = log_factorial(total + classes - 1.0) - base - logs;
        }
    }
    std::vector<double> best(cost.begin(), cost.begin() + bins + 1), next(size(bins + 1));
    std::vector<std::vector<Index>> origins(1, std::vector<Index>(size(bins + 1), 0));
    double shortest = best[bins];
    Index chosen = 0;
    for (Index groups = 2; groups <= std::min(most, bins); ++groups) {
        std::vector<Index> origin(size(bins + 1), 0);
        std::fill(next.begin(), next.end(), -kImpossible);
        for (Index i = groups - 1; i < bins; ++i) {
            const double *TB_RESTRICT row = cost.data() + i * (bins + 1), before = best[size(i)];
            double* TB_RESTRICT least = next.data();
            Index* TB_RESTRICT from = origin.data();
            TB_SIMD()
            for (Index j = i + 1; j <= bins; ++j) {
                const double length = before + row[j];
                const bool shorter = length < least[j];
                least[j] = shorter ? length : least[j];
                from[j] = shorter ? i : from[j];
            }
        }
        std::swap(best, next);
        origins.push_back(std::move(origin));
        const double g = static_cast<double>(groups), length = best[bins] + log_gamma(all + g) - log_gamma(g) - log_gamma(all + 1.0);
        if (length < shortest - 1e-9) shortest = length, chosen = groups - 1;
        if (length > shortest + 20.0) break;  // it only gets longer from here
    }
    for (Index b = 0; b < bins; ++b) group[b] = 0;
    for (Index edge = bins, step = chosen; step >= 0; --step) {
        edge = origins[step][edge];
        if (edge > 0) group[edge] = 1;
    }
    for (Index b = 1; b < bins; ++b) group[b] += group[b - 1];
}

}  // namespace tb
