// Weights of evidence: how well they predict the classes of rows, and Newton's method for the best ones.
#pragma once

#include <algorithm>
#include <vector>

#include "exponentials.hpp"

namespace tb {

struct Rivals {
    const float* terms;    // (n, R, T) what each other class of a row has more than its own, term by term
    const double* weight;  // (n,) of the rows; those of none are not read
    Index n, rivals, n_terms;
    const float* row(Index i) const { return terms + i * rivals * n_terms; }
};

// out (n, R, T) at the terms from first on: what each other class has more of the evidence (n, K, P) than the row's own.
TB_INLINE void against_own(const float* evidence, const std::int32_t* codes, Index n, Index n_classes, Index columns, float* out,
                           Index n_terms, Index first) {
    for (Index i = 0; i < n; ++i) {
        const float *TB_RESTRICT all = evidence + i * n_classes * columns, *TB_RESTRICT own = all + codes[i] * columns;
        float* TB_RESTRICT to = out + i * (n_classes - 1) * n_terms + first;
        for (Index k = 0; k < n_classes; ++k, all += columns) {
            if (k == codes[i]) continue;
            for (Index p = 0; p < columns; ++p) to[p] = all[p] - own[p];
            to += n_terms;
        }
    }
}

constexpr Index kBand = 64, kLanes = 8, kSide = 2 * kLanes, kTile = 4;  // rows and columns that a curvature is summed by
constexpr Index kDense = 512;                        // more terms than that have no matrix of their own
constexpr double kUnlikely = 1e-3, kMissed = 0.02;   // of a class, and of all such: the curvature does not see them
constexpr double kNever = 1e-3;                      // times that, and the slope does not see them either

// The probability of a class that is not worth looking at.
TB_INLINE float unlikely(Index rivals) { return static_cast<float>(std::min(kUnlikely, kMissed / static_cast<double>(rivals))); }

using Side = Lanes<kLanes>;  // as wide as a register; wider ones are taken apart at every use

TB_INLINE float dot(const float* TB_RESTRICT a, const float* TB_RESTRICT b, Index n) {
    float sum = 0.0f;
    TB_SIMD(reduction(+ : sum))
    for (Index t = 0; t < n; ++t) sum += a[t] * b[t];
    return sum;
}

// log(1 + Σ exp a_r) of the log odds of a row; they become the probabilities of the classes.
TB_INLINE double loss_of_odds(double* TB_RESTRICT odds, Index rivals) {
    double top = 0.0;
    for (Index r = 0; r < rivals; ++r) top = odds[r] > top ? odds[r] : top;
    double sum = exp_of(-top);
    TB_SIMD(reduction(+ : sum))
    for (Index r = 0; r < rivals; ++r) sum += odds[r] = exp_of(odds[r] - top);
    const double share = 1.0 / sum;
    for (Index r = 0; r < rivals; ++r) odds[r] *= share;
    return top + std::log(sum);
}

// The loss of each row.
TB_INLINE void rival_losses(const Rivals& x, const float* at, double* losses) {
    std::vector<double> odds(static_cast<std::size_t>(x.rivals));
    for (Index i = 0; i < x.n; ++i) {
        for (Index r = 0; r < x.rivals; ++r) odds[r] = dot(x.row(i) + r * x.n_terms, at, x.n_terms);
        losses[i] = loss_of_odds(odds.data(), x.rivals);
    }
}

// How much the summed loss rises (T,) without each term.
TB_INLINE void loss_rises(const Rivals& x, const float* at, double* rises) {
    const Index n_terms = x.n_terms;
    std::vector<double> odds(static_cast<std::size_t>(x.rivals));
    std::vector<float> space(static_cast<std::size_t>(2 * n_terms));
    float *TB_RESTRICT top = space.data(), *TB_RESTRICT sum = top + n_terms;
    for (Index i = 0; i < x.n; ++i) {
        if (x.weight[i] == 0.0) continue;
        std::fill(top, top + n_terms, 0.0f);
        for (Index r = 0; r < x.rivals; ++r) {
            const float* TB_RESTRICT terms = x.row(i) + r * n_terms;
            const float all = dot(terms, at, n_terms);
            odds[r] = all;
            for (Index t = 0; t < n_terms; ++t) top[t] = std::max(top[t], all - at[t] * terms[t]);
        }
        for (Index t = 0; t < n_terms; ++t) sum[t] = exp_of(-top[t]);
        for (Index r = 0; r < x.rivals; ++r) {
            const float* TB_RESTRICT terms = x.row(i) + r * n_terms;
            const float all = static_cast<float>(odds[r]);
            for (Index t = 0; t < n_terms; ++t) sum[t] += exp_of(all - at[t] * terms[t] - top[t]);
        }
        const double now = loss_of_odds(odds.data(), x.rivals);
        for (Index t = 0; t < n_terms; ++t)
            rises[t] += x.weight[i] * (static_cast<double>(top[t]) + log_of(static_cast<double>(sum[t])) - now);
    }
}

// The curvature of the loss: Σ w·Σ_k p_k (t_k − e)(t_k − e)ᵀ with e = Σ p_k t_k, the row's own class having t = 0.
class Curvature {
  public:
    explicit Curvature(Index n_terms)
        : n_terms_(n_terms), width_((n_terms + kSide - 1) / kSide * kSide),
          band_(static_cast<std::size_t>(kBand * width_)), sums_(static_cast<std::size_t>(width_ * width_)) {}

