// Columns of codes that are smoothed towards the levels of all classes: as they are, merged into groups, or spread over
// neighbours.
#pragma once

#include "columns.hpp"

namespace tb {

// (n_kc + s·p_c) / (n_k + s) with the share p_c of the cell over all classes; see the families.
struct PooledColumns {
    const double* count;        // (cells, K)
    const std::int64_t* start;  // (d + 1,)
    const double* weight;       // (K, d)
    const double* strength;     // (d,)
    const double* kept;         // (cells,) what of a row is in its own cell
    Index n_classes, d;
    std::vector<double> pool, total;                  // (cells,) and (d,) over all classes
    std::vector<double> logs, made_for, log_mass;     // (cells, K) for rows of the weight (cells,); (d, K)
    std::vector<double> own, own_for;                 // (cells, K) of the own class of a row, for rows of the weight
    Index column = 0;

    PooledColumns(const double* count, const std::int64_t* start, const double* weight, const double* strength, const double* kept, Index n_classes, Index d)
        : count(count), start(start), weight(weight), strength(strength), kept(kept), n_classes(n_classes), d(d),
          pool(static_cast<std::size_t>(start[d])), total(static_cast<std::size_t>(d)) {
        for (Index cell = 0; cell < start[d]; ++cell)
            for (Index k = 0; k < n_classes; ++k) pool[cell] += count[cell * n_classes + k];
        for (Index k = 0; k < n_classes; ++k)
            for (Index j = 0; j < d; ++j) total[j] += weight[k * d + j];
    }

    // Memory for scores that many rows share.
    void remember() {
        logs.resize(pool.size() * static_cast<std::size_t>(n_classes));
        made_for.assign(pool.size(), std::numeric_limits<double>::quiet_NaN());
        own.resize(logs.size());
        own_for.assign(logs.size(), std::numeric_limits<double>::quiet_NaN());
        log_mass.resize(static_cast<std::size_t>(d * n_classes));
        for (Index j = 0; j < d; ++j)
            for (Index k = 0; k < n_classes; ++k) log_mass[j * n_classes + k] = std::log(weight[k * d + j] + strength[j]);
    }

    TB_INLINE void prepare(Index j) { column = j; }

    TB_INLINE double share_without(Index j, Index cell, double w) const {
        const double levels = static_cast<double>(start[j + 1] - start[j]);
        return (left_of(pool[cell], w * kept[cell]) + 1.0 / levels) / (left_of(total[j], w) + 1.0);
    }

    // The cell of a code; kNone for a missing value. Any other that is no level was never learned, nor was a row that
    // holds more than its class.
    TB_INLINE bool locate(Index j, double code, Index y, double w, Index& cell) const {
        const Index levels = start[j + 1] - start[j];
        cell = code == -1.0 || levels == 0 ? kNone : start[j] + static_cast<Index>(code);
        if (cell == kNone) return true;
        if (!(code >= 0.0 && code < static_cast<double>(levels))) return false;
        return !too_much(count[cell * n_classes + y], w * kept[cell]) && !too_much(weight[y * d + j], w);
    }

