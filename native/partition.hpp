// Fine bins: the partition with the shortest description of the labels, and counts that are spread over neighbours.
#pragma once

#include "columns.hpp"

namespace tb {

// group (bins,): the number of the merged bin of each bin, for the counts (bins, K) of one column; see the family
// Binned. The counts of a class that a bin does not have change no cost, so a run of bins costs its entries only.
inline void partition(const double* count, Index bins, Index n_classes, Index most, std::int64_t* group) {
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
            const double* row = cost.data() + i * (bins + 1);
            for (Index j = i + 1; j <= bins; ++j)
                if (best[i] + row[j] < next[j]) next[j] = best[i] + row[j], origin[j] = i;
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

// spread (bins, K): counts (bins, K) of one column by a normal kernel of some width, and kept (bins,): the share of a
// row that stays in its own bin.
TB_INLINE void spread_counts(const double* count, Index bins, Index n_classes, double width, double* spread, double* kept) {
    std::vector<double> near(static_cast<std::size_t>(bins)), below(static_cast<std::size_t>(bins + 1), 0.0);
    for (Index b = 0; b < bins; ++b) {
        const double z = static_cast<double>(b) / width;
        near[b] = std::exp(-0.5 * z * z);
        below[b + 1] = below[b] + near[b];
    }
    for (Index c = 0; c < bins * n_classes; ++c) spread[c] = 0.0;
    for (Index from = 0; from < bins; ++from) {
        const double norm = below[from + 1] + below[bins - from] - near[0];
        kept[from] = near[0] / norm;
        for (Index k = 0; k < n_classes; ++k) {
            const double n = count[from * n_classes + k] / norm;
            if (n == 0.0) continue;
            for (Index to = 0; to < bins; ++to) spread[to * n_classes + k] += n * near[to < from ? from - to : to - from];
        }
    }
}

}  // namespace tb