    TB_INLINE void clear() { std::fill(sums_.begin(), sums_.end(), 0.0); }

    TB_INLINE void add(const Rivals& x, Index i, const float* p, const float* expected) {
        if (x.rivals == 1) {  // of two classes it is p(1 − p)·t tᵀ
            const double both = p[0] * (1.0 - p[0]);
            if (both > unlikely(1)) put(nullptr, x.row(i), static_cast<float>(std::sqrt(x.weight[i] * both)));
            return;
        }
        double own = 1.0;
        const float least = unlikely(x.rivals);
        for (Index r = 0; r < x.rivals; ++r) {
            own -= p[r];
            if (p[r] > least) put(x.row(i) + r * n_terms_, expected, static_cast<float>(std::sqrt(x.weight[i] * p[r])));
        }
        if (own > least) put(nullptr, expected, static_cast<float>(std::sqrt(x.weight[i] * own)));
    }

    // To be called after the last row: the matrix, of which the part right of the diagonal is filled.
    TB_INLINE const double* matrix() {
        flush();
        return sums_.data();
    }

    TB_INLINE Index width() const { return width_; }  // from one row of the matrix to the next

  private:
    TB_INLINE void put(const float* TB_RESTRICT terms, const float* TB_RESTRICT expected, float root) {
        float* TB_RESTRICT to = band_.data() + held_ * width_;
        if (terms)
            for (Index t = 0; t < n_terms_; ++t) to[t] = root * (terms[t] - expected[t]);
        else
            for (Index t = 0; t < n_terms_; ++t) to[t] = root * expected[t];
        if (++held_ == kBand) flush();
    }

    TB_INLINE void flush() {
        for (Index a = 0; a < n_terms_; a += kTile)
            for (Index b = a / kSide * kSide; b < width_; b += kSide) {
                Side first[kTile] = {}, second[kTile] = {};
                for (Index h = 0; h < held_; ++h) {
                    const float *left = band_.data() + h * width_ + a, *right = band_.data() + h * width_ + b;
                    const Side one = *reinterpret_cast<const Side*>(right), two = *reinterpret_cast<const Side*>(right + kLanes);
                    for (Index u = 0; u < kTile; ++u) first[u] += left[u] * one, second[u] += left[u] * two;
                }
                for (Index u = 0; u < kTile; ++u) {
                    double* TB_RESTRICT to = sums_.data() + (a + u) * width_ + b;
                    for (Index v = 0; v < kLanes; ++v) to[v] += first[u][v];
                    for (Index v = 0; v < kLanes; ++v) to[kLanes + v] += second[u][v];
                }
            }
        held_ = 0;
    }

