// The Python face of the kernels: checks shapes, labels and row pointers, lends scratch memory, releases the GIL.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "clues.hpp"
#include "centring.hpp"
#include "columns.hpp"
#include "corrections.hpp"
#include "counts.hpp"
#include "edges.hpp"
#include "gaussian.hpp"
#include "keys.hpp"
#include "leave_one_out.hpp"
#include "mail.hpp"
#include "pairs.hpp"
#include "partition.hpp"
#include "sparse_leave_one_out.hpp"
#include "text.hpp"
#include "tokens.hpp"
#include "weights.hpp"
#include "word_weights.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using tb::Index;

namespace {

template <class T> using Array2 = nb::ndarray<const T, nb::ndim<2>, nb::device::cpu>;
template <class T> using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T> using Table = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T> using OutVector = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Out = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Codes = Vector<std::int32_t>;
using Starts = Vector<std::int64_t>;
using Cube = nb::ndarray<const float, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

void require(bool holds, const char* what) {
    if (!holds) throw std::invalid_argument(what);
}

template <class A> Index rows(const A& a) { return static_cast<Index>(a.shape(0)); }
template <class A> Index cols(const A& a) { return static_cast<Index>(a.shape(1)); }

template <class T>
tb::Matrix<T> view(const Array2<T>& x) {
    return {x.data(), rows(x), cols(x), static_cast<Index>(x.stride(0)), static_cast<Index>(x.stride(1))};
}

Index cube_terms(const Cube& a) { return static_cast<Index>(a.shape(2)); }

tb::Rivals rivals(const Cube& terms, const Vector<double>& weight) {
    require(rows(weight) == rows(terms), "terms and weights must have one entry a row");
    return {terms.data(), weight.data(), rows(terms), cols(terms), cube_terms(terms)};
}

tb::Hard hard(const Codes& codes, const Vector<double>& weight, Index n, Index n_classes) {
    require(rows(codes) == n && rows(weight) == n, "labels and weights must have one entry a row");
    for (Index i = 0; i < n; ++i)
        require(static_cast<std::uint32_t>(codes.data()[i]) < static_cast<std::uint32_t>(n_classes), "a class code is out of range");
    return {codes.data(), weight.data()};
}

tb::Soft soft(const Table<double>& weight, Index n, Index n_classes) {
    require(rows(weight) == n && cols(weight) == n_classes, "responsibilities must have the shape (rows, classes)");
    return {weight.data(), n_classes};
}

// The start of each column's cells must climb from 0 to the number of cells.
void check_starts(const Starts& start, Index d, Index cells) {
    require(rows(start) == d + 1 && start.data()[0] == 0 && start.data()[d] == cells, "cell starts do not fit the table");
    for (Index j = 0; j < d; ++j) require(start.data()[j] <= start.data()[j + 1], "cell starts must not fall");
}

template <class T, class I>
tb::Csr<T, I> csr(const Vector<T>& data, const Vector<I>& column, const Vector<I>& start, Index d) {
    const Index n = rows(start) - 1, stored = rows(data);
    require(n >= 0 && rows(column) == stored, "sparse rows: data and indices differ in length");
    require(static_cast<Index>(start.data()[n]) <= stored && start.data()[0] >= 0, "sparse rows: indptr points outside the data");
    for (Index i = 0; i < n; ++i) require(start.data()[i] <= start.data()[i + 1], "sparse rows: indptr must not fall");
    return {data.data(), column.data(), start.data(), n, d, stored};
}

// One pseudocount for all columns, or one for each.
Index alpha_step(const Vector<double>& alpha, Index d) {
    require(rows(alpha) == 1 || rows(alpha) == d, "there must be one pseudocount, or one a column");
    return rows(alpha) == 1 ? 0 : 1;
}

tb::WordCounts word_counts(const Array2<double>& count, const Vector<double>& alpha) {
    return {view(count), alpha.data(), alpha_step(alpha, rows(count))};
}

tb::YesCounts yes_counts(const Array2<double>& yes, const Array2<double>& weight, const Vector<double>& alpha) {
    require((rows(weight) == 1 || rows(weight) == rows(yes)) && cols(weight) == cols(yes), "weights do not fit the counts");
    auto all = view(weight);
    if (rows(weight) == 1) all.row_stride = 0;
    return {view(yes), all, alpha.data(), alpha_step(alpha, rows(yes))};
}

// ------------------------------------------------------------------------------------------------ clones
// Plain functions, one a type, because a template cannot be compiled for several instruction sets at once.

#define TB_FLOATS(USE) USE(float) USE(double)
#define TB_INTEGERS(USE) USE(std::int8_t) USE(std::int16_t) USE(std::int32_t) USE(std::int64_t) \
    USE(std::uint8_t) USE(std::uint16_t) USE(std::uint32_t) USE(std::uint64_t)

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

#define TB_INTEGER_CLONES(T)                                                                                      \
    TB_CLONES void run_range(const tb::Matrix<T>& x, T* low, T* high) { tb::code_range(x, low, high); }           \
    TB_CLONES void run_table(const tb::Matrix<T>& x, Index k, const std::int64_t* start, const double* table,     \
                             double* out) { tb::table_scores(x, k, start, table, out); }
TB_INTEGERS(TB_INTEGER_CLONES)

#define TB_KEY_CLONES(T)                                                                                          \
    TB_CLONES void run_number_keys(const T* x, Index step, Index n, std::uint64_t own, std::uint64_t* total) {    \
        tb::number_keys(x, step, n, own, total);                                                                  \
    }
TB_FLOATS(TB_KEY_CLONES)
TB_INTEGERS(TB_KEY_CLONES)

#define TB_CSR_CLONES(T, I)                                                                                        \
    TB_CLONES Index run_csr(const tb::Csr<T, I>& x, Index k, bool binary, double t, const double* w, double* out) { \
        return binary ? tb::csr_scores<T, I, true>(x, k, t, w, out) : tb::csr_scores<T, I, false>(x, k, t, w, out); \
    }                                                                                                              \
    TB_CLONES Index run_shares(const tb::Csr<T, I>& x, const double* w, Index k, bool binary, double t, double* out) { \
        return binary ? tb::csr_shares<T, I, true>(x, w, k, t, out) : tb::csr_shares<T, I, false>(x, w, k, t, out); \
    }                                                                                                              \
    TB_CLONES Index run_words(const tb::Csr<T, I>& x, const tb::Hard& l, const tb::WordCounts& c, double* words,   \
                              double* length) { return tb::csr_words_without(x, l, c, words, length); }            \
    TB_CLONES Index run_rivals(const tb::Csr<T, I>& x, const tb::Hard& l, const tb::RivalCounts& c, bool norm,     \
                               const tb::RivalScratch& s, double* out) {                                           \
        return norm ? tb::csr_rivals_without<T, I, true>(x, l, c, s, out)                                          \
                    : tb::csr_rivals_without<T, I, false>(x, l, c, s, out);                                        \
    }
TB_CSR_CLONES(float, std::int32_t)
TB_CSR_CLONES(float, std::int64_t)
TB_CSR_CLONES(double, std::int32_t)
TB_CSR_CLONES(double, std::int64_t)

TB_CLONES void run_all_no(const tb::YesCounts& t, double w, double* scratch, double* own, double* zeros) {
    tb::all_no_without(t, w, scratch, own, zeros);
}

TB_CLONES double run_word_loss(const tb::WordEvidence& e, const tb::Hard& l, Index first, Index last, const double* weight,
                               double* slope, double* posterior) {
    return tb::word_loss(e, l, first, last, weight, slope, posterior);
}

TB_CLONES Index run_corrections(const tb::CellsOfRows& x, const tb::Hard& l, const tb::Shapes& shapes, const double* penalty,
                                double* coefficients, double tolerance, double little, Index memory, Index most) {
    return tb::Corrections(x, l, shapes, penalty).run(coefficients, tolerance, little, memory, most);
}

TB_CLONES void run_add_corrections(const tb::CellsOfRows& x, const double* table, double* scores) {
    tb::add_corrections(x, table, scores);
}

TB_CLONES void run_weights(const tb::Rivals& x, const tb::Pulled& how, Index coarse, double* at) {
    tb::learn_weights(x, how, coarse, at);
}

TB_CLONES void run_rival_losses(const tb::Rivals& x, const float* at, double* out) { tb::rival_losses(x, at, out); }

TB_CLONES void run_loss_rises(const tb::Rivals& x, const float* at, double* out) { tb::loss_rises(x, at, out); }

TB_CLONES void run_constants(const tb::Rivals& x, const std::int32_t* codes, const double* at, const double* prior, double* found, double* says) {
    tb::column_constants(x, codes, at, prior, found, says);
}

TB_CLONES void run_pair_slopes(const tb::GridRows& x, Index left, Index right, const double* strength, Index n_strengths,
                             const tb::PairScratch& s, double* out) { tb::pair_slopes(x, left, right, strength, n_strengths, s, out); }

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
                                  const tb::Alike& a, const double* strengths, Index n, double* losses) {
    return tb::pooled_losses(x, l, t, prior, a, strengths, n, losses);
}

