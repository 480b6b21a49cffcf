// Corrections of scores by the cells that rows are in: a logistic regression under a penalty, from slopes alone.
#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

#include "logs.hpp"

namespace tb {

struct CellsOfRows {
    const std::int32_t* cell;  // (n, D) row of the table that each column of a row adds; negative for none
    Index n, n_columns;
    const double* base;        // (n, K) scores apart from the corrections
    Index n_classes;
};

struct Shapes {  // a column has a free correction for each cell, or one that is Φ times a few coefficients
    const std::int64_t *cell, *coefficient;  // (D + 1,) where those of each column begin
    const double* shape;                     // Φ (cells, coefficients) of one column after the other
    const std::int64_t* start;               // (D,) where that of a column begins; −1 where each cell is free
};

TB_INLINE void add_corrections(const CellsOfRows& x, const double* table, double* scores) {
    for (Index i = 0; i < x.n; ++i)
        for (Index d = 0; d < x.n_columns; ++d) {
            const std::int32_t cell = x.cell[i * x.n_columns + d];
            if (cell < 0) continue;
            for (Index k = 0; k < x.n_classes; ++k) scores[i * x.n_classes + k] += table[cell * x.n_classes + k];
        }
}

constexpr Index kSummed = 4096;  // rows whose slopes are summed as floats
constexpr Index kAbreast = 64;   // rows that take each step together: exponentials and logarithms of several at once
constexpr Index kImplied = 2;    // a cell that one row in so many is in is that of every row without another

// Minimises Σ w·(−log P(y | x)) + ½·Σ penalty·c² over the coefficients c (P, K), by the method of Liu and Nocedal
// (1989). Tables and slopes are floats, the classes side by side in lanes; sums over many rows are doubles. Of a column
// with one common cell rows name the others alone: what these add is the difference, and the sums of the common one are
// those of all rows without the others.
class Corrections {
  public:
    // Rows are read once, whatever the penalties are.
    Corrections(const CellsOfRows& x, const Hard& labels, const Shapes& shapes)
        : n_columns_(x.n_columns), n_classes_(x.n_classes), shapes_(shapes), lanes_(lanes_for(x.n_classes)),
          n_cells_(shapes.cell[x.n_columns]), n_coefficients_(shapes.coefficient[x.n_columns]),
          size_(static_cast<std::size_t>(n_coefficients_ * x.n_classes)) {
        const auto cells = static_cast<std::size_t>((n_cells_ + x.n_columns) * lanes_);  // and of a missing value of each
        table_.resize(cells), part_.resize(cells), sums_.resize(cells), scale_.resize(size_);
        common_.resize(static_cast<std::size_t>(lanes_)), part_total_.resize(common_.size()), total_.resize(common_.size());
        scores_.resize(static_cast<std::size_t>(kAbreast * lanes_));
        std::vector<Index> chosen;  // rows that have a weight
        for (Index i = 0; i < x.n; ++i)
            if (labels.weight[i] != 0.0) chosen.push_back(i);
        for (const Index i : chosen) own_.push_back(labels.codes[i]), weight_.push_back(labels.weight[i]);
        cell_.resize(imply(x, chosen) + 1);  // and room for one that is no more named
        start_.push_back(0);
        std::size_t named = 0;
        for (const Index i : chosen) {
            for (Index d = 0; d < x.n_columns; ++d) {
                const Index given = x.cell[i * x.n_columns + d], here = given < 0 ? -1 : given;
                cell_[named] = static_cast<std::int32_t>((given < 0 ? n_cells_ + d : given) * lanes_);
                named += here != implied_[static_cast<std::size_t>(d)];
            }
            start_.push_back(named);
        }
        base_.assign(chosen.size() * static_cast<std::size_t>(lanes_), -1e30f);
        for (std::size_t r = 0; r < chosen.size(); ++r) {
            const double* from = x.base + chosen[r] * x.n_classes;
            const double top = *std::max_element(from, from + x.n_classes);
            for (Index k = 0; k < x.n_classes; ++k) base_[r * static_cast<std::size_t>(lanes_) + k] = static_cast<float>(from[k] - top);
        }
    }

