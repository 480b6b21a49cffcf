// Weights of a few readings of the same rows: Newton's method, the rows side by side.
#pragma once

#include <algorithm>
#include <vector>

#include "exponentials.hpp"

namespace tb {

struct Readings {
    const float* base;     // (K, n) log odds of each class against the row's own, apart from the readings
    const float* terms;    // (V, K, n) what each reading adds to them
    const double* weight;  // (n,) of the rows
    Index n, n_classes, n_readings;
    const float* row(Index v, Index k) const { return terms + (v * n_classes + k) * n; }
};

constexpr Index kMostReadings = 8, kSideBySide = 64;  // readings at most, and rows worked on at a time
constexpr int kMostStackSteps = 30, kMostShorter = 12;

// Minimises Σ w·(−log P(y | x)) + pull·Σ (τ − centre)² over τ ≥ 0. Every step goes towards the least value that the
// parabola has there, and is shortened until the loss falls.
class Stacking {
  public:
    Stacking(const Readings& x, const double* centre, double pull, double tolerance)
        : x_(x), centre_(centre), pull_(pull), odds_(static_cast<std::size_t>(x.n_classes * kSideBySide)) {
        for (Index i = 0; i < x.n; ++i) tolerance_ += tolerance * x.weight[i];
    }

    // The least value; where it starts becomes where it is.
    TB_INLINE double run(double* at) {
        const Index readings = x_.n_readings;
        Point here = passed(at);
        for (int step = 0; step < kMostStackSteps; ++step) {
            double best[kMostReadings], after[kMostReadings];
            const double hoped = least(here, at, best);
            if (!(hoped > 0.0)) return here.value;
            if (hoped < tolerance_) {  // the sum of the loss is too coarse to confirm so little: the last step is taken as it is
                std::copy(best, best + readings, at);
                return here.value - hoped;
            }
            double share = 1.0;
            Point there;
            int shorter = 0;
            for (; shorter < kMostShorter; ++shorter, share *= 0.5) {
                for (Index v = 0; v < readings; ++v) after[v] = at[v] + share * (best[v] - at[v]);
                there = passed(after);
                if (there.value < here.value) break;
            }
            if (shorter == kMostShorter) return here.value;
            std::copy(after, after + readings, at);
            here = there;
        }
        return here.value;
    }

  private:
    struct Point {
        double value = 0.0, slope[kMostReadings] = {}, bend[kMostReadings][kMostReadings] = {};
    };

    // Where the parabola is least, none of the weights being negative; answers how much less it is there. Readings say
    // much the same, so that going from one to the next would take for ever: every choice of those at zero is solved.
    TB_INLINE double least(const Point& p, const double* at, double* best) const {
        const Index readings = x_.n_readings;
        double right[kMostReadings], most = 0.0;
        for (Index v = 0; v < readings; ++v) {
            right[v] = -p.slope[v];
            for (Index u = 0; u < readings; ++u) right[v] += p.bend[v][u] * at[u];
        }
        std::fill(best, best + readings, 0.0);
        for (unsigned choice = 1; choice < 1u << readings; ++choice) {
            double found[kMostReadings];
            const double gain = solved(p, right, choice, found);
            if (gain > most) most = gain, std::copy(found, found + readings, best);
        }
        double before = 0.0;
        for (Index v = 0; v < readings; ++v) {
            before += 2.0 * right[v] * at[v];
            for (Index u = 0; u < readings; ++u) before -= p.bend[v][u] * at[v] * at[u];
        }
        return 0.5 * (most - before);
    }

    // The weights of some readings where the slope is zero, after Cholesky, and twice what they gain over none; below
    // zero if one is negative.
    TB_INLINE double solved(const Point& p, const double* right, unsigned choice, double* found) const {
        double l[kMostReadings][kMostReadings], y[kMostReadings], gain = 0.0;
        Index on[kMostReadings], n = 0;
        for (Index v = 0; v < x_.n_readings; ++v) {
            found[v] = 0.0;
            if (choice >> v & 1u) on[n++] = v;
        }
        for (Index a = 0; a < n; ++a) {
            for (Index b = 0; b <= a; ++b) {
                double sum = p.bend[on[a]][on[b]];
                for (Index c = 0; c < b; ++c) sum -= l[a][c] * l[b][c];
                l[a][b] = a == b ? std::sqrt(std::max(sum, 1e-12)) : sum / l[b][b];
            }
            y[a] = right[on[a]];
            for (Index c = 0; c < a; ++c) y[a] -= l[a][c] * y[c];
            y[a] /= l[a][a];
        }
        for (Index a = n - 1; a >= 0; --a) {
            for (Index c = a + 1; c < n; ++c) y[a] -= l[c][a] * y[c];
            y[a] /= l[a][a];
            if (y[a] < 0.0) return -1.0;
            found[on[a]] = y[a];
            gain += right[on[a]] * y[a];
        }
        return gain;
    }