TB_CLONES void run_spread(const double* count, Index bins, Index k, double width, double* spread, double* kept) {
    tb::spread_counts(count, bins, k, width, spread, kept);
}

// ------------------------------------------------------------------------------------------------ bindings

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

// The counts of pairs with their margins.
struct Joints {
    std::vector<std::vector<double>> margins;
    std::vector<tb::Joint> each;
    Joints(Index d, const Starts& start, const Starts& n_right, const Table<double>& count, const Table<double>& weight, const Vector<double>& strength) {
        const Index k = rows(count);
        check_starts(start, d, cols(count));
        require(rows(n_right) == d && rows(weight) == k && cols(weight) == d && rows(strength) == d, "counts do not fit the matrix");
        for (Index j = 0; j < d; ++j) {
            const Index right = n_right.data()[j], n_cells = start.data()[j + 1] - start.data()[j];
            require(right > 0 ? n_cells % right == 0 : right == 0 && n_cells == 0, "combinations do not fit the levels of the second column");
            const Index left = right > 0 ? n_cells / right : 0;
            const double* both = count.data() + start.data()[j];
            margins.emplace_back(static_cast<std::size_t>(k * (left + right)));
            tb::sum_margins(both, cols(count), k, left, right, margins.back().data());
            each.push_back({both, cols(count), margins.back().data(), weight.data() + j, d, left, right});
        }
    }
};

template <class T>
void bind_integers(nb::module_& m) {
    using Release = nb::call_guard<nb::gil_scoped_release>;
    m.def("code_range", [](const Array2<T>& x, const OutVector<T>& low, const OutVector<T>& high) {
        require(rows(x) > 0 && rows(low) == cols(x) && rows(high) == cols(x), "ranges do not fit the matrix");
        run_range(view(x), low.data(), high.data());
    }, "x"_a.noconvert(), "low"_a.noconvert(), "high"_a.noconvert(), Release());
    m.def("code_counts", [](const Array2<T>& x, const Codes& codes, const Vector<double>& weights, const Starts& start, const Out& count) {
        check_starts(start, cols(x), rows(count));
        return tb::code_counts(view(x), hard(codes, weights, rows(x), cols(count)), cols(count), start.data(), count.data());
    }, "x"_a.noconvert(), "codes"_a.noconvert(), "weights"_a.noconvert(), "start"_a.noconvert(), "count"_a.noconvert(), Release());
    m.def("code_counts_soft", [](const Array2<T>& x, const Table<double>& weights, const Starts& start, const Out& count) {
        check_starts(start, cols(x), rows(count));
        return tb::code_counts(view(x), soft(weights, rows(x), cols(count)), cols(count), start.data(), count.data());
    }, "x"_a.noconvert(), "weights"_a.noconvert(), "start"_a.noconvert(), "count"_a.noconvert(), Release());
    m.def("table_scores", [](const Array2<T>& x, const Starts& start, const Table<double>& table, const Out& out) {
        check_starts(start, cols(x), rows(table));
        for (Index j = 0; j < cols(x); ++j) require(start.data()[j] < start.data()[j + 1], "a column has no cell");
        require(rows(out) == rows(x) && cols(out) == cols(table), "scores do not fit the matrix");
        run_table(view(x), cols(table), start.data(), table.data(), out.data());
    }, "x"_a.noconvert(), "start"_a.noconvert(), "table"_a.noconvert(), "out"_a.noconvert(), Release());
    m.def("table_leave_one_out", [](const Array2<T>& x, const Codes& codes, const Vector<double>& weights, const Starts& start, const Table<double>& count, const Table<double>& weight,
                                    const Vector<double>& alpha, const OutVector<double>& own) {
        check_starts(start, cols(x), rows(count));
        require(rows(weight) == cols(count) && cols(weight) == cols(x) && rows(alpha) == cols(x) && rows(own) == rows(x), "counts do not fit the matrix");
        return tb::table_leave_one_out(view(x), hard(codes, weights, rows(x), cols(count)), cols(count), start.data(), count.data(), weight.data(), alpha.data(), own.data());
    }, "x"_a.noconvert(), "codes"_a.noconvert(), "weights"_a.noconvert(), "start"_a.noconvert(), "count"_a.noconvert(), "weight"_a.noconvert(), "alpha"_a.noconvert(), "own"_a.noconvert(), Release());
    m.def("pair_leave_one_out", [](const Array2<T>& x, const Codes& codes, const Vector<double>& weights, const Starts& start, const Starts& n_right, const Table<double>& count, const Table<double>& weight,
                                   const Vector<double>& strength, const OutVector<double>& own) {
        require(rows(own) == rows(x), "there must be one sum a row");
        const auto labels = hard(codes, weights, rows(x), rows(count));
        const Joints joints(cols(x), start, n_right, count, weight, strength);
        for (Index j = 0; j < cols(x); ++j) {
            const Index bad = tb::each_pair_without(view(x), 0, rows(x), j, labels, joints.each[j], strength.data()[j],
                                                    [&](Index i, Index, double lift) { own.data()[i] += lift; });
            if (bad != tb::kNone) return bad;
        }
        return tb::kNone;
    }, "x"_a.noconvert(), "codes"_a.noconvert(), "weights"_a.noconvert(), "start"_a.noconvert(), "n_right"_a.noconvert(), "count"_a.noconvert(), "weight"_a.noconvert(), "strength"_a.noconvert(), "own"_a.noconvert(), Release());
    m.def("pair_evidence", [](const Array2<T>& x, const Codes& codes, const Vector<double>& weights, const Starts& start, const Starts& n_right, const Table<double>& count, const Table<double>& weight,
                              const Vector<double>& strength, const Table<double>& table, const Starts& places, const nb::ndarray<float, nb::ndim<3>, nb::c_contig, nb::device::cpu>& out) {
        const Index n = rows(x), d = cols(x), k = rows(count), step = static_cast<Index>(out.shape(2));
        require(rows(out) == n && cols(out) == k && rows(table) == cols(count) + d && cols(table) == k && rows(places) == d, "evidence does not fit the matrix");
        for (Index j = 0; j < d; ++j) require(0 <= places.data()[j] && places.data()[j] < step, "a pair has no place");
        const auto labels = hard(codes, weights, n, k);
        const Joints joints(d, start, n_right, count, weight, strength);
        constexpr Index kTogether = 64;  // rows whose evidence stays in the cache
        for (Index first = 0; first < n; first += kTogether)
            for (Index j = 0; j < d; ++j) {
                const double* lifts = table.data() + (start.data()[j] + j) * k;  // each pair has a cell more, for unseen values
                const Index bad = tb::pair_evidence(view(x), first, std::min(first + kTogether, n), j, labels, joints.each[j], strength.data()[j], lifts, k,
                                                    out.data() + places.data()[j], step);
                if (bad != tb::kNone) return bad;
            }
        return tb::kNone;
    }, "x"_a.noconvert(), "codes"_a.noconvert(), "weights"_a.noconvert(), "start"_a.noconvert(), "n_right"_a.noconvert(), "count"_a.noconvert(), "weight"_a.noconvert(), "strength"_a.noconvert(),
       "table"_a.noconvert(), "places"_a.noconvert(), "out"_a.noconvert(), Release());
}

