// Dense matrices of numbers: moments, normal and binned scores, sums.
#include "binding.hpp"
#include "gaussian.hpp"
#include "leave_one_out.hpp"
#include "moments.hpp"
#include "scatter.hpp"

namespace {

using Cubes = nb::ndarray<double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

#define TB_FLOAT_CLONES(T)                                                                                            \
    TB_CLONES Index run_moments(const tb::Matrix<T>& x, const tb::Hard& l, Index k, double* w, double* m, double* m2, \
                                const tb::MomentScratch& s) { return tb::moments(x, l, k, w, m, m2, s); }             \
    TB_CLONES Index run_moments(const tb::Matrix<T>& x, const tb::Soft& l, Index k, double* w, double* m, double* m2, \
                                const tb::MomentScratch& s) { return tb::moments(x, l, k, w, m, m2, s); }             \
    TB_CLONES Index run_scores(const tb::Matrix<T>& x, const tb::Normals& p, double* tile, double* out) {             \
        return tb::gaussian_scores(x, p, tile, out);                                                                  \
    }                                                                                                                 \
    TB_CLONES void run_bins(const tb::Matrix<T>& x, const std::int64_t* column, Index m, Index k,                     \
                            const std::int64_t* start, const double* edges, const double* table, double* out) {       \
        tb::bin_scores(x, column, m, k, start, edges, table, out);                                                    \
    }                                                                                                                 \
    TB_CLONES Index run_loo(const tb::Matrix<T>& x, const tb::Hard& l, const tb::GaussianTally& t,                    \
                            const tb::LooScratch& s, double* out) {                                                   \
        return t.shared ? tb::gaussian_leave_one_out<T, true>(x, l, t, s, out)                                        \
                        : tb::gaussian_leave_one_out<T, false>(x, l, t, s, out);                                      \
    }
TB_FLOATS(TB_FLOAT_CLONES)

#define TB_SCATTER_CLONES(L) \
    TB_CLONES Index run_scatter(const tb::Matrix<double>& x, const L& l, const tb::Units& u, tb::Scatter& s) { return s.count(x, l, u); }
TB_SCATTER_CLONES(tb::Hard)
TB_SCATTER_CLONES(tb::Soft)

template <class L>
Index count_scatter(const Array2<double>& x, const L& labels, const tb::Units& units, const Out& weight, const Out& mean, const Cubes& product) {
    tb::Scatter found(rows(weight), cols(x));
    const Index bad = run_scatter(view(x), labels, units, found);
    found.write(weight.data(), mean.data(), product.data());
    return bad;
}

tb::Units units_of(const Vector<double>& centre, const Vector<double>& scale, double farthest, const Array2<double>& x, const Out& weight, const Out& mean, const Cubes& product) {
    const Index k = rows(weight), d = cols(x);
    require(rows(centre) == d && rows(scale) == d, "there must be one unit a column");
    require(cols(weight) == 1 && rows(mean) == k && cols(mean) == d && rows(product) == k && cols(product) == d && static_cast<Index>(product.shape(2)) == d, "products do not fit the matrix");
    return {centre.data(), scale.data(), farthest};
}

void bind_scatter(nb::module_& m) {
    using Release = nb::call_guard<nb::gil_scoped_release>;
    m.def("scatter", [](const Array2<double>& x, const Codes& codes, const Vector<double>& weights, const Vector<double>& centre, const Vector<double>& scale, double farthest,
                        const Out& weight, const Out& mean, const Cubes& product) {
        return count_scatter(x, hard(codes, weights, rows(x), rows(weight)), units_of(centre, scale, farthest, x, weight, mean, product), weight, mean, product);
    }, "x"_a.noconvert(), "codes"_a.noconvert(), "weights"_a.noconvert(), "centre"_a.noconvert(), "scale"_a.noconvert(), "farthest"_a, "weight"_a.noconvert(), "mean"_a.noconvert(),
       "product"_a.noconvert(), Release());
    m.def("scatter_soft", [](const Array2<double>& x, const Table<double>& weights, const Vector<double>& centre, const Vector<double>& scale, double farthest, const Out& weight,
                             const Out& mean, const Cubes& product) {
        return count_scatter(x, soft(weights, rows(x), rows(weight)), units_of(centre, scale, farthest, x, weight, mean, product), weight, mean, product);
    }, "x"_a.noconvert(), "weights"_a.noconvert(), "centre"_a.noconvert(), "scale"_a.noconvert(), "farthest"_a, "weight"_a.noconvert(), "mean"_a.noconvert(),
       "product"_a.noconvert(), Release());
}

template <class T, class L>
Index add_moments(const Array2<T>& x, const L& labels, const Out& weight, const Out& mean, const Out& m2) {
    const Index k = rows(weight), d = cols(weight);
    require(cols(x) == d && rows(mean) == k && cols(mean) == d && rows(m2) == k && cols(m2) == d, "moments do not fit the matrix");
    if (k * d == 0) return tb::kNone;
    std::vector<double> scratch(static_cast<std::size_t>(4 * k * d + (x.stride(1) == 1 ? 0 : tb::kBlock * d)));
    double* p = scratch.data();
    return run_moments(view(x), labels, k, weight.data(), mean.data(), m2.data(),
                       {p, p + k * d, p + 2 * k * d, p + 3 * k * d, p + 4 * k * d});
}

template <class T>
void bind_floats(nb::module_& m) {
    using Release = nb::call_guard<nb::gil_scoped_release>;
    m.def("moments", [](const Array2<T>& x, const Codes& codes, const Vector<double>& weights, const Out& weight, const Out& mean, const Out& m2) {
        return add_moments(x, hard(codes, weights, rows(x), rows(weight)), weight, mean, m2);
    }, "x"_a.noconvert(), "codes"_a.noconvert(), "weights"_a.noconvert(), "weight"_a.noconvert(), "mean"_a.noconvert(), "m2"_a.noconvert(), Release());
    m.def("moments_soft", [](const Array2<T>& x, const Table<double>& weights, const Out& weight, const Out& mean, const Out& m2) {
        return add_moments(x, soft(weights, rows(x), rows(weight)), weight, mean, m2);
    }, "x"_a.noconvert(), "weights"_a.noconvert(), "weight"_a.noconvert(), "mean"_a.noconvert(), "m2"_a.noconvert(), Release());
    m.def("gaussian_scores", [](const Array2<T>& x, const Table<double>& mean, const Table<double>& precision, const Table<double>& log_norm, const Vector<double>& total, const Out& out) {
        const Index k = rows(mean), d = cols(mean);
        require(cols(x) == d && rows(precision) == k && cols(precision) == d && rows(log_norm) == k && cols(log_norm) == d &&
                rows(total) == k && rows(out) == rows(x) && cols(out) == k, "parameters do not fit the matrix");
        std::vector<double> tile(static_cast<std::size_t>(d * tb::kLanes));
        return run_scores(view(x), {mean.data(), precision.data(), log_norm.data(), total.data(), k}, tile.data(), out.data());
    }, "x"_a.noconvert(), "mean"_a.noconvert(), "precision"_a.noconvert(), "log_norm"_a.noconvert(), "total"_a.noconvert(), "out"_a.noconvert(), Release());
    m.def("bin_scores", [](const Array2<T>& x, const Starts& column, const Starts& start, const Vector<double>& edges, const Table<double>& table, const Out& out) {
        const Index m = rows(column);
        check_starts(start, m, rows(table));
        for (Index j = 0; j < m; ++j) {
            require(start.data()[j + 1] - start.data()[j] >= 2, "a column has no cell");
            require(column.data()[j] >= 0 && column.data()[j] < cols(x), "there is no such column");
        }
        require(rows(edges) == rows(table) - 2 * m, "edges do not fit the cells");
        require(rows(out) == rows(x) && cols(out) == cols(table), "scores do not fit the matrix");
        run_bins(view(x), column.data(), m, cols(table), start.data(), edges.data(), table.data(), out.data());
    }, "x"_a.noconvert(), "column"_a.noconvert(), "start"_a.noconvert(), "edges"_a.noconvert(), "table"_a.noconvert(), "out"_a.noconvert(), Release());
    m.def("gaussian_leave_one_out", [](const Array2<T>& x, const Codes& codes, const Vector<double>& weights, const Table<double>& weight, const Table<double>& mean, const Table<double>& m2,
                                       const Table<double>& all, double var_smoothing, double epsilon, double least, bool shared, bool ignore_constants, const Out& out) {
        const Index k = rows(weight), d = cols(weight);
        require(cols(x) == d && rows(mean) == k && cols(mean) == d && rows(m2) == k && cols(m2) == d && rows(all) == 3 &&
                cols(all) == d && rows(out) == rows(x) && cols(out) == k, "moments do not fit the matrix");
        const Index lanes = d * tb::kLanes, table = k * d;
        std::vector<double> scratch(static_cast<std::size_t>(2 * lanes + 6 * table + 11 * d + 4 * k + 1 + tb::kWide));
        double* free = scratch.data();
        const auto take = [&](Index size) { return std::exchange(free, free + size); };
        const tb::LooScratch s{
            .tile = take(lanes), .precision = take(lanes), .variance = take(table), .scale = take(table), .log_norm = take(table),
            .scale_total = take(k), .log_norm_total = take(k), .steepest = take(k), .within = take(d), .within_weight = take(d),
            .all_variance = take(d), .noise = take(d), .inverse = take(table), .all_inverse = take(d), .within_inverse = take(d),
            .factor = take(table), .all_factor = take(d), .limit = take(table), .table_weight = take(k + 1), .row = take(d),
            .all_deviation = take(d), .all_left = take(d), .own_variance = take(d + tb::kWide)};
        const tb::GaussianTally tally{weight.data(), mean.data(), m2.data(), all.data(), all.data() + d, all.data() + 2 * d,
                                      k, var_smoothing, epsilon, least, shared, ignore_constants};
        return run_loo(view(x), hard(codes, weights, rows(x), k), tally, s, out.data());
    }, "x"_a.noconvert(), "codes"_a.noconvert(), "weights"_a.noconvert(), "weight"_a.noconvert(), "mean"_a.noconvert(), "m2"_a.noconvert(), "all"_a.noconvert(),
       "var_smoothing"_a, "epsilon"_a, "least"_a, "shared"_a, "ignore_constants"_a, "out"_a.noconvert(), Release());
    m.def("dense_sums", [](const Array2<T>& x, const Codes& codes, const Vector<double>& weights, bool binary, double threshold, bool holes, const Out& count, const Out& weight) {
        require(cols(x) == cols(count) && cols(count) == cols(weight) && rows(count) == rows(weight), "counts do not fit the matrix");
        const auto labels = hard(codes, weights, rows(x), rows(count));
        return binary ? tb::dense_sums<T, tb::Hard, true>(view(x), labels, threshold, holes, count.data(), weight.data())
                      : tb::dense_sums<T, tb::Hard, false>(view(x), labels, threshold, holes, count.data(), weight.data());
    }, "x"_a.noconvert(), "codes"_a.noconvert(), "weights"_a.noconvert(), "binary"_a, "threshold"_a, "holes"_a, "count"_a.noconvert(), "weight"_a.noconvert(), Release());
    m.def("dense_sums_soft", [](const Array2<T>& x, const Table<double>& weights, bool binary, double threshold, bool holes, const Out& count, const Out& weight) {
        require(cols(x) == cols(count) && cols(count) == cols(weight) && rows(count) == rows(weight), "counts do not fit the matrix");
        const auto labels = soft(weights, rows(x), rows(count));
        return binary ? tb::dense_sums<T, tb::Soft, true>(view(x), labels, threshold, holes, count.data(), weight.data())
                      : tb::dense_sums<T, tb::Soft, false>(view(x), labels, threshold, holes, count.data(), weight.data());
    }, "x"_a.noconvert(), "weights"_a.noconvert(), "binary"_a, "threshold"_a, "holes"_a, "count"_a.noconvert(), "weight"_a.noconvert(), Release());
}

using Tab = Table<double>;
using Vec = Vector<double>;

tb::MomentTables moments_of(const Tab& weight, const Tab& mean, const Tab& m2, const Vec& rounding) {
    const Index k = rows(weight), d = cols(weight);
    require(rows(mean) == k && cols(mean) == d && rows(m2) == k && cols(m2) == d, "moments do not fit each other");
    require(rows(rounding) == 0 || rows(rounding) == 2 * k * d, "rounding does not fit the moments");
    return {weight.data(), mean.data(), m2.data(), rows(rounding) ? rounding.data() : nullptr, k, d};
}

void bind_moments(nb::module_& m) {
    m.def("merged_moments", [](const Tab& weight, const Tab& mean, const Tab& m2, const Vec& rounding, const Out& out) {
        const auto t = moments_of(weight, mean, m2, rounding);
        require(rows(out) == 3 && cols(out) == t.d, "moments do not fit each other");
        tb::merged_moments(t, out.data());
    });
    m.def("joined_moments", [](const Tab& wa, const Tab& ma, const Tab& sa, const Vec& ra, const Tab& wb, const Tab& mb, const Tab& sb, const Vec& rb, const Out& out) {
        const auto a = moments_of(wa, ma, sa, ra), b = moments_of(wb, mb, sb, rb);
        require(a.n_classes == b.n_classes && a.d == b.d && rows(out) == 5 && cols(out) == a.size(), "moments do not fit each other");
        tb::joined_moments(a, b, out.data());
    });
    m.def("moments_without", [](const Tab& wa, const Tab& ma, const Tab& sa, const Vec& ra, const Tab& wb, const Tab& mb, const Tab& sb, const Vec& rb, const Out& out) {
        const auto a = moments_of(wa, ma, sa, ra), b = moments_of(wb, mb, sb, rb);
        require(a.n_classes == b.n_classes && a.d == b.d && rows(out) == 5 && cols(out) == a.size(), "moments do not fit each other");
        std::vector<double> scratch(static_cast<std::size_t>(6 * a.d));
        const bool was_there = tb::moments_without(a, b, out.data());
        tb::flatten(a, out.data(), scratch.data());
        return was_there;
    });
    m.def("weights_without", [](const Vec& mine, const Vec& theirs, double share, const OutVector<double>& left) {
        require(rows(theirs) == rows(mine) && rows(left) == rows(mine), "weights do not fit each other");
        nb::gil_scoped_release release;  // there may be millions of words
        return tb::weights_without(mine.data(), theirs.data(), rows(mine), share, left.data());
    });
}

}  // namespace

void bind_dense(nb::module_& m) {
    bind_moments(m);
    bind_floats<double>(m);
    bind_floats<float>(m);
    bind_scatter(m);
}