    Index n_terms_, width_, held_ = 0;
    std::vector<float> band_;
    std::vector<double> sums_;
};

struct Pulled {  // what weights are learned under: the loss plus pull·Σ (w − centre)²
    const double* centre;
    double pull;
    Index fixed;       // so many weights are not changed
    double tolerance;  // nats a row
};

constexpr double kCoarse = 100.0;  // times the tolerance that a part of the rows is learned to

constexpr int kMostSteps = 30, kMostHalvings = 12;
constexpr double kNearZero = 1e-3;  // a weight that a step may not count on

// Projected Newton steps: weights that are at zero and would fall stay there, the others take the step that the slope
// and the curvature suggest, shortened until the loss falls. Every stride-th row counts.
class Newton {
  public:
    Newton(const Rivals& x, const Pulled& how, Index stride, double* at)
        : x_(x), how_(how), stride_(stride), at_(at), n_(static_cast<std::size_t>(x.n_terms)),
          curvature_(x.n_terms > kDense ? 0 : x.n_terms), slope_(n_), step_(n_), after_(n_), narrow_(n_), expected_(n_),
          odds_(static_cast<std::size_t>(x.rivals)), p_(static_cast<std::size_t>(x.n * x.rivals)), next_(p_.size()) {
        double all = 0.0;
        for (Index i = 0; i < x.n; ++i) all += x.weight[i];
        for (Index i = 0; i < x.n; i += stride) total_ += x.weight[i];
        pull_ = all > 0.0 ? how.pull * total_ / all : how.pull;
    }

    TB_INLINE void run() {
        double loss = objective(at_, p_.data());
        for (int step = 0; step < kMostSteps; ++step) {
            derivatives();
            std::vector<char> moving(n_);
            for (std::size_t t = 0; t < n_; ++t) moving[t] = static_cast<Index>(t) >= how_.fixed && (at_[t] > 0.0 || slope_[t] < 0.0);
            if (std::find(moving.begin(), moving.end(), 1) == moving.end()) return;
            newton_step(moving);
            double gain = 0.0, scale = 1.0;
            bool inside = true;
            for (std::size_t t = 0; t < n_; ++t) {
                gain -= 0.5 * slope_[t] * step_[t];
                inside = inside && at_[t] + step_[t] >= 0.0;
            }
            if (inside && gain < how_.tolerance * total_) {  // where the parabola holds there is nothing to look at
                for (std::size_t t = 0; t < n_; ++t) at_[t] += step_[t];
                return;
            }
            double now = loss;
            int halving = 0;
            for (; halving < kMostHalvings; ++halving, scale *= 0.5) {
                for (std::size_t t = 0; t < n_; ++t) after_[t] = std::max(at_[t] + scale * step_[t], 0.0);
                now = objective(after_.data(), next_.data());
                if (now < loss) break;
            }
            if (halving == kMostHalvings) return;
            const double gained = loss - now;
            loss = now;
            std::copy(after_.begin(), after_.end(), at_);
            p_.swap(next_);
            if (gained < how_.tolerance * total_ && halving == 0) return;  // a shortened step may gain little on the way
        }
    }