template <class T, class I>
void bind_sparse(nb::module_& m) {
    using Release = nb::call_guard<nb::gil_scoped_release>;
    m.def("csr_sums", [](const Vector<T>& data, const Vector<I>& column, const Vector<I>& start, const Codes& codes, const Vector<double>& weights, bool binary, double threshold, const Out& count) {
        const auto x = csr<T, I>(data, column, start, rows(count));
        const auto labels = hard(codes, weights, x.n, cols(count));
        return binary ? tb::csr_sums<T, I, tb::Hard, true>(x, labels, cols(count), threshold, count.data())
                      : tb::csr_sums<T, I, tb::Hard, false>(x, labels, cols(count), threshold, count.data());
    }, "data"_a.noconvert(), "column"_a.noconvert(), "start"_a.noconvert(), "codes"_a.noconvert(), "weights"_a.noconvert(), "binary"_a, "threshold"_a, "count"_a.noconvert(), Release());
    m.def("csr_sums_soft", [](const Vector<T>& data, const Vector<I>& column, const Vector<I>& start, const Table<double>& weights, bool binary, double threshold, const Out& count) {
        const auto x = csr<T, I>(data, column, start, rows(count));
        const auto labels = soft(weights, x.n, cols(count));
        return run_shares(x, labels.weight, cols(count), binary, threshold, count.data());
    }, "data"_a.noconvert(), "column"_a.noconvert(), "start"_a.noconvert(), "weights"_a.noconvert(), "binary"_a, "threshold"_a, "count"_a.noconvert(), Release());
    m.def("csr_scores", [](const Vector<T>& data, const Vector<I>& column, const Vector<I>& start, bool binary, double threshold, const Table<double>& slope, const Out& out) {
        const auto x = csr<T, I>(data, column, start, rows(slope));
        require(rows(out) == x.n && cols(out) == cols(slope), "scores do not fit the matrix");
        return run_csr(x, cols(slope), binary, threshold, slope.data(), out.data());
    }, "data"_a.noconvert(), "column"_a.noconvert(), "start"_a.noconvert(), "binary"_a, "threshold"_a, "slope"_a.noconvert(), "out"_a.noconvert(), Release());
    m.def("csr_in_order", [](const Vector<T>& data, const Vector<I>& column, const Vector<I>& start) {
        return tb::csr_in_order(csr<T, I>(data, column, start, 0));
    }, "data"_a.noconvert(), "column"_a.noconvert(), "start"_a.noconvert(), Release());
    m.def("csr_words_without", [](const Vector<T>& data, const Vector<I>& column, const Vector<I>& start, const Codes& codes, const Vector<double>& weights, const Array2<double>& count, const Vector<double>& alpha,
                                  const OutVector<double>& words, const OutVector<double>& length) {
        const auto x = csr<T, I>(data, column, start, rows(count));
        require(rows(words) == x.n && rows(length) == x.n, "sums do not fit the matrix");
        return run_words(x, hard(codes, weights, x.n, cols(count)), word_counts(count, alpha), words.data(), length.data());
    }, "data"_a.noconvert(), "column"_a.noconvert(), "start"_a.noconvert(), "codes"_a.noconvert(), "weights"_a.noconvert(), "count"_a.noconvert(), "alpha"_a.noconvert(), "words"_a.noconvert(), "length"_a.noconvert(), Release());
    m.def("csr_yes_without", [](const Vector<T>& data, const Vector<I>& column, const Vector<I>& start, const Codes& codes, const Vector<double>& weights, bool binary, double threshold,
                                const Array2<double>& yes, const Array2<double>& weight, const Vector<double>& alpha, const OutVector<double>& own, const OutVector<double>& zeros) {
        const auto x = csr<T, I>(data, column, start, rows(yes));
        require(rows(own) == x.n && rows(zeros) == x.n, "sums do not fit the matrix");
        const auto labels = hard(codes, weights, x.n, cols(yes));
        const auto counts = yes_counts(yes, weight, alpha);
        return binary ? tb::csr_yes_without<T, I, true>(x, labels, counts, threshold, own.data(), zeros.data())
                      : tb::csr_yes_without<T, I, false>(x, labels, counts, threshold, own.data(), zeros.data());
    }, "data"_a.noconvert(), "column"_a.noconvert(), "start"_a.noconvert(), "codes"_a.noconvert(), "weights"_a.noconvert(), "binary"_a, "threshold"_a, "yes"_a.noconvert(), "weight"_a.noconvert(), "alpha"_a.noconvert(), "own"_a.noconvert(), "zeros"_a.noconvert(), Release());
    m.def("csr_rivals_without", [](const Vector<T>& data, const Vector<I>& column, const Vector<I>& start, const Codes& codes, const Vector<double>& weights, const Table<double>& count, const Vector<double>& alpha,
                                   const Vector<double>& word_total, const Vector<double>& other_total, double alpha_total, double heaviest, bool norm, const Vector<double>& logs, const Vector<double>& zeros, const Out& out) {
        const auto x = csr<T, I>(data, column, start, rows(count));
        const Index k = cols(count);
        require(rows(word_total) == x.d && rows(other_total) == k && rows(logs) == k && rows(zeros) == k && rows(out) == x.n && cols(out) == k, "totals do not fit the counts");
        std::vector<double> scratch(static_cast<std::size_t>(7 * k));
        double* p = scratch.data();
        return run_rivals(x, hard(codes, weights, x.n, k), {word_counts(Array2<double>(count), alpha), word_total.data(), other_total.data(), alpha_total, heaviest, logs.data(), zeros.data()},
                          norm, {p, p + k, p + 2 * k, p + 3 * k, p + 4 * k, p + 5 * k, p + 6 * k}, out.data());
    }, "data"_a.noconvert(), "column"_a.noconvert(), "start"_a.noconvert(), "codes"_a.noconvert(), "weights"_a.noconvert(), "count"_a.noconvert(), "alpha"_a.noconvert(), "word_total"_a.noconvert(), "other_total"_a.noconvert(),
       "alpha_total"_a, "heaviest"_a, "norm"_a, "logs"_a.noconvert(), "zeros"_a.noconvert(), "out"_a.noconvert(), Release());
}