    // Answers how often the rows were read. The coefficients are where it starts, and then the best. Two steps that
    // gain on average less than the tolerance, or less than a little of what was gained, are the last.
    TB_INLINE Index run(const double* penalty, double* coefficients, double tolerance, double little, Index memory, Index most_steps) {
        penalty_ = penalty, passes_ = 0, steps_.clear();
        if (curvature_.empty()) {  // of each coefficient by itself, without corrections
            std::fill(table_.begin(), table_.end(), 0.0f), std::fill(common_.begin(), common_.end(), 0.0f);
            curvature_.resize(size_);
            passed<true>();
            collected<true>(curvature_.data());
        }
        std::vector<double> at(size_), slope(size_), after(size_), new_slope(size_), direction(size_);
        for (std::size_t j = 0; j < size_; ++j) {
            scale_[j] = 1.0 / std::sqrt(curvature_[j] + penalty_[j / static_cast<std::size_t>(n_classes_)]);
            at[j] = coefficients[j] / scale_[j];
        }
        double value = objective(at, slope), before = std::numeric_limits<double>::infinity();  // what the last step gained
        const double first = value;
        for (Index step = 0; step < most_steps; ++step) {
            curved(slope, direction);
            double fall = 0.0, share = 1.0, now = value;
            for (std::size_t j = 0; j < size_; ++j) fall += (direction[j] = -direction[j]) * slope[j];
            if (!(fall < 0.0)) break;
            int halving = 0;
            for (; halving < 20; ++halving) {
                for (std::size_t j = 0; j < size_; ++j) after[j] = at[j] + share * direction[j];
                now = objective(after, new_slope);
                if (now <= value + 1e-4 * share * fall) break;
                // To where the parabola through both places, with the slope of the first, is lowest.
                const double lowest = -fall * share / (2.0 * ((now - value) / share - fall));
                share = lowest > 0.05 * share && lowest < 0.5 * share ? lowest : lowest < 0.5 * share ? 0.05 * share : 0.5 * share;
            }
            if (halving == 20) break;
            remember(at, after, slope, new_slope, static_cast<std::size_t>(memory));
            const double gained = value - now;
            at.swap(after), slope.swap(new_slope), value = now;
            if (gained + before < 2.0 * std::max(tolerance, little * (first - value))) break;
            before = gained;
        }
        for (std::size_t j = 0; j < size_; ++j) coefficients[j] = at[j] * scale_[j];
        return passes_;
    }

  private:
    struct Step {
        std::vector<float> step, change;
        double product, curvature;  // step·change, and change·change
    };

    static Index lanes_for(Index k) { return k <= 2 ? 2 : k <= 4 ? 4 : k <= 8 ? 8 : (k + 7) / 8 * 8; }

    // The cell of each column that most rows are in; none where there is no such cell. Answers how many cells of rows are
    // others.
    std::size_t imply(const CellsOfRows& x, const std::vector<Index>& chosen) {
        std::vector<Index> rows(static_cast<std::size_t>(n_cells_) + 1);  // the first those of missing values
        for (const Index i : chosen)
            for (Index d = 0; d < n_columns_; ++d) ++rows[static_cast<std::size_t>(std::max(x.cell[i * n_columns_ + d], -1) + 1)];
        std::size_t others = chosen.size() * static_cast<std::size_t>(n_columns_) - static_cast<std::size_t>(rows[0]);
        for (Index d = 0; d < n_columns_; ++d) {
            const auto first = rows.begin() + 1 + shapes_.cell[d], last = rows.begin() + 1 + shapes_.cell[d + 1];
            const auto most = std::max_element(first, last);
            const bool is_common = most != last && *most * kImplied > static_cast<Index>(chosen.size());
            implied_.push_back(is_common ? most - rows.begin() - 1 : -1);
            if (!is_common) continue;
            const auto known = static_cast<std::size_t>(std::accumulate(first, last, Index{0}));
            others += chosen.size() - known - static_cast<std::size_t>(*most);  // missing values are named there
        }
        return others;
    }

