// One column at a time: losses and evidence of the candidate families, fine bins and their partitions.
#include "binding.hpp"
#include "columns.hpp"
#include "edges.hpp"
#include "partition.hpp"
#include "pooled.hpp"
#include "units.hpp"

namespace {

#define TB_LOSS_CLONES(Model)                                                                                            \
    TB_CLONES Index run_losses(const tb::Matrix<double>& x, const tb::Hard& l, Model& m, const double* prior, const tb::Alike& a, \
                               double* losses) { return tb::column_losses(x, l, m, prior, a, losses); }
TB_LOSS_CLONES(tb::NormalColumns)
TB_LOSS_CLONES(tb::GammaColumns)
TB_LOSS_CLONES(tb::ExponentialColumns)

#define TB_COLUMN_CLONES(T, Model)                                                                                       \
    TB_CLONES Index run_evidence(const tb::Matrix<T>& x, const tb::Hard& l, Model& m, const std::int64_t* place,         \
                                 Index places, float* out) { return tb::column_evidence(x, l, m, place, places, out); }
TB_COLUMN_CLONES(double, tb::NormalColumns)
TB_COLUMN_CLONES(double, tb::GammaColumns)
TB_COLUMN_CLONES(double, tb::ExponentialColumns)
TB_COLUMN_CLONES(std::int32_t, tb::PooledColumns)

TB_CLONES Index run_pooled_losses(const tb::Matrix<std::int32_t>& x, const tb::Hard& l, const tb::PooledColumns& t, const double* prior,
                                  const tb::Alike& a, const tb::Groups& g, const double* strengths, Index n, double* losses) {
    return tb::pooled_losses(x, l, t, prior, a, g, strengths, n, losses);
}

TB_CLONES Index run_smoothed_losses(const tb::Matrix<std::int32_t>& x, const tb::Hard& l, const tb::PooledColumns& t, const double* prior,
                                    const tb::Alike& a, const tb::Widths& w, const double* strengths, Index n, std::int64_t* width,
                                    double* losses) {
    return tb::smoothed_losses(x, l, t, prior, a, w, strengths, n, width, losses);
}

TB_CLONES void run_partition(const double* count, Index bins, Index k, Index most, std::int64_t* group) {
    tb::partition(count, bins, k, most, group);
}

TB_CLONES void run_spread(const double* count, Index bins, Index k, double width, double* spread, double* kept) {
    tb::spread_counts(count, bins, k, width, spread, kept);
}

TB_CLONES Index run_bin_codes(const double* values, Index n, const double* edges, Index n_edges, std::int32_t* codes) {
    return tb::bin_codes(values, n, edges, n_edges, codes);
}

using Evidence = nb::ndarray<float, nb::ndim<3>, nb::c_contig, nb::device::cpu>;  // (n, K, P)
using Cells = Array2<std::int32_t>;

void check_sizes(const Codes& size, Index n, Index n_sizes) {
    require(rows(size) == n && n_sizes > 0, "sizes do not fit the rows");
    for (Index i = 0; i < n; ++i) require(size.data()[i] >= 0 && size.data()[i] < n_sizes, "a size is out of range");
}

// Cells (n, d) in which rows are alike, from -1 to less than n_cells, and the place of each row's weight among n_sizes.
// No cells: no rows are taken for alike.
tb::Alike alike(const Cells& cell, const Codes& size, Index n, Index d, Index n_cells, Index n_sizes) {
    check_sizes(size, n, n_sizes);
    require(n_cells >= 0, "there cannot be fewer cells than none");
    if (rows(cell) == 0) return {{nullptr, 0, 0, 0, 0}, size.data(), 0, n_sizes};
    require(rows(cell) == n && cols(cell) == d, "cells do not fit the rows");
    const auto cells = view(cell);
    for (Index j = 0; j < d; ++j)
        for (Index i = 0; i < n; ++i) require(cells.at(i, j) >= -1 && cells.at(i, j) < n_cells, "a cell is out of range");
    return {cells, size.data(), n_cells, n_sizes};
}

template <class T, class Model>
Index losses_of(const Array2<T>& x, const tb::Hard& labels, Model& model, const Vector<double>& prior, const tb::Alike& same, const OutVector<double>& losses) {
    require(rows(prior) == model.n_classes && model.n_classes > 0 && rows(losses) == cols(x) && model.d == cols(x), "losses do not fit the columns");
    return run_losses(view(x), labels, model, prior.data(), same, losses.data());
}

template <class T, class Model>
Index evidence_of(const Array2<T>& x, const tb::Hard& labels, Model& model, const Starts& place, const Evidence& evidence) {
    require(rows(evidence) == rows(x) && cols(evidence) == model.n_classes && model.n_classes > 0 && rows(place) == cols(x) && model.d == cols(x), "evidence does not fit the columns");
    for (Index j = 0; j < rows(place); ++j)
        require(place.data()[j] >= 0 && place.data()[j] < static_cast<Index>(evidence.shape(2)), "a column has no place");
    return run_evidence(view(x), labels, model, place.data(), static_cast<Index>(evidence.shape(2)), evidence.data());
}

tb::NormalColumns normal_columns(const Table<double>& weight, const Table<double>& mean, const Table<double>& m2, const Table<double>& all, nb::tuple settings,
                                 const Table<double>& other, const Table<double>& other_weight, double alpha) {
    const Index k = rows(weight), d = cols(weight);
    require(rows(mean) == k && cols(mean) == d && rows(m2) == k && cols(m2) == d && rows(all) == 3 && cols(all) == d, "moments do not fit each other");
    require(rows(other_weight) == rows(other) && cols(other_weight) == cols(other) && (rows(other) == 0 || (rows(other) == k && cols(other) == d)), "zeros do not fit the moments");
    tb::NormalColumns model(weight.data(), mean.data(), m2.data(), all.data(), k, d);
    model.var_smoothing = nb::cast<double>(settings[0]), model.least = nb::cast<double>(settings[1]), model.shared = nb::cast<bool>(settings[2]);
    model.ignore_constants = nb::cast<bool>(settings[3]), model.logs = nb::cast<bool>(settings[4]);
    model.spike = {rows(other) ? other.data() : nullptr, other_weight.data(), alpha};
    return model;
}

tb::GammaColumns gamma_columns(const Table<double>& weight, const Table<double>& mean, const Table<double>& m2, const Table<double>& all, double var_smoothing, double least) {
    const Index k = rows(weight), d = cols(weight);
    require(rows(mean) == k && cols(mean) == d && rows(m2) == k && cols(m2) == d && rows(all) == 3 && cols(all) == d, "moments do not fit each other");
    return {weight.data(), mean.data(), m2.data(), all.data(), k, d, var_smoothing, least, {}};
}

tb::ExponentialColumns exponential_columns(const Table<double>& sum, const Table<double>& weight, const Vector<double>& alpha) {
    require(rows(weight) == rows(sum) && cols(weight) == cols(sum) && rows(alpha) == cols(sum), "sums do not fit each other");
    return {sum.data(), weight.data(), rows(sum), cols(sum), alpha.data(), {}};
}

tb::PooledColumns pooled_columns(const Table<double>& count, const Starts& start, const Table<double>& weight, const double* strength, const Vector<double>& kept) {
    check_starts(start, cols(weight), rows(count));
    require(rows(weight) == cols(count) && rows(kept) == rows(count), "counts do not fit each other");
    return {count.data(), start.data(), weight.data(), strength, kept.data(), cols(count), cols(weight)};
}

// Rows of the same code are alike.
tb::Alike alike_codes(const Cells& x, const Codes& size, Index n_sizes, const tb::PooledColumns& model, const Vector<double>& prior) {
    require(model.d == cols(x) && model.n_classes > 0 && rows(prior) == model.n_classes, "losses do not fit the columns");
    check_sizes(size, rows(x), n_sizes);
    return {{nullptr, 0, 0, 0, 0}, size.data(), 0, n_sizes};
}

// The group of each cell of the codes, by their own starts; none where the codes are read as they are.
tb::Groups merged(const Starts& group, const Starts& start, const tb::PooledColumns& model) {
    if (rows(start) == 0) return {};
    check_starts(start, model.d, rows(group));
    for (Index j = 0; j < model.d; ++j)
        for (Index c = start.data()[j]; c < start.data()[j + 1]; ++c)
            require(0 <= group.data()[c] && group.data()[c] < model.start[j + 1] - model.start[j], "a cell has no group");
    return {group.data(), start.data()};
}

// An argument of another type is refused, not converted: what is written to a copy would be lost.
template <class>
auto exactly() { return nb::arg().noconvert(); }

template <class F, class R, class... A>
void define(nb::module_& m, const char* name, const F& f, R (F::*)(A...) const) { m.def(name, f, exactly<A>()...); }

template <class F>
void strictly(nb::module_& m, const char* name, const F& f) { define(m, name, f, &F::operator()); }

}  // namespace