// ----------------------------------------------------------------------------------------------- pairs

tb::GridRows grid_rows(const Table<std::int32_t>& codes, const Starts& levels, const Vector<double>& weight, const Starts& start, const Starts& compared, const Table<double>& posterior) {
    const Index d = rows(codes), n = cols(codes), k = rows(posterior);
    require(rows(levels) == d && rows(weight) == n, "levels or weights do not fit the codes");
    check_starts(start, k, n);
    check_starts(compared, k, cols(posterior));
    for (Index j = 0; j < k; ++j)
        require(compared.data()[j + 1] - compared.data()[j] <= start.data()[j + 1] - start.data()[j], "more rows of a class are compared than there are");
    for (Index j = 0; j < d; ++j) {
        std::int32_t most = -1;
        for (Index i = 0; i < n; ++i) most = std::max(most, codes.data()[j * n + i]);
        require(most < levels.data()[j], "a code is out of range");
    }
    bool same = true;
    for (Index i = 0; i < n; ++i) same = same && weight.data()[i] == weight.data()[0];
    return {codes.data(), levels.data(), weight.data(), start.data(), compared.data(), posterior.data(), n, k, same && n ? weight.data()[0] : -1.0};
}

constexpr std::int64_t kMostCells = 1 << 30;  // of a pair, so that they can be numbered

void bind_pairs(nb::module_& m) {
    m.def("pair_slopes", [](const Table<std::int32_t>& codes, const Starts& levels, const Vector<double>& weight, const Starts& start, const Starts& compared, const Table<double>& posterior,
                           const Table<std::int64_t>& pairs, const Vector<double>& strength, const Out& out) {
        const auto x = grid_rows(codes, levels, weight, start, compared, posterior);
        require(cols(pairs) == 2 && rows(out) == rows(pairs) && cols(out) == 2 * rows(strength), "sums do not fit the pairs");
        Index most = 0, margins = 0;
        for (Index i = 0; i < rows(pairs); ++i) {
            const std::int64_t *pair = pairs.data() + 2 * i, d = rows(codes);
            require(0 <= pair[0] && pair[0] < d && 0 <= pair[1] && pair[1] < d, "there is no such column");
            const std::int64_t left = levels.data()[pair[0]], right = levels.data()[pair[1]];
            require(0 <= left && left < kMostCells && 0 <= right && right < kMostCells && left * right < kMostCells, "a pair has too many cells");
            most = std::max<Index>(most, left * right + 1);
            margins = std::max<Index>(margins, left + right);
        }
        std::vector<std::int32_t> cell(static_cast<std::size_t>(x.n));
        std::vector<double> scratch(static_cast<std::size_t>(tb::kHistograms * most + x.n_classes * (5 * most + margins + 1)));
        double* free = scratch.data();
        const auto take = [&](Index size) { return std::exchange(free, free + size); };
        const Index table = x.n_classes * most;
        const tb::PairScratch s{.cell = cell.data(), .histogram = take(tb::kHistograms * most), .both = take(table), .ratio = take(table), .own_ratio = take(table),
                                .table = take(table), .own = take(table), .margins = take(x.n_classes * margins), .total = take(x.n_classes)};
        for (Index i = 0; i < rows(pairs); ++i)
            run_pair_slopes(x, pairs.data()[2 * i], pairs.data()[2 * i + 1], strength.data(), rows(strength), s, out.data() + i * cols(out));
    }, "codes"_a.noconvert(), "levels"_a.noconvert(), "weight"_a.noconvert(), "start"_a.noconvert(), "compared"_a.noconvert(), "posterior"_a.noconvert(), "pairs"_a.noconvert(), "strength"_a.noconvert(), "out"_a.noconvert(),
       nb::call_guard<nb::gil_scoped_release>());
}

// ---------------------------------------------------------------------------------------------- single columns

using Evidence = nb::ndarray<float, nb::ndim<3>, nb::c_contig, nb::device::cpu>;  // (n, K, P)
using Cells = Table<std::int32_t>;