    // The tables as rows read them: what a cell adds beyond the common one, which all rows have.
    TB_INLINE void imply_tables() {
        std::fill(common_.begin(), common_.end(), 0.0f);
        for (Index d = 0; d < n_columns_; ++d) {
            const Index implied = implied_[static_cast<std::size_t>(d)];
            if (implied < 0) continue;
            float* without = table_.data() + (n_cells_ + d) * lanes_;  // a missing value adds nothing
            for (Index k = 0; k < lanes_; ++k) {
                const float all = table_[static_cast<std::size_t>(implied * lanes_ + k)];
                common_[static_cast<std::size_t>(k)] += all, without[k] = -all;
            }
            for (Index c = shapes_.cell[d]; c < shapes_.cell[d + 1]; ++c)
                for (Index k = 0; k < lanes_; ++k) table_[static_cast<std::size_t>(c * lanes_ + k)] += without[k];
        }
    }

    // The sums of the common cells: those of all rows without the other cells.
    TB_INLINE void imply_sums() {
        for (Index d = 0; d < n_columns_; ++d) {
            const Index implied = implied_[static_cast<std::size_t>(d)];
            if (implied < 0) continue;
            const double* without = sums_.data() + (n_cells_ + d) * lanes_;
            double* own = sums_.data() + implied * lanes_;
            for (Index k = 0; k < lanes_; ++k) own[k] = total_[static_cast<std::size_t>(k)] - without[k];
            for (Index c = shapes_.cell[d]; c < shapes_.cell[d + 1]; ++c)
                if (c != implied)
                    for (Index k = 0; k < lanes_; ++k) own[k] -= sums_[static_cast<std::size_t>(c * lanes_ + k)];
        }
    }

    TB_INLINE double objective(const std::vector<double>& at, std::vector<double>& slope) {
        const Index n_classes = n_classes_;
        for (Index d = 0; d < n_columns_; ++d) {
            const Index cells = shapes_.cell[d + 1] - shapes_.cell[d], own = shapes_.coefficient[d + 1] - shapes_.coefficient[d];
            const Index offset = shapes_.coefficient[d] * n_classes;
            const double *from = at.data() + offset, *scale = scale_.data() + offset;
            float* to = table_.data() + shapes_.cell[d] * lanes_;
            for (Index c = 0; c < cells; ++c)
                for (Index k = 0; k < n_classes; ++k) {
                    double sum = 0.0;
                    if (shapes_.start[d] < 0)
                        sum = from[c * n_classes + k] * scale[c * n_classes + k];
                    else
                        for (Index m = 0; m < own; ++m)
                            sum += shapes_.shape[shapes_.start[d] + c * own + m] * from[m * n_classes + k] * scale[m * n_classes + k];
                    to[c * lanes_ + k] = static_cast<float>(sum);
                }
        }
        imply_tables();
        double loss = passed<false>();
        collected<false>(slope.data());
        for (std::size_t j = 0; j < size_; ++j) {
            const double here = at[j] * scale_[j], pull = penalty_[j / static_cast<std::size_t>(n_classes)] * here;
            loss += 0.5 * pull * here;
            slope[j] = (slope[j] + pull) * scale_[j];
        }
        return loss;
    }

    // A derivative by the coefficients from the sums by cells; the diagonal of a second one with Φ².
    template <bool SECOND>
    TB_INLINE void collected(double* out) const {
        const Index n_classes = n_classes_;
        std::fill(out, out + size_, 0.0);
        for (Index d = 0; d < n_columns_; ++d) {
            const Index cells = shapes_.cell[d + 1] - shapes_.cell[d], own = shapes_.coefficient[d + 1] - shapes_.coefficient[d];
            const double* from = sums_.data() + shapes_.cell[d] * lanes_;
            double* to = out + shapes_.coefficient[d] * n_classes;
            for (Index c = 0; c < cells; ++c)
                for (Index m = 0; m < (shapes_.start[d] < 0 ? 1 : own); ++m) {
                    const double by = shapes_.start[d] < 0 ? 1.0 : shapes_.shape[shapes_.start[d] + c * own + m];
                    double* TB_RESTRICT here = to + (shapes_.start[d] < 0 ? c : m) * n_classes;
                    for (Index k = 0; k < n_classes; ++k) here[k] += (SECOND ? by * by : by) * from[c * lanes_ + k];
                }
        }
    }