void bind_columns(nb::module_& m) {
    using Floats = Array2<double>;
    using Tab = Table<double>;
    using Vec = Vector<double>;
    using Release = nb::gil_scoped_release;
    strictly(m, "normal_losses", [](const Floats& x, const Codes& codes, const Vec& weights, const Tab& weight, const Tab& mean, const Tab& m2, const Tab& all, nb::tuple settings, const Tab& other, const Tab& other_weight,
                              double alpha, const Vec& prior, const Cells& cell, const Codes& size, Index n_cells, Index n_sizes, const OutVector<double>& losses) {
        auto model = normal_columns(weight, mean, m2, all, settings, other, other_weight, alpha);
        Release release;
        return losses_of(x, hard(codes, weights, rows(x), model.n_classes), model, prior, alike(cell, size, rows(x), cols(x), n_cells, n_sizes), losses);
    });
    strictly(m, "normal_evidence", [](const Floats& x, const Codes& codes, const Vec& weights, const Tab& weight, const Tab& mean, const Tab& m2, const Tab& all, nb::tuple settings, const Tab& other, const Tab& other_weight,
                                double alpha, const Starts& place, const Evidence& evidence) {
        auto model = normal_columns(weight, mean, m2, all, settings, other, other_weight, alpha);
        Release release;
        return evidence_of(x, hard(codes, weights, rows(x), model.n_classes), model, place, evidence);
    });
    strictly(m, "gamma_losses", [](const Floats& x, const Codes& codes, const Vec& weights, const Tab& weight, const Tab& mean, const Tab& m2, const Tab& all, double var_smoothing, double least,
                             const Vec& prior, const Cells& cell, const Codes& size, Index n_cells, Index n_sizes, const OutVector<double>& losses) {
        auto model = gamma_columns(weight, mean, m2, all, var_smoothing, least);
        Release release;
        return losses_of(x, hard(codes, weights, rows(x), model.n_classes), model, prior, alike(cell, size, rows(x), cols(x), n_cells, n_sizes), losses);
    });
    strictly(m, "gamma_evidence", [](const Floats& x, const Codes& codes, const Vec& weights, const Tab& weight, const Tab& mean, const Tab& m2, const Tab& all, double var_smoothing, double least, const Starts& place, const Evidence& evidence) {
        auto model = gamma_columns(weight, mean, m2, all, var_smoothing, least);
        Release release;
        return evidence_of(x, hard(codes, weights, rows(x), model.n_classes), model, place, evidence);
    });
    strictly(m, "exponential_losses", [](const Floats& x, const Codes& codes, const Vec& weights, const Tab& sum, const Tab& weight, const Vec& alpha,
                                   const Vec& prior, const Cells& cell, const Codes& size, Index n_cells, Index n_sizes, const OutVector<double>& losses) {
        auto model = exponential_columns(sum, weight, alpha);
        Release release;
        return losses_of(x, hard(codes, weights, rows(x), model.n_classes), model, prior, alike(cell, size, rows(x), cols(x), n_cells, n_sizes), losses);
    });
    strictly(m, "exponential_evidence", [](const Floats& x, const Codes& codes, const Vec& weights, const Tab& sum, const Tab& weight, const Vec& alpha, const Starts& place, const Evidence& evidence) {
        auto model = exponential_columns(sum, weight, alpha);
        Release release;
        return evidence_of(x, hard(codes, weights, rows(x), model.n_classes), model, place, evidence);
    });
    strictly(m, "pooled_losses", [](const Cells& x, const Codes& codes, const Vec& weights, const Tab& count, const Starts& start, const Tab& weight, const Vec& strengths, const Vec& kept,
                              const Vec& prior, const Codes& size, Index n_sizes, const Starts& group, const Starts& group_start, const Out& losses) {
        Release release;
        const auto model = pooled_columns(count, start, weight, nullptr, kept);
        const auto groups = merged(group, group_start, model);
        const auto same = alike_codes(x, size, n_sizes, model, prior);
        require(rows(losses) == cols(x) && cols(losses) == rows(strengths), "losses do not fit the columns");
        return run_pooled_losses(view(x), hard(codes, weights, rows(x), model.n_classes), model, prior.data(), same, groups, strengths.data(), rows(strengths), losses.data());
    });
    strictly(m, "smoothed_losses", [](const Cells& x, const Codes& codes, const Vec& weights, const Tab& count, const Starts& start, const Tab& weight, const Vec& strength, const Vec& strengths, const Vec& kept,
                                const Vec& prior, const Codes& size, Index n_sizes, const Vec& widths, Index fewest, const OutVector<std::int64_t>& width, const Out& losses) {
        Release release;
        const auto model = pooled_columns(count, start, weight, strength.data(), kept);
        const auto same = alike_codes(x, size, n_sizes, model, prior);
        require(rows(strength) == cols(x) && rows(widths) > 0 && rows(width) == cols(x), "widths do not fit the columns");
        require(rows(losses) == cols(x) && cols(losses) == rows(strengths), "losses do not fit the columns");
        return run_smoothed_losses(view(x), hard(codes, weights, rows(x), model.n_classes), model, prior.data(), same, {widths.data(), rows(widths), fewest}, strengths.data(), rows(strengths), width.data(), losses.data());
    });
    strictly(m, "pooled_evidence", [](const Cells& x, const Codes& codes, const Vec& weights, const Tab& count, const Starts& start, const Tab& weight, const Vec& strength, const Vec& kept, const Starts& place, const Evidence& evidence) {
        Release release;
        require(rows(strength) == cols(weight), "strengths do not fit the columns");
        auto model = pooled_columns(count, start, weight, strength.data(), kept);
        model.remember();
        return evidence_of(x, hard(codes, weights, rows(x), model.n_classes), model, place, evidence);
    });
    strictly(m, "fine_edges", [](const Vec& values, Index bins, double same) {
        require(bins > 1 && std::is_sorted(values.data(), values.data() + rows(values)), "values are not in rising order");
        nb::list edges;
        for (double edge : tb::fine_edges(values.data(), rows(values), bins, same)) edges.append(edge);
        return nb::tuple(edges);
    });
    strictly(m, "bin_codes", [](const Vec& values, const Vec& edges, const OutVector<std::int32_t>& codes) {
        Release release;
        require(rows(codes) == rows(values) && std::is_sorted(edges.data(), edges.data() + rows(edges)), "codes do not fit the values");
        return run_bin_codes(values.data(), rows(values), edges.data(), rows(edges), codes.data());
    });
    strictly(m, "units_of", [](const Vec& values, const Vec& weight) {
        require(rows(weight) == rows(values), "values and weights must have one entry a row");
        double mean, deviation;
        {
            Release release;
            tb::units_of(values.data(), weight.data(), rows(values), &mean, &deviation);
        }
        return nb::make_tuple(mean, deviation);
    });
    strictly(m, "partitions", [](const Tab& count, const Starts& start, Index most, const OutVector<std::int64_t>& group) {
        Release release;
        const Index d = rows(start) - 1, k = cols(count);
        check_starts(start, d, rows(count));
        require(rows(group) == rows(count) && k > 0, "groups do not fit the counts");
        for (Index j = 0; j < d; ++j)
            run_partition(count.data() + start.data()[j] * k, start.data()[j + 1] - start.data()[j], k, most, group.data() + start.data()[j]);
    });
    strictly(m, "spread_counts", [](const Tab& count, const Starts& start, const Vec& width, const Out& spread, const OutVector<double>& kept) {
        Release release;
        const Index d = rows(start) - 1, k = cols(count);
        check_starts(start, d, rows(count));
        require(rows(width) == d && rows(spread) == rows(count) && cols(spread) == k && rows(kept) == rows(count), "widths do not fit the counts");
        for (Index j = 0; j < d; ++j) {
            const Index first = start.data()[j], bins = start.data()[j + 1] - first;
            if (width.data()[j] > 0.0 && bins > 1) run_spread(count.data() + first * k, bins, k, width.data()[j], spread.data() + first * k, kept.data() + first);
        }
    });
}