  private:
    TB_INLINE double objective(const double* at, float* posterior) {
        double loss = 0.0;
        for (std::size_t t = 0; t < n_; ++t) {
            narrow_[t] = static_cast<float>(at[t]);
            loss += pull_ * (at[t] - how_.centre[t]) * (at[t] - how_.centre[t]);
        }
        if (x_.rivals == 1) return loss + two_classes(posterior);
        for (Index i = 0; i < x_.n; i += stride_) {
            if (x_.weight[i] == 0.0) continue;
            for (Index r = 0; r < x_.rivals; ++r) odds_[r] = dot(x_.row(i) + r * x_.n_terms, narrow_.data(), x_.n_terms);
            loss += x_.weight[i] * loss_of_odds(odds_.data(), x_.rivals);
            for (Index r = 0; r < x_.rivals; ++r) posterior[i * x_.rivals + r] = static_cast<float>(odds_[r]);
        }
        return loss;
    }

    // The same of two classes, whose exponentials and logarithms are worked out for several rows at once.
    TB_INLINE double two_classes(float* posterior) {
        double odds[kBand], weight[kBand], loss = 0.0;
        Index row[kBand];
        for (Index i = 0; i < x_.n;) {
            Index m = 0;
            for (; i < x_.n && m < kBand; i += stride_)
                if (x_.weight[i] != 0.0) row[m] = i, weight[m] = x_.weight[i], odds[m++] = dot(x_.row(i), narrow_.data(), x_.n_terms);
            TB_SIMD(reduction(+ : loss))
            for (Index h = 0; h < m; ++h) {
                const double top = odds[h] > 0.0 ? odds[h] : 0.0, own = exp_of(-top), other = exp_of(odds[h] - top);
                loss += weight[h] * (top + log_of(own + other));
                odds[h] = other / (own + other);
            }
            for (Index h = 0; h < m; ++h) posterior[row[h]] = static_cast<float>(odds[h]);
        }
        return loss;
    }

    TB_INLINE void derivatives() {
        const Index n_terms = x_.n_terms;
        for (std::size_t t = 0; t < n_; ++t) slope_[t] = 2.0 * pull_ * (at_[t] - how_.centre[t]);
        if (n_terms <= kDense) curvature_.clear();
        float* TB_RESTRICT expected = expected_.data();
        const float never = static_cast<float>(kNever) * unlikely(x_.rivals);
        for (Index i = 0; i < x_.n; i += stride_) {
            if (x_.weight[i] == 0.0) continue;
            const float* p = p_.data() + i * x_.rivals;
            std::fill(expected, expected + n_terms, 0.0f);
            for (Index r = 0; r < x_.rivals; ++r) {
                if (p[r] < never) continue;
                const float* TB_RESTRICT terms = x_.row(i) + r * n_terms;
                for (Index t = 0; t < n_terms; ++t) expected[t] += p[r] * terms[t];
            }
            for (Index t = 0; t < n_terms; ++t) slope_[t] += x_.weight[i] * static_cast<double>(expected[t]);
            if (n_terms <= kDense) curvature_.add(x_, i, p, expected);
        }
        matrix_ = n_terms <= kDense ? curvature_.matrix() : nullptr;
    }

    // A weight of nearly zero that the step would push below would be held at zero, and the others' step, which counts
    // on it, would then lead nowhere. So it is put to zero, or stays if it would rise by itself; the others step
    // without it.
    TB_INLINE void newton_step(std::vector<char>& moving) {
        std::fill(step_.begin(), step_.end(), 0.0);
        for (bool pushed = true; pushed;) {
            std::vector<Index> on;
            for (std::size_t t = 0; t < n_; ++t)
                if (moving[t]) on.push_back(static_cast<Index>(t));
            if (on.empty()) return;
            if (matrix_) solve(on); else solve_by_products(on);
            pushed = false;
            for (const Index t : on)
                if (at_[t] <= kNearZero && at_[t] + step_[t] < 0.0) {
                    step_[t] = slope_[t] > 0.0 ? -at_[t] : 0.0;
                    moving[t] = 0;
                    pushed = true;
                }
        }
    }