    template <bool SECOND>
    TB_INLINE double passed() {
        ++passes_;
        std::fill(sums_.begin(), sums_.end(), 0.0), std::fill(total_.begin(), total_.end(), 0.0);
        double loss = 0.0;
        for (std::size_t first = 0; first < own_.size(); first += kSummed) {
            const std::size_t last = std::min(own_.size(), first + kSummed);
            std::fill(part_.begin(), part_.end(), 0.0f), std::fill(part_total_.begin(), part_total_.end(), 0.0f);
            switch (lanes_) {
                case 2: loss += rows<2, SECOND>(first, last); break;
                case 4: loss += rows<4, SECOND>(first, last); break;
                case 8: loss += rows<8, SECOND>(first, last); break;
                default: loss += rows<8, SECOND, true>(first, last);
            }
            for (std::size_t j = 0; j < sums_.size(); ++j) sums_[j] += part_[j];
            for (std::size_t k = 0; k < total_.size(); ++k) total_[k] += part_total_[k];
        }
        imply_sums();
        return loss;
    }

    // The loss of some rows; their slopes, or diagonals of second derivatives, are added to those of their cells.
    // N classes fit into a register; where there are MANY they take several. Rows go abreast, step by step.
    template <Index N, bool SECOND, bool MANY = false>
    TB_INLINE double rows(std::size_t first, std::size_t last) {
        const Index lanes = MANY ? lanes_ : N;
        float* TB_RESTRICT p = scores_.data();
        float sum[kAbreast];
        double behind[kAbreast], loss = 0.0;
        for (std::size_t begin = first; begin < last; begin += kAbreast) {
            const Index m = static_cast<Index>(std::min(last - begin, static_cast<std::size_t>(kAbreast)));
            const double* TB_RESTRICT weight = weight_.data() + begin;
            const std::int32_t* own = own_.data() + begin;
            const std::size_t* start = start_.data() + begin;
            for (Index r = 0; r < m; ++r) {
                const std::int32_t *cell = cell_.data() + start[r], *end = cell_.data() + start[r + 1];
                const float* from = base_.data() + (static_cast<Index>(begin) + r) * lanes;
                for (Index k = 0; k < lanes; k += N) {
                    Lanes<N> even = *reinterpret_cast<const Lanes<N>*>(from + k);
                    Lanes<N> odd = *reinterpret_cast<const Lanes<N>*>(common_.data() + k);
                    const std::int32_t* c = cell;
                    for (; c + 1 < end; c += 2) {
                        even += *reinterpret_cast<const Lanes<N>*>(table_.data() + c[0] + k);
                        odd += *reinterpret_cast<const Lanes<N>*>(table_.data() + c[1] + k);
                    }
                    if (c < end) odd += *reinterpret_cast<const Lanes<N>*>(table_.data() + *c + k);
                    even += odd;
                    *reinterpret_cast<Lanes<N>*>(p + r * lanes + k) = even;
                }
            }
            for (Index r = 0; r < m; ++r) {
                float *TB_RESTRICT s = p + r * lanes, top = s[0];
                for (Index k = 1; k < lanes; ++k) top = s[k] > top ? s[k] : top;
                behind[r] = s[own[r]] - top;
                for (Index k = 0; k < lanes; ++k) s[k] -= top;
            }
            for (Index j = 0; j < m * lanes; ++j) p[j] = exp_of(p[j]);
            for (Index r = 0; r < m; ++r) {
                float total = 0.0f;
                TB_SIMD(reduction(+ : total))
                for (Index k = 0; k < lanes; ++k) total += p[r * lanes + k];
                sum[r] = total;
            }
            TB_SIMD(reduction(+ : loss))
            for (Index r = 0; r < m; ++r) loss += weight[r] * (log_of(static_cast<double>(sum[r])) - behind[r]);
            for (Index r = 0; r < m; ++r) {
                float* TB_RESTRICT s = p + r * lanes;
                const float heavy = static_cast<float>(weight[r]), share = 1.0f / sum[r];
                if (SECOND) {
                    for (Index k = 0; k < lanes; ++k) s[k] = heavy * s[k] * share * (1.0f - s[k] * share);
                } else {
                    for (Index k = 0; k < lanes; ++k) s[k] *= heavy * share;
                    s[own[r]] -= heavy;
                }
            }
            for (Index r = 0; r < m; ++r)
                for (Index k = 0; k < lanes; k += N) {
                    const Lanes<N> add = *reinterpret_cast<const Lanes<N>*>(p + r * lanes + k);
                    *reinterpret_cast<Lanes<N>*>(part_total_.data() + k) += add;
                    for (const std::int32_t *c = cell_.data() + start[r], *end = cell_.data() + start[r + 1]; c < end; ++c)
                        *reinterpret_cast<Lanes<N>*>(part_.data() + *c + k) += add;
                }
        }
        return loss;
    }

