// What a column must add to each class so that, by itself, it gives back the class shares on average.
#pragma once

#include "weights.hpp"

namespace tb {

constexpr int kRounds = 30;
constexpr double kSettled = 1e-6, kUnseen = -1e2;  // a class whose log prior is below has no share

// found (T − 1, K) are the constants of the terms after the first, of the weights at (T,); says (T − 1,) is how much
// each tells the classes apart. Terms of no weight are left as they are.
TB_INLINE void column_constants(const Rivals& x, const std::int32_t* codes, const double* at, const double* log_prior,
                                double* found, double* says) {
    const Index n_classes = x.rivals + 1;
    const auto n = static_cast<std::size_t>(x.n);
    std::vector<float> odds(n * static_cast<std::size_t>(n_classes));  // (K, rows) e^evidence against the best class
    std::vector<float> sum(n), factor(static_cast<std::size_t>(n_classes));
    std::vector<double> weight(n), share(n), value(static_cast<std::size_t>(n_classes));
    for (Index t = 1; t < x.n_terms; ++t) {
        if (at[t] == 0.0) continue;
        Index rows = 0;  // that the column says something about
        double total = 0.0;
        for (Index i = 0; i < x.n; ++i) {
            const float* terms = x.row(i) + t;
            double centre = 0.0, top = -std::numeric_limits<double>::infinity(), away = 0.0;
            bool known = false;
            for (Index k = 0, r = 0; k < n_classes; ++k) {
                const float term = k == codes[i] ? 0.0f : terms[r++ * x.n_terms];
                known = known || term != 0.0f;
                value[k] = at[t] * static_cast<double>(term);
                centre += value[k] / static_cast<double>(n_classes);
                if (log_prior[k] > kUnseen) top = std::max(top, value[k]);
            }
            if (!known || x.weight[i] == 0.0) continue;
            for (Index k = 0; k < n_classes; ++k) {
                away += std::abs(value[k] - centre) / static_cast<double>(n_classes);
                odds[k * x.n + rows] = static_cast<float>(std::min(value[k] - top, 0.0));
            }
            says[t - 1] += x.weight[i] * away;
            weight[rows++] = x.weight[i];
            total += x.weight[i];
        }
        for (Index k = 0; k < n_classes; ++k) {
            float* TB_RESTRICT own = odds.data() + k * x.n;
            for (Index i = 0; i < rows; ++i) own[i] = exp_of(own[i]);
        }
        double* own = found + (t - 1) * n_classes;
        double largest = total > 0.0 ? 1.0 : 0.0;
        for (int round = 0; round < kRounds && largest >= kSettled; ++round) {
            for (Index k = 0; k < n_classes; ++k) factor[k] = log_prior[k] > kUnseen ? static_cast<float>(std::exp(log_prior[k] + own[k])) : 0.0f;
            std::fill(sum.begin(), sum.begin() + rows, 0.0f);
            for (Index k = 0; k < n_classes; ++k) {
                const float *TB_RESTRICT here = odds.data() + k * x.n, by = factor[k];
                float* TB_RESTRICT to = sum.data();
                for (Index i = 0; i < rows; ++i) to[i] += here[i] * by;
            }
            for (Index i = 0; i < rows; ++i) share[i] = sum[i] > 0.0f ? weight[i] / (static_cast<double>(sum[i]) * total) : 0.0;
            largest = 0.0;
            for (Index k = 0; k < n_classes; ++k) {
                if (log_prior[k] <= kUnseen) continue;
                const float *TB_RESTRICT here = odds.data() + k * x.n, by = factor[k];
                double mean = 0.0;
                TB_SIMD(reduction(+ : mean))
                for (Index i = 0; i < rows; ++i) mean += share[i] * static_cast<double>(here[i] * by);
                const double step = log_prior[k] - std::log(std::max(mean, 1e-300));
                own[k] += step;
                largest = std::max(largest, std::abs(step));
            }
        }
    }
}

}  // namespace tb