    TB_INLINE Index scores(const double* v, const std::int32_t* y, const double* w, Index m, double* out) {
        for (Index r = 0; r < m; ++r) {
            double* TB_RESTRICT here = out + r * n_classes;
            Index cell;
            if (!locate(column, v[r], y[r], w[r], cell)) return r;
            if (cell == kNone) {
                for (Index k = 0; k < n_classes; ++k) here[k] = 0.0;
                continue;
            }
            const double pooled = strength[column] * share_without(column, cell, w[r]);
            const double* TB_RESTRICT n = count + cell * n_classes;
            double* TB_RESTRICT known = logs.data() + cell * n_classes;
            if (made_for[cell] != w[r]) {
                const double* TB_RESTRICT mass = log_mass.data() + column * n_classes;
                for (Index k = 0; k < n_classes; ++k) known[k] = log_of(n[k] + pooled) - mass[k];
                made_for[cell] = w[r];
            }
            for (Index k = 0; k < n_classes; ++k) here[k] = known[k];
            const auto at = static_cast<std::size_t>(cell * n_classes + y[r]);
            if (own_for[at] != w[r]) {
                const double rest = left_of(weight[y[r] * d + column], w[r]) + strength[column];
                own[at] = std::log((left_of(n[y[r]], w[r] * kept[cell]) + pooled) / rest);
                own_for[at] = w[r];
            }
            here[y[r]] = own[at];
        }
        return kNone;
    }
};

// The codes of a column as a kernel reads them: themselves, or the groups that they are merged into.
struct Groups {
    const std::int64_t *of = nullptr, *start = nullptr;  // (cells,) and (d + 1,) of the codes before they are merged
    TB_INLINE std::int32_t code(Index j, std::int32_t before, Index n_groups) const {
        if (!of || before == -1) return before;
        const bool known = before >= 0 && before < start[j + 1] - start[j];
        return static_cast<std::int32_t>(known ? of[start[j] + before] : n_groups);  // no group either
    }
};

// Rows of one column of codes: those of the same code, class and size of weight only once, in that order.
struct RowsOfCodes : RowsOfColumn {
    std::vector<double> of_size, sums;  // the weight of each size; by key, Σ of the weights of its rows
    RowsOfCodes(const Hard& labels, const Alike& alike, Index n) : of_size(static_cast<std::size_t>(alike.n_sizes)) {
        for (Index i = 0; i < n; ++i) of_size[static_cast<std::size_t>(alike.size[i])] = labels.weight[i];
    }
};

TB_INLINE void gather_codes(const Matrix<std::int32_t>& x, const Hard& labels, Index j, Index n_classes, const Alike& alike, Index n_cells,
                            const Groups& groups, RowsOfCodes& rows) {
    const Index n_keys = (n_cells + 1) * n_classes * alike.n_sizes;
    const bool few = n_keys <= 4 * x.n + 1024;
    rows.clear(x.n + (few ? n_keys : 0));
    rows.sums.assign(static_cast<std::size_t>(few ? n_keys : 0), 0.0);
    for (Index i = 0; i < x.n; ++i) {
        const std::int32_t code = groups.code(j, x.at(i, j), n_cells);
        if (!few || code < -1 || code >= n_cells) rows.add(code, labels.codes[i], labels.weight[i], labels.weight[i]);  // a wrong code is refused later
        else rows.sums[static_cast<std::size_t>(((code + 1) * n_classes + labels.codes[i]) * alike.n_sizes + alike.size[i])] += labels.weight[i];
    }
    auto sum = rows.sums.begin();
    for (Index code = -1; few && code < n_cells; ++code)
        for (std::int32_t y = 0; y < n_classes; ++y)
            for (double weight : rows.of_size) {
                if (const double times = *sum++; times > 0.0) rows.add(static_cast<double>(code), y, weight, times);
            }
}

// What the classes are like before a value is seen, as pooled losses read it.
struct Chances {
    std::vector<double> of, log;  // (K,) against the most common class
    Chances(const double* prior, Index n_classes) {
        const double top = *std::max_element(prior, prior + n_classes);
        for (Index k = 0; k < n_classes; ++k) log.push_back(prior[k] - top), of.push_back(std::exp(prior[k] - top));
    }
};

// losses (S,): the mean loss of the gathered rows of a column, for each of some strengths in place of its own.
// Probabilities are added as they are, so that a row costs two logarithms whatever the number of classes. False where a
// row was never learned.
TB_INLINE bool pooled_loss(const RowsOfCodes& rows, const PooledColumns& t, Index j, const Chances& chance, const double* strengths,
                           Index n_strengths, double* losses) {
    const Index n_classes = t.n_classes;
    std::vector<double> per_mass(static_cast<std::size_t>(n_strengths * n_classes));
    const double total = rows.total();
    for (Index s = 0; s < n_strengths; ++s) {
        losses[s] = 0.0;
        for (Index k = 0; k < n_classes; ++k) per_mass[s * n_classes + k] = chance.of[k] / (t.weight[k * t.d + j] + strengths[s]);
    }
    for (Index r = 0; r < rows.size(); ++r) {
        const Index y = rows.y[r];
        const double w = rows.weight[r], times = rows.times[r];
        Index cell;
        if (!t.locate(j, rows.value[r], y, w, cell)) return false;
        if (!(times > 0.0)) continue;
        const double* TB_RESTRICT n = cell == kNone ? nullptr : t.count + cell * n_classes;
        const double share = n ? t.share_without(j, cell, w) : 0.0;
        const double mine = n ? left_of(n[y], w * t.kept[cell]) : 0.0, rest = left_of(t.weight[y * t.d + j], w);
        for (Index s = 0; s < n_strengths; ++s) {
            const double *TB_RESTRICT c = n ? per_mass.data() + s * n_classes : chance.of.data(), pooled = strengths[s] * share;
            const double own = n ? (mine + pooled) / (rest + strengths[s]) : 1.0;
            double sum = 0.0;
            for (Index from = 0, to = y; from < n_classes; from = to + 1, to = n_classes) {
                if (n) {
                    TB_SIMD(reduction(+ : sum))
                    for (Index k = from; k < to; ++k) sum += c[k] * (n[k] + pooled);
                } else {
                    for (Index k = from; k < to; ++k) sum += c[k];
                }
            }
            losses[s] += times * (std::log(sum + chance.of[y] * own) - chance.log[y] - std::log(own));
        }
    }
    for (Index s = 0; s < n_strengths; ++s) losses[s] /= total;
    return true;
}

// losses (d, S): the mean loss of each column alone, for each strength. Answers as `column_losses`.
TB_INLINE Index pooled_losses(const Matrix<std::int32_t>& x, const Hard& labels, const PooledColumns& t, const double* prior, const Alike& alike,
                              const Groups& groups, const double* strengths, Index n_strengths, double* losses) {
    const Chances chance(prior, t.n_classes);
    RowsOfCodes rows(labels, alike, x.n);
    for (Index j = 0; j < x.d; ++j) {
        gather_codes(x, labels, j, t.n_classes, alike, t.start[j + 1] - t.start[j], groups, rows);
        if (!pooled_loss(rows, t, j, chance, strengths, n_strengths, losses + j * n_strengths)) return j;
    }
    return kNone;
}

// spread (bins, K): counts (bins, K) of one column by a normal curve of some width, and kept (bins,): the share of a
// row that stays in its own bin.
TB_INLINE void spread_counts(const double* count, Index bins, Index n_classes, double width, double* spread, double* kept) {
    const auto size = [](Index n) { return static_cast<std::size_t>(n); };
    std::vector<double> curve(size(2 * bins)), below(size(bins + 1), 0.0), norm(size(bins)), line(size(bins));
    double *near = curve.data() + bins - 1;  // on both sides, so that neighbours lie side by side
    Index reach = 0;                         // beyond which the curve is nothing
    for (Index b = 0; b < bins; ++b) {
        const double z = static_cast<double>(b) / width;
        near[b] = near[-b] = std::exp(-0.5 * z * z);
        below[size(b + 1)] = below[size(b)] + near[b];
        if (near[b] > 0.0) reach = b;
    }
    for (Index from = 0; from < bins; ++from) {
        norm[size(from)] = below[size(from + 1)] + below[size(bins - from)] - near[0];
        kept[from] = near[0] / norm[size(from)];
    }
    for (Index k = 0; k < n_classes; ++k) {
        double* TB_RESTRICT to = line.data();
        std::fill(line.begin(), line.end(), 0.0);
        for (Index from = 0; from < bins; ++from) {
            const double n = count[from * n_classes + k] / norm[size(from)];
            if (n == 0.0) continue;
            const double* TB_RESTRICT share = near - from;
            const Index last = std::min(from + reach + 1, bins);
            for (Index b = std::max<Index>(from - reach, 0); b < last; ++b) to[b] += n * share[b];
        }
        for (Index b = 0; b < bins; ++b) spread[b * n_classes + k] = to[b];
    }
}

struct Widths {  // of the normal curve that counts are spread by; columns of fewer bins than that try the first only
    const double* tried;
    Index n, fewest;
};

// Of counts spread over neighbouring bins: the width (d,) of the least loss, by its place, with the strength of each
// column of `t`, and losses (d, S) of that width by each strength. Answers as `column_losses`.
TB_INLINE Index smoothed_losses(const Matrix<std::int32_t>& x, const Hard& labels, const PooledColumns& t, const double* prior, const Alike& alike,
                                const Widths& widths, const double* strengths, Index n_strengths, std::int64_t* width, double* losses) {
    const Index k = t.n_classes;
    const Chances chance(prior, k);
    std::vector<double> spread, kept, weight(static_cast<std::size_t>(k));
    RowsOfCodes rows(labels, alike, x.n);
    for (Index j = 0; j < x.d; ++j) {
        const Index first = t.start[j], bins = t.start[j + 1] - first;
        const std::int64_t start[2] = {0, bins};
        gather_codes(x, labels, j, k, alike, bins, {}, rows);
        for (Index c = 0; c < k; ++c) weight[static_cast<std::size_t>(c)] = t.weight[c * t.d + j];
        const auto loss_of_width = [&](Index place, const double* by, Index n, double* out) {
            spread.assign(t.count + first * k, t.count + (first + bins) * k);
            kept.assign(static_cast<std::size_t>(bins), 1.0);
            if (widths.tried[place] > 0.0 && bins > 1) spread_counts(t.count + first * k, bins, k, widths.tried[place], spread.data(), kept.data());
            return pooled_loss(rows, {spread.data(), start, weight.data(), nullptr, kept.data(), k, 1}, 0, chance, by, n, out);
        };
        double least = 0.0, loss = 0.0;
        width[j] = 0;
        for (Index w = 0; w < (bins < widths.fewest ? std::min<Index>(widths.n, 1) : widths.n); ++w) {
            if (!loss_of_width(w, t.strength + j, 1, &loss)) return j;
            if (w == 0 || loss < least) least = loss, width[j] = w;
        }
        if (!loss_of_width(width[j], strengths, n_strengths, losses + j * n_strengths)) return j;
    }
    return kNone;
}

}  // namespace tb