    TB_INLINE void solve(const std::vector<Index>& on) {  // after Cholesky
        const Index m = static_cast<Index>(on.size());
        std::vector<double> space(static_cast<std::size_t>(m * m + m));
        double *TB_RESTRICT l = space.data(), *TB_RESTRICT y = l + m * m;
        for (Index a = 0; a < m; ++a) {
            double* TB_RESTRICT row = l + a * m;
            for (Index b = 0; b <= a; ++b) {
                const double* TB_RESTRICT other = l + b * m;
                double sum = 0.0;
                TB_SIMD(reduction(+ : sum))
                for (Index c = 0; c < b; ++c) sum += row[c] * other[c];
                const double here = matrix_[on[b] * curvature_.width() + on[a]] - sum;
                if (a == b) row[a] = std::sqrt(std::max(here + 2.0 * pull_, 1e-12)); else row[b] = here / other[b];
            }
            double sum = -slope_[on[a]];
            for (Index c = 0; c < a; ++c) sum -= row[c] * y[c];
            y[a] = sum / row[a];
        }
        for (Index a = m - 1; a >= 0; --a) {
            y[a] /= l[a * m + a];
            for (Index c = 0; c < a; ++c) y[c] -= l[a * m + c] * y[a];
            step_[on[a]] = y[a];
        }
    }

    // By conjugate gradients, where a matrix of all terms would be larger than the evidence.
    TB_INLINE void solve_by_products(const std::vector<Index>& on) {
        std::vector<double> left(n_), along(n_), product(n_);
        double size = 0.0, first = 0.0;
        for (const Index t : on) {
            step_[t] = 0.0;
            left[t] = along[t] = -slope_[t];
            size += left[t] * left[t];
        }
        first = size;
        for (int round = 0; round < 200 && size > 1e-8 * first; ++round) {
            multiplied(along, product);
            double bend = 0.0, next = 0.0;
            for (const Index t : on) bend += along[t] * product[t];
            if (!(bend > 0.0)) return;
            for (const Index t : on) {
                step_[t] += size / bend * along[t];
                left[t] -= size / bend * product[t];
                next += left[t] * left[t];
            }
            for (const Index t : on) along[t] = left[t] + next / size * along[t];
            size = next;
        }
    }

    TB_INLINE void multiplied(const std::vector<double>& by, std::vector<double>& out) {
        const Index n_terms = x_.n_terms;
        for (std::size_t t = 0; t < n_; ++t) narrow_[t] = static_cast<float>(by[t]), out[t] = 2.0 * pull_ * by[t];
        for (Index i = 0; i < x_.n; i += stride_) {
            if (x_.weight[i] == 0.0) continue;
            const float* p = p_.data() + i * x_.rivals;
            double mean = 0.0;
            for (Index r = 0; r < x_.rivals; ++r) mean += p[r] * (odds_[r] = dot(x_.row(i) + r * n_terms, narrow_.data(), n_terms));
            for (Index r = 0; r < x_.rivals; ++r) {
                const float* TB_RESTRICT terms = x_.row(i) + r * n_terms;
                const double share = x_.weight[i] * p[r] * (odds_[r] - mean);
                for (Index t = 0; t < n_terms; ++t) out[t] += share * static_cast<double>(terms[t]);
            }
        }
    }

    const Rivals& x_;
    const Pulled& how_;
    Index stride_;
    double* at_;
    std::size_t n_;
    Curvature curvature_;
    const double* matrix_ = nullptr;
    double pull_ = 0.0, total_ = 0.0;
    std::vector<double> slope_, step_, after_;
    std::vector<float> narrow_, expected_;
    std::vector<double> odds_;
    std::vector<float> p_, next_;
};

// The weights at (T,) become those of the least loss. Every coarse-th row takes the first steps, where all are many.
TB_INLINE void learn_weights(const Rivals& x, const Pulled& how, Index coarse, double* at) {
    const Pulled roughly{how.centre, how.pull, how.fixed, kCoarse * how.tolerance};
    if (coarse > 1) Newton(x, roughly, coarse, at).run();
    Newton(x, how, 1, at).run();
}

}  // namespace tb