// Cells (n, d) in which rows are alike, from -1 to less than n_cells, and the place of each row's weight among n_sizes.
// No cells: no rows are taken for alike.
tb::Alike alike(const Cells& cell, const Codes& size, Index n, Index d, Index n_cells, Index n_sizes) {
    require(rows(size) == n && n_cells >= 0 && n_sizes > 0, "sizes do not fit the rows");
    for (Index i = 0; i < n; ++i) require(size.data()[i] >= 0 && size.data()[i] < n_sizes, "a size is out of range");
    if (rows(cell) == 0) return {nullptr, size.data(), 0, n_sizes};
    require(rows(cell) == n && cols(cell) == d, "cells do not fit the rows");
    for (Index i = 0; i < n * d; ++i) require(cell.data()[i] >= -1 && cell.data()[i] < n_cells, "a cell is out of range");
    return {cell.data(), size.data(), n_cells, n_sizes};
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

// An argument of another type is refused, not converted: what is written to a copy would be lost.
template <class>
auto exactly() { return nb::arg().noconvert(); }

template <class F, class R, class... A>
void define(nb::module_& m, const char* name, const F& f, R (F::*)(A...) const) { m.def(name, f, exactly<A>()...); }

template <class F>
void strictly(nb::module_& m, const char* name, const F& f) { define(m, name, f, &F::operator()); }

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
                              const Vec& prior, const Codes& size, Index n_sizes, const Out& losses) {
        Release release;
        const auto model = pooled_columns(count, start, weight, nullptr, kept);
        const Index n = rows(x), d = cols(x);
        Index n_cells = 0;
        for (Index j = 0; j < model.d; ++j) n_cells = std::max<Index>(n_cells, start.data()[j + 1] - start.data()[j]);
        require(model.d == d && model.n_classes > 0 && rows(prior) == model.n_classes && rows(losses) == d && cols(losses) == rows(strengths), "losses do not fit the columns");
        const auto same = alike(x, size, n, d, n_cells, n_sizes);
        return run_pooled_losses({x.data(), n, d, d, 1}, hard(codes, weights, n, model.n_classes), model, prior.data(), same, strengths.data(), rows(strengths), losses.data());
    });
    strictly(m, "pooled_evidence", [](const Cells& x, const Codes& codes, const Vec& weights, const Tab& count, const Starts& start, const Tab& weight, const Vec& strength, const Vec& kept, const Starts& place, const Evidence& evidence) {
        Release release;
        require(rows(strength) == cols(weight), "strengths do not fit the columns");
        auto model = pooled_columns(count, start, weight, strength.data(), kept);
        model.remember();
        return evidence_of(Array2<std::int32_t>(x), hard(codes, weights, rows(x), model.n_classes), model, place, evidence);
    });
    strictly(m, "fine_edges", [](const Vec& values, Index bins, double same) {
        require(bins > 1 && std::is_sorted(values.data(), values.data() + rows(values)), "values are not in rising order");
        nb::list edges;
        for (double edge : tb::fine_edges(values.data(), rows(values), bins, same)) edges.append(edge);
        return nb::tuple(edges);
    });
    strictly(m, "partitions", [](const Tab& count, const Starts& start, Index most, const OutVector<std::int64_t>& group) {
        Release release;
        const Index d = rows(start) - 1, k = cols(count);
        check_starts(start, d, rows(count));
        require(rows(group) == rows(count) && k > 0, "groups do not fit the counts");
        for (Index j = 0; j < d; ++j)
            tb::partition(count.data() + start.data()[j] * k, start.data()[j + 1] - start.data()[j], k, most, group.data() + start.data()[j]);
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

// ---------------------------------------------------------------------------------------------- tokens

// Documents and the Python objects that own them.
struct Texts {
    tb::Texts texts;
    nb::list owners;
    Texts() = default;
    Texts(const Texts&) = delete;
};

std::string_view utf8_of(const nb::handle& object, nb::list& owners) {
    if (PyBytes_Check(object.ptr())) return {PyBytes_AsString(object.ptr()), static_cast<std::size_t>(PyBytes_Size(object.ptr()))};
    if (!PyUnicode_Check(object.ptr())) throw nb::type_error("a document must be a string");
    if (nb::cast<bool>(object.attr("isascii")())) {  // its bytes are lent as they are; others are encoded, and given back after use
        Py_ssize_t size = 0;
        const char* data = PyUnicode_AsUTF8AndSize(object.ptr(), &size);
        if (!data) throw nb::python_error();
        return {data, static_cast<std::size_t>(size)};
    }
    nb::object bytes = nb::steal(PyUnicode_AsEncodedString(object.ptr(), "utf-8", "surrogatepass"));
    if (!bytes.is_valid()) throw nb::python_error();
    owners.append(bytes);
    return {PyBytes_AsString(bytes.ptr()), static_cast<std::size_t>(PyBytes_Size(bytes.ptr()))};
}

std::unique_ptr<Texts> texts_of_list(const nb::list& documents) {
    auto made = std::make_unique<Texts>();
    made->owners.append(documents);
    made->texts.documents.reserve(documents.size());
    for (const nb::handle each : documents) {
        const std::string_view text = each.is_none() ? std::string_view{} : utf8_of(each, made->owners);
        made->texts.documents.push_back(each.is_none() || text.data() ? text : std::string_view{"", 0});
    }
    return made;
}

std::unique_ptr<Texts> texts_of_stream(const nb::capsule& stream) {
    auto* source = static_cast<ArrowArrayStream*>(PyCapsule_GetPointer(stream.ptr(), "arrow_array_stream"));
    if (!source) throw nb::python_error();
    auto made = std::make_unique<Texts>();
    nb::gil_scoped_release release;
    tb::each_array(*source, made->texts.arrays, [&](const ArrowArray& array, const auto& text) {
        tb::each_text(array, text, [&](std::string_view found) { made->texts.documents.push_back(found); });
    });
    return made;
}

tb::Cut cut_of(const std::string& words, bool lower, std::int32_t least, std::int32_t most, std::int32_t least_chars, std::int32_t most_chars, std::int32_t bits, const nb::list& stop_words) {
    require(words == "unicode" || words == "sklearn" || words == "lines", "there is no such way to cut text");
    require(1 <= least && least <= most && 0 <= least_chars && least_chars <= most_chars && 0 <= bits && bits <= 30, "n-grams or bits are out of range");
    require(most_chars == 0 || least_chars > 0, "n-grams are out of range");
    tb::Cut cut{words == "unicode" ? tb::Words::unicode : words == "sklearn" ? tb::Words::sklearn : tb::Words::lines, lower, least, most, least_chars, most_chars, bits, {}};
    nb::list owners;
    for (const nb::handle each : stop_words) cut.stop_words.emplace_back(utf8_of(each, owners));
    return cut;
}

// A vector as a NumPy array, without copying.
template <class T, class V>
nb::object array_of(V&& values) {
    auto* kept = new V(std::move(values));
    nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<V*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(reinterpret_cast<T*>(kept->data()), {kept->size()}, owner));
}

tb::Sorted words_of(const Vector<std::uint8_t>& text, const Starts& start) {
    require(rows(start) > 0 && start.data()[0] == 0 && start.data()[rows(start) - 1] == rows(text), "word starts do not fit the text");
    for (Index i = 0; i + 1 < rows(start); ++i) require(start.data()[i] <= start.data()[i + 1], "word starts must not fall");
    return {text.data(), start.data(), rows(start) - 1};
}

template <class I>
void check_row_starts(const Vector<I>& start, Index entries) {
    require(rows(start) > 0 && start.data()[0] == 0 && start.data()[rows(start) - 1] == entries, "row pointers do not fit the counts");
    for (Index i = 0; i + 1 < rows(start); ++i) require(start.data()[i] <= start.data()[i + 1], "row pointers must not fall");
}

template <class T>
void bind_number_keys(nb::module_& m) {
    m.def("number_keys", [](const nb::ndarray<const T, nb::ndim<1>, nb::device::cpu>& x, std::uint64_t own, const OutVector<std::uint64_t>& total) {
        require(rows(x) == rows(total), "there must be one key a row");
        run_number_keys(x.data(), static_cast<Index>(x.stride(0)), rows(x), own, total.data());
    }, "x"_a.noconvert(), "own"_a, "total"_a.noconvert(), nb::call_guard<nb::gil_scoped_release>());
}

void bind_keys(nb::module_& m) {
    using Release = nb::call_guard<nb::gil_scoped_release>;
    bind_number_keys<double>(m);
    bind_number_keys<float>(m);
    bind_number_keys<std::int64_t>(m);
    bind_number_keys<std::int32_t>(m);
    bind_number_keys<std::int16_t>(m);
    bind_number_keys<std::int8_t>(m);
    bind_number_keys<std::uint8_t>(m);
    bind_number_keys<std::uint16_t>(m);
    bind_number_keys<std::uint32_t>(m);
    bind_number_keys<std::uint64_t>(m);
    m.def("code_keys", [](const Codes& codes, const Vector<std::uint64_t>& table, const OutVector<std::uint64_t>& total) {
        const Index n = rows(codes), missing = rows(table) - 1;
        require(n == rows(total) && missing >= 0, "there must be one key a row, and one for missing values");
        for (Index i = 0; i < n; ++i) {
            const Index code = codes.data()[i];
            require(code <= missing, "a code is out of range");
            total.data()[i] += table.data()[code < 0 ? missing : code];
        }
    }, "codes"_a.noconvert(), "table"_a.noconvert(), "total"_a.noconvert(), Release());
    m.def("text_keys", [](const Texts& t, std::size_t first, std::uint64_t own, const OutVector<std::uint64_t>& total) {
        const auto n = static_cast<std::size_t>(rows(total));
        require(first + n <= t.texts.documents.size(), "there must be one key a row");
        for (std::size_t i = 0; i < n; ++i) {
            const std::string_view text = t.texts.documents[first + i];
            total.data()[i] += tb::spread((text.data() ? tb::text_key(text) : tb::kMissingKey) + own);
        }
    }, "texts"_a, "first"_a, "own"_a, "total"_a.noconvert(), Release());
    m.def("text_key", [](const nb::bytes& text) { return tb::text_key({text.c_str(), text.size()}); }, "text"_a);
}

void bind_tokens(nb::module_& m) {
    using Release = nb::call_guard<nb::gil_scoped_release>;
    nb::class_<tb::Cut>(m, "Cut");
    m.def("cut", cut_of, "words"_a, "lower"_a, "least"_a, "most"_a, "least_chars"_a, "most_chars"_a, "bits"_a, "stop_words"_a);
    nb::class_<Texts>(m, "Texts").def("__len__", [](const Texts& t) { return t.texts.documents.size(); });
    m.def("texts_of_list", [](const nb::list& documents) { return texts_of_list(documents); }, "documents"_a);
    m.def("texts_of_stream", [](const nb::capsule& stream) { return texts_of_stream(stream); }, "stream"_a);
    m.def("missing_texts", [](const Texts& t, const OutVector<std::uint8_t>& missing) {
        require(rows(missing) == static_cast<Index>(t.texts.documents.size()), "one flag for each document");
        for (std::size_t i = 0; i < t.texts.documents.size(); ++i) missing.data()[i] = t.texts.documents[i].data() == nullptr;
    }, "texts"_a, "missing"_a.noconvert(), Release());
    m.def("count_tokens", [](const Texts& t, std::size_t first, std::size_t last, const tb::Cut& cut) {
        require(first <= last && last <= t.texts.documents.size(), "there are fewer documents");
        tb::Counted counted;
        {
            nb::gil_scoped_release release;
            counted = tb::count_tokens(t.texts, first, last, cut);
        }
        return nb::make_tuple(array_of<float>(std::move(counted.data)), array_of<std::int32_t>(std::move(counted.column)), array_of<std::int64_t>(std::move(counted.start)),
                              array_of<std::uint8_t>(std::move(counted.text)), array_of<std::int64_t>(std::move(counted.word_start)));
    }, "texts"_a, "first"_a, "last"_a, "cut"_a);
    const auto weigh = [&]<class I>(I) {
        m.def("weigh_counts", [](const Vector<float>& count, const Vector<I>& start, bool damped, bool scaled, const OutVector<double>& out) {
            check_row_starts(start, rows(count));
            require(rows(out) == rows(count), "one weight for each count");
            tb::weigh_counts(count.data(), start.data(), rows(start) - 1, damped, scaled, out.data());
        }, "count"_a.noconvert(), "start"_a.noconvert(), "damped"_a, "scaled"_a, "out"_a.noconvert(), Release());
    };
    weigh(std::int32_t{});
    weigh(std::int64_t{});
    m.def("list_tokens", [](const Texts& t, std::size_t number, const tb::Cut& cut) {
        require(number < t.texts.documents.size(), "there are fewer documents");
        tb::Listing listing;
        if (t.texts.documents[number].data()) tb::Cutter<tb::Listing>(cut, listing).document(t.texts.documents[number]);
        nb::list found;
        for (std::size_t i = 0; i < listing.tokens.size(); ++i)
            found.append(nb::make_tuple(nb::bytes(listing.tokens[i].data(), listing.tokens[i].size()), listing.spans[i].first, listing.spans[i].last, listing.lengths[i]));
        return found;
    }, "texts"_a, "number"_a, "cut"_a);
    m.def("strongest", [](const Table<double>& said, const Starts& start, Index most, const OutVector<std::uint8_t>& chosen) {
        check_row_starts(start, rows(said));
        require(rows(chosen) == rows(said), "one flag for each entry");
        tb::strongest(said.data(), start.data(), rows(start) - 1, cols(said), most, chosen.data());
    }, "said"_a.noconvert(), "start"_a.noconvert(), "most"_a, "chosen"_a.noconvert(), Release());
    m.def("said_without", [](const Table<double>& count, const Vector<double>& weight, double alpha, const Starts& start, const Vector<std::int32_t>& word, const Codes& codes, const Vector<double>& weights,
                             const Out& said) {
        check_row_starts(start, rows(word));
        require(rows(weight) == cols(count) && rows(said) == rows(word) && cols(said) == cols(count), "shapes do not fit");
        require(rows(codes) == rows(start) - 1 && rows(weights) == rows(codes), "one label and weight for each row");
        require(std::all_of(word.data(), word.data() + rows(word), [&](std::int32_t w) { return 0 <= w && w < rows(count); }), "a word is out of range");
        require(std::all_of(codes.data(), codes.data() + rows(codes), [&](std::int32_t c) { return 0 <= c && c < cols(count); }), "a class is out of range");
        return tb::said_without(count.data(), weight.data(), cols(count), alpha, start.data(), word.data(), rows(codes), codes.data(), weights.data(), said.data());
    }, "count"_a.noconvert(), "weight"_a.noconvert(), "alpha"_a, "start"_a.noconvert(), "word"_a.noconvert(), "codes"_a.noconvert(), "weights"_a.noconvert(), "said"_a.noconvert(), Release());
    nb::class_<tb::TokenBag>(m, "TokenBag")
        .def(nb::init<>())
        .def("add", [](tb::TokenBag& bag, const nb::list& tokens) {
            nb::list owners;
            for (const nb::handle token : tokens) bag.add(utf8_of(token, owners));
        }, "tokens"_a)
        .def("add_words", [](tb::TokenBag& bag, const nb::str& tag, const nb::str& text) {
            nb::list owners;
            bag.add_words(utf8_of(tag, owners), utf8_of(text, owners));
        }, "tag"_a, "text"_a)
        .def("add_header", [](tb::TokenBag& bag, const nb::str& name, int how, const nb::str& value) {
            require(0 <= how && how <= static_cast<int>(tb::TokenBag::How::date), "no such way to read a header");
            nb::list owners;
            bag.add_header(utf8_of(name, owners), static_cast<tb::TokenBag::How>(how), utf8_of(value, owners));
        }, "name"_a, "how"_a, "value"_a)
        .def("add_text", [](tb::TokenBag& bag, const nb::str& text, const nb::list& links) {
            nb::list owners;
            for (const nb::handle link : links) bag.add_link(utf8_of(link, owners));
            bag.add_text(utf8_of(text, owners));
        }, "text"_a, "links"_a)
        .def("document", [](const tb::TokenBag& bag) {
            const std::string lines = bag.document();
            return nb::steal<nb::str>(PyUnicode_DecodeUTF8(lines.data(), static_cast<Py_ssize_t>(lines.size()), "replace"));
        });
    m.def("hash_token", [](const nb::bytes& token, std::int32_t bits) {
        require(1 <= bits && bits <= 30, "bits are out of range");
        return tb::hashed({token.c_str(), token.size()}) >> (64 - bits);
    }, "token"_a, "bits"_a);
    m.def("words_in", [](const Vector<std::uint8_t>& text, const Starts& start, const Vector<std::uint8_t>& other_text, const Starts& other_start, const OutVector<std::int32_t>& places) {
        const auto words = words_of(text, start);
        require(rows(places) == words.size, "one place for each word");
        tb::places_in(words, words_of(other_text, other_start), places.data());
    }, "text"_a.noconvert(), "start"_a.noconvert(), "other_text"_a.noconvert(), "other_start"_a.noconvert(), "places"_a.noconvert(), Release());
    m.def("unite_words", [](const Vector<std::uint8_t>& text, const Starts& start, const Vector<std::uint8_t>& other_text, const Starts& other_start, const OutVector<std::int32_t>& mine, const OutVector<std::int32_t>& theirs) {
        const auto words = words_of(text, start), others = words_of(other_text, other_start);
        require(rows(mine) == words.size && rows(theirs) == others.size, "one place for each word");
        std::vector<char> joined;
        std::vector<std::int64_t> joined_start;
        {
            nb::gil_scoped_release release;
            tb::united(words, others, joined, joined_start, mine.data(), theirs.data());
        }
        return nb::make_tuple(array_of<std::uint8_t>(std::move(joined)), array_of<std::int64_t>(std::move(joined_start)));
    }, "text"_a.noconvert(), "start"_a.noconvert(), "other_text"_a.noconvert(), "other_start"_a.noconvert(), "mine"_a.noconvert(), "theirs"_a.noconvert());
    m.def("are_sorted", [](const Vector<std::uint8_t>& text, const Starts& start) {
        const auto words = words_of(text, start);
        for (std::int64_t i = 1; i < words.size; ++i)
            if (!(words[i - 1] < words[i])) return false;
        return true;
    }, "text"_a.noconvert(), "start"_a.noconvert(), Release());
}

}  // namespace