    TB_INLINE void remember(const std::vector<double>& at, const std::vector<double>& after, const std::vector<double>& slope,
                            const std::vector<double>& new_slope, std::size_t memory) {
        Step found{std::vector<float>(size_), std::vector<float>(size_), 0.0, 0.0};
        for (std::size_t j = 0; j < size_; ++j) {
            found.step[j] = static_cast<float>(after[j] - at[j]);
            found.change[j] = static_cast<float>(new_slope[j] - slope[j]);
        }
        found.product = inner(found.step, found.change), found.curvature = inner(found.change, found.change);
        if (!(found.product > 0.0)) return;
        if (steps_.size() == memory) steps_.erase(steps_.begin());
        steps_.push_back(std::move(found));
    }

    template <class A, class B>
    TB_INLINE static double inner(const std::vector<A>& a, const std::vector<B>& b) {
        double sum = 0.0;
        TB_SIMD(reduction(+ : sum))
        for (std::size_t j = 0; j < a.size(); ++j) sum += static_cast<double>(a[j]) * static_cast<double>(b[j]);
        return sum;
    }

    // The slope divided by the curvature that the last steps showed.
    TB_INLINE void curved(const std::vector<double>& slope, std::vector<double>& q) const {
        std::copy(slope.begin(), slope.end(), q.begin());
        std::vector<double> share(steps_.size());
        for (std::size_t s = steps_.size(); s-- > 0;) {
            share[s] = inner(steps_[s].step, q) / steps_[s].product;
            for (std::size_t j = 0; j < size_; ++j) q[j] -= share[s] * steps_[s].change[j];
        }
        if (steps_.empty()) return;
        for (double& each : q) each *= steps_.back().product / steps_.back().curvature;
        for (std::size_t s = 0; s < steps_.size(); ++s) {
            const double by = share[s] - inner(steps_[s].change, q) / steps_[s].product;
            for (std::size_t j = 0; j < size_; ++j) q[j] += by * steps_[s].step[j];
        }
    }

    Index n_columns_, n_classes_;
    Shapes shapes_;
    const double* penalty_ = nullptr;  // (P,)
    Index lanes_, n_cells_, n_coefficients_, passes_ = 0;
    std::size_t size_;
    std::vector<Index> implied_;            // (D,) the cell of each column that rows do not name; −1 for none
    std::vector<std::int32_t> own_, cell_;  // of the rows that have a weight: classes, and cells as places in the table
    std::vector<std::size_t> start_;        // where the cells of each row begin
    std::vector<float> base_, table_, part_, scores_, common_, part_total_;
    std::vector<double> weight_, sums_, scale_, total_, curvature_;
    std::vector<Step> steps_;
};

}  // namespace tb