    TB_INLINE Point passed(const double* at) {
        const Index readings = x_.n_readings;
        Point found;
        for (Index v = 0; v < readings; ++v) {
            const double off = at[v] - centre_[v];
            found.value += pull_ * off * off, found.slope[v] = 2.0 * pull_ * off, found.bend[v][v] = 2.0 * pull_;
        }
        for (Index first = 0; first < x_.n; first += kSideBySide) add(at, first, std::min(kSideBySide, x_.n - first), found);
        for (Index v = 0; v < readings; ++v)
            for (Index u = 0; u < v; ++u) found.bend[u][v] = found.bend[v][u];
        return found;
    }

    TB_INLINE void add(const double* at, Index first, Index m, Point& found) {
        using Row = float[kSideBySide];
        const Index readings = x_.n_readings;
        alignas(64) Row top = {}, sum = {}, expected[kMostReadings] = {}, second[kMostReadings * (kMostReadings + 1) / 2] = {};
        for (Index k = 0; k < x_.n_classes; ++k) {
            float* TB_RESTRICT odds = odds_.data() + k * kSideBySide;
            const float* TB_RESTRICT base = x_.base + k * x_.n + first;
            for (Index i = 0; i < m; ++i) odds[i] = base[i];
            for (Index v = 0; v < readings; ++v) {
                const float* TB_RESTRICT term = x_.row(v, k) + first;
                const float by = static_cast<float>(at[v]);
                for (Index i = 0; i < m; ++i) odds[i] += by * term[i];
            }
            for (Index i = 0; i < m; ++i) top[i] = odds[i] > top[i] ? odds[i] : top[i];
        }
        for (Index k = 0; k < x_.n_classes; ++k) {
            float* TB_RESTRICT odds = odds_.data() + k * kSideBySide;
            for (Index i = 0; i < m; ++i) sum[i] += odds[i] = exp_of(odds[i] - top[i]);
        }
        const double* TB_RESTRICT weight = x_.weight + first;
        double loss = 0.0;
        TB_SIMD(reduction(+ : loss))
        for (Index i = 0; i < m; ++i) loss += weight[i] * (static_cast<double>(top[i]) + log_of(static_cast<double>(sum[i])));
        found.value += loss;
        for (Index i = 0; i < m; ++i) sum[i] = 1.0f / sum[i];
        for (Index k = 0; k < x_.n_classes; ++k) {
            float* TB_RESTRICT p = odds_.data() + k * kSideBySide;
            for (Index i = 0; i < m; ++i) p[i] *= sum[i];
            for (Index v = 0, at_pair = 0; v < readings; ++v) {
                const float* TB_RESTRICT term = x_.row(v, k) + first;
                alignas(64) Row part;
                for (Index i = 0; i < m; ++i) expected[v][i] += part[i] = p[i] * term[i];
                for (Index u = 0; u <= v; ++u, ++at_pair) {
                    const float* TB_RESTRICT other = x_.row(u, k) + first;
                    float* TB_RESTRICT to = second[at_pair];
                    for (Index i = 0; i < m; ++i) to[i] += part[i] * other[i];
                }
            }
        }
        for (Index v = 0, at_pair = 0; v < readings; ++v) {
            double slope = 0.0;
            TB_SIMD(reduction(+ : slope))
            for (Index i = 0; i < m; ++i) slope += weight[i] * static_cast<double>(expected[v][i]);
            found.slope[v] += slope;
            for (Index u = 0; u <= v; ++u, ++at_pair) {
                double bend = 0.0;
                TB_SIMD(reduction(+ : bend))
                for (Index i = 0; i < m; ++i) bend += weight[i] * static_cast<double>(second[at_pair][i] - expected[v][i] * expected[u][i]);
                found.bend[v][u] += bend;
            }
        }
    }

    const Readings& x_;
    const double* centre_;
    double pull_, tolerance_ = 0.0;
    std::vector<float> odds_;  // (K, rows) of those that are worked on
};

// −log P(y | x) of scores (n, K).
TB_INLINE void score_losses(const double* scores, const std::int32_t* codes, Index n, Index n_classes, double* losses) {
    for (Index i = 0; i < n; ++i) {
        const double* TB_RESTRICT row = scores + i * n_classes;
        double top = row[0], sum = 0.0;
        for (Index k = 1; k < n_classes; ++k) top = row[k] > top ? row[k] : top;
        TB_SIMD(reduction(+ : sum))
        for (Index k = 0; k < n_classes; ++k) sum += exp_of(row[k] - top);
        losses[i] = top + log_of(sum) - row[codes[i]];
    }
}

}  // namespace tb