NB_MODULE(_native, m) {
    using Release = nb::call_guard<nb::gil_scoped_release>;
    bind_floats<double>(m);
    bind_floats<float>(m);
    bind_integers<std::int64_t>(m);
    bind_integers<std::int32_t>(m);
    bind_integers<std::int16_t>(m);
    bind_integers<std::int8_t>(m);
    bind_integers<std::uint8_t>(m);
    bind_integers<std::uint16_t>(m);
    bind_integers<std::uint32_t>(m);
    bind_integers<std::uint64_t>(m);
    bind_sparse<double, std::int32_t>(m);
    bind_sparse<double, std::int64_t>(m);
    bind_sparse<float, std::int32_t>(m);
    bind_sparse<float, std::int64_t>(m);
    bind_keys(m);
    bind_pairs(m);
    bind_tokens(m);
    bind_columns(m);
    m.def("all_no_without", [](const Array2<double>& yes, const Array2<double>& weight, const Vector<double>& alpha, double w, const OutVector<double>& own, const OutVector<double>& zeros) {
        const Index k = cols(yes);
        require(rows(own) == k && rows(zeros) == k, "sums do not fit the counts");
        std::vector<double> scratch(static_cast<std::size_t>(4 * k));
        run_all_no(yes_counts(yes, weight, alpha), w, scratch.data(), own.data(), zeros.data());
    }, "yes"_a.noconvert(), "weight"_a.noconvert(), "alpha"_a.noconvert(), "w"_a, "own"_a.noconvert(), "zeros"_a.noconvert(), Release());
    m.def("all_no_series", [](const Array2<double>& yes, const Array2<double>& weight, const Vector<double>& alpha, double most, const Out& coefficient, const nb::ndarray<std::uint8_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>& near) {
        const Index k = cols(yes);
        require(rows(coefficient) == tb::kTerms && cols(coefficient) == k && rows(near) == rows(yes) && cols(near) == k, "terms do not fit the counts");
        std::vector<double> scratch(static_cast<std::size_t>(4 * k));
        tb::all_no_series(yes_counts(yes, weight, alpha), most, scratch.data(), coefficient.data(), near.data());
    }, "yes"_a.noconvert(), "weight"_a.noconvert(), "alpha"_a.noconvert(), "most"_a, "coefficient"_a.noconvert(), "near"_a.noconvert(), Release());
    m.def("all_no_of_rows", [](const Codes& codes, const Vector<double>& weights, const Array2<double>& yes, const Array2<double>& weight, const Vector<double>& alpha, const Table<double>& coefficient, const Starts& start,
                               const Starts& column, const OutVector<double>& own, const OutVector<double>& zeros) {
        const Index n = rows(own), k = cols(yes);
        require(rows(zeros) == n && rows(coefficient) == tb::kTerms && cols(coefficient) == k, "terms do not fit the counts");
        check_starts(start, k, rows(column));
        for (Index q = 0; q < rows(column); ++q)
            require(static_cast<std::uint64_t>(column.data()[q]) < static_cast<std::uint64_t>(rows(yes)), "a column is out of range");
        tb::all_no_of_rows(hard(codes, weights, n, k), n, yes_counts(yes, weight, alpha), {coefficient.data(), start.data(), column.data()}, own.data(), zeros.data());
    }, "codes"_a.noconvert(), "weights"_a.noconvert(), "yes"_a.noconvert(), "weight"_a.noconvert(), "alpha"_a.noconvert(), "coefficient"_a.noconvert(), "start"_a.noconvert(), "column"_a.noconvert(), "own"_a.noconvert(), "zeros"_a.noconvert(), Release());
    m.def("best_class", [](const Table<double>& evidence, const Vector<double>& log_prior, const Vector<double>& fallback, const OutVector<std::int64_t>& best) {
        const Index n = rows(evidence), k = cols(evidence);
        require(k > 0 && rows(log_prior) == k && rows(fallback) == k && rows(best) == n, "scores do not fit the prior");
        return tb::best_class(evidence.data(), n, k, log_prior.data(), fallback.data(), best.data());
    }, "evidence"_a.noconvert(), "log_prior"_a.noconvert(), "fallback"_a.noconvert(), "best"_a.noconvert(), Release());
    m.def("normalise", [](const Out& evidence, const Vector<double>& log_prior, const Vector<double>& fallback, bool logs) {
        const Index n = rows(evidence), k = cols(evidence);
        require(k > 0 && rows(log_prior) == k && rows(fallback) == k, "scores do not fit the prior");
        return tb::normalise(evidence.data(), n, k, log_prior.data(), fallback.data(), logs);
    }, "evidence"_a.noconvert(), "log_prior"_a.noconvert(), "fallback"_a.noconvert(), "logs"_a, Release());
    m.def("responsibilities", [](const Out& joint, const Vector<double>& fallback, const Codes& group, const Codes& codes, const Vector<double>& weight) {
        const Index n = rows(joint), k = cols(joint);
        require(k > 0 && rows(fallback) == k && rows(group) == k, "scores do not fit the components");
        require(rows(codes) == n && rows(weight) == n, "labels and weights must have one entry a row");
        return tb::responsibilities(joint.data(), n, k, fallback.data(), group.data(), codes.data(), weight.data());
    }, "joint"_a.noconvert(), "fallback"_a.noconvert(), "group"_a.noconvert(), "codes"_a.noconvert(), "weight"_a.noconvert(), Release());
    m.def("normalise_without", [](const Out& evidence, const Vector<double>& log_prior, const Codes& codes, const Vector<double>& own_log_prior) {
        const Index n = rows(evidence), k = cols(evidence);
        require(k > 0 && rows(log_prior) == k, "scores do not fit the prior");
        const auto own = hard(codes, own_log_prior, n, k);
        std::vector<double> scratch(static_cast<std::size_t>(2 * k));
        return tb::normalise_without(evidence.data(), n, k, log_prior.data(), own.codes, own.weight, scratch.data());
    }, "evidence"_a.noconvert(), "log_prior"_a.noconvert(), "codes"_a.noconvert(), "own_log_prior"_a.noconvert(), Release());
    m.def("word_loss", [](const Table<float>& terms, const Codes& word, const Starts& start, const Table<double>& base, const Codes& codes, const Vector<double>& weights, Index first, Index last,
                          const Vector<double>& weight, const OutVector<double>& slope, const Out& posterior) {
        const Index n = rows(base), k = cols(base);
        check_starts(start, n, rows(terms));
        require(k > 0 && cols(terms) == k && rows(word) == rows(terms) && rows(weight) == rows(slope), "words do not fit their evidence");
        require(rows(posterior) == n && cols(posterior) == k && 0 <= first && first <= last && last <= n, "documents do not fit");
        for (std::int64_t j = start.data()[first]; j < start.data()[last]; ++j)
            require(word.data()[j] >= 0 && word.data()[j] < rows(weight), "a word has no weight");
        return run_word_loss({terms.data(), word.data(), start.data(), base.data(), k}, hard(codes, weights, n, k), first, last, weight.data(), slope.data(), posterior.data());
    }, "terms"_a.noconvert(), "word"_a.noconvert(), "start"_a.noconvert(), "base"_a.noconvert(), "codes"_a.noconvert(), "weights"_a.noconvert(), "first"_a, "last"_a,
       "weight"_a.noconvert(), "slope"_a.noconvert(), "posterior"_a.noconvert(), Release());
    m.def("fit_corrections", [](const Table<std::int32_t>& cell, const Table<double>& base, const Codes& codes, const Vector<double>& weights, const Starts& cells, const Starts& coefficients, const Vector<double>& shape, const Starts& start, const Vector<double>& penalty, const Out& at, double tolerance, double little, Index memory, Index most) {
        const Index n = rows(base), k = cols(base), d = cols(cell);
        require(k > 0 && rows(cell) == n && rows(cells) == d + 1 && rows(coefficients) == d + 1 && rows(start) == d, "cells do not fit their columns");
        require(cells.data()[0] == 0 && coefficients.data()[0] == 0, "cells begin at zero");
        for (Index j = 0; j < d; ++j) {
            const Index own = cells.data()[j + 1] - cells.data()[j], few = coefficients.data()[j + 1] - coefficients.data()[j], at_ = start.data()[j];
            require(own >= 0 && few >= 0 && (at_ < 0 ? own == few : at_ + own * few <= rows(shape)), "shapes do not fit their cells");
        }
        require(rows(penalty) == coefficients.data()[d] && rows(at) == rows(penalty) && cols(at) == k && memory > 0, "coefficients do not fit their cells");
        for (Index j = 0; j < n * d; ++j) require(cell.data()[j] < cells.data()[d], "a cell has no correction");
        return run_corrections({cell.data(), n, d, base.data(), k}, hard(codes, weights, n, k), {cells.data(), coefficients.data(), shape.data(), start.data()}, penalty.data(), at.data(), tolerance, little, memory, most);
    }, "cell"_a.noconvert(), "base"_a.noconvert(), "codes"_a.noconvert(), "weights"_a.noconvert(), "cells"_a.noconvert(), "coefficients"_a.noconvert(), "shape"_a.noconvert(), "start"_a.noconvert(), "penalty"_a.noconvert(), "at"_a.noconvert(), "tolerance"_a, "little"_a, "memory"_a, "most"_a, Release());
    m.def("add_corrections", [](const Table<std::int32_t>& cell, const Table<double>& table, const Out& scores) {
        require(rows(cell) == rows(scores) && cols(table) == cols(scores), "cells do not fit the scores");
        for (Index j = 0; j < rows(cell) * cols(cell); ++j) require(cell.data()[j] < rows(table), "a cell has no correction");
        run_add_corrections({cell.data(), rows(cell), cols(cell), nullptr, cols(scores)}, table.data(), scores.data());
    }, "cell"_a.noconvert(), "table"_a.noconvert(), "scores"_a.noconvert(), Release());
    m.def("learn_weights", [](const Cube& terms, const Vector<double>& weight, const Vector<double>& centre, const OutVector<double>& at, double pull, Index fixed, Index coarse, double tolerance) {
        require(rows(centre) == cube_terms(terms) && rows(at) == rows(centre) && coarse > 0, "weights do not fit their terms");
        run_weights(rivals(terms, weight), {centre.data(), pull, fixed, tolerance}, coarse, at.data());
    }, "terms"_a.noconvert(), "weight"_a.noconvert(), "centre"_a.noconvert(), "at"_a.noconvert(), "pull"_a, "fixed"_a, "coarse"_a, "tolerance"_a, Release());
    m.def("rival_losses", [](const Cube& terms, const Vector<double>& weight, const Vector<float>& at, const OutVector<double>& losses) {
        require(rows(at) == cube_terms(terms) && rows(losses) == rows(terms), "weights do not fit their terms");
        run_rival_losses(rivals(terms, weight), at.data(), losses.data());
    }, "terms"_a.noconvert(), "weight"_a.noconvert(), "at"_a.noconvert(), "losses"_a.noconvert(), Release());
    m.def("loss_rises", [](const Cube& terms, const Vector<double>& weight, const Vector<float>& at, const OutVector<double>& rises) {
        require(rows(at) == cube_terms(terms) && rows(rises) == rows(at), "weights do not fit their terms");
        run_loss_rises(rivals(terms, weight), at.data(), rises.data());
    }, "terms"_a.noconvert(), "weight"_a.noconvert(), "at"_a.noconvert(), "rises"_a.noconvert(), Release());
    m.def("column_constants", [](const Cube& terms, const Codes& codes, const Vector<double>& weight, const Vector<double>& at, const Vector<double>& log_prior, const Out& found, const OutVector<double>& says) {
        const tb::Rivals x = rivals(terms, weight);
        require(rows(at) == x.n_terms && x.n_terms > 0 && rows(log_prior) == x.rivals + 1, "weights do not fit their terms");
        require(rows(found) == x.n_terms - 1 && cols(found) == x.rivals + 1 && rows(says) == rows(found), "constants do not fit their terms");
        hard(codes, weight, x.n, x.rivals + 1);
        run_constants(x, codes.data(), at.data(), log_prior.data(), found.data(), says.data());
    }, "terms"_a.noconvert(), "codes"_a.noconvert(), "weight"_a.noconvert(), "at"_a.noconvert(), "log_prior"_a.noconvert(), "found"_a.noconvert(), "says"_a.noconvert(), Release());
    m.def("list_text", [](const nb::capsule& stream, const OutVector<std::int32_t>& places) {
        auto* source = static_cast<ArrowArrayStream*>(PyCapsule_GetPointer(stream.ptr(), "arrow_array_stream"));
        if (!source) throw nb::python_error();
        std::vector<tb::Lent<ArrowArray>> arrays;
        tb::StringList list;
        {
            nb::gil_scoped_release release;
            tb::list_text(*source, arrays, list, places.data(), rows(places));
        }
        nb::list strings;
        for (const auto& text : list.strings) strings.append(nb::str(text.data(), text.size()));
        return strings;
    }, "stream"_a, "places"_a.noconvert());
}
