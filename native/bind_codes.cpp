// Matrices of level codes: counts, table scores, pairs.
#include "binding.hpp"
#include "leave_one_out.hpp"
#include "pairs.hpp"

namespace {

#define TB_INTEGER_CLONES(T)                                                                                      \
    TB_CLONES void run_range(const tb::Matrix<T>& x, T* low, T* high) { tb::code_range(x, low, high); }           \
    TB_CLONES void run_table(const tb::Matrix<T>& x, Index k, const std::int64_t* start, const double* table,     \
                             double* out) { tb::table_scores(x, k, start, table, out); }
TB_INTEGERS(TB_INTEGER_CLONES)

TB_CLONES void run_lifts(const tb::Joint& joint, Index k, double strength, double* table) { tb::lift_table(joint, k, strength, table); }

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
            tb::OwnLifts known((start.data()[j + 1] - start.data()[j]) * rows(count));
            const Index bad = tb::each_pair_without(view(x), 0, rows(x), j, labels, rows(count), joints.each[j], strength.data()[j], known,
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
        std::vector<tb::OwnLifts> known;
        for (Index j = 0; j < d; ++j) known.emplace_back((start.data()[j + 1] - start.data()[j]) * k);
        constexpr Index kTogether = 64;  // rows whose evidence stays in the cache
        for (Index first = 0; first < n; first += kTogether)
            for (Index j = 0; j < d; ++j) {
                const double* lifts = table.data() + (start.data()[j] + j) * k;  // each pair has a cell more, for unseen values
                const Index bad = tb::pair_evidence(view(x), first, std::min(first + kTogether, n), j, labels, joints.each[j], strength.data()[j], known[j], lifts, k,
                                                    out.data() + places.data()[j], step);
                if (bad != tb::kNone) return bad;
            }
        return tb::kNone;
    }, "x"_a.noconvert(), "codes"_a.noconvert(), "weights"_a.noconvert(), "start"_a.noconvert(), "n_right"_a.noconvert(), "count"_a.noconvert(), "weight"_a.noconvert(), "strength"_a.noconvert(),
       "table"_a.noconvert(), "places"_a.noconvert(), "out"_a.noconvert(), Release());
}

}  // namespace

void bind_codes(nb::module_& m) {
    m.def("pair_lifts", [](const Starts& start, const Starts& n_right, const Table<double>& count, const Table<double>& weight, const Vector<double>& strength, const Out& table) {
        const Index d = rows(strength), k = rows(count);
        require(rows(table) == cols(count) && cols(table) == k, "lifts do not fit the counts");
        const Joints joints(d, start, n_right, count, weight, strength);
        for (Index j = 0; j < d; ++j) run_lifts(joints.each[j], k, strength.data()[j], table.data() + start.data()[j] * k);
    }, "start"_a.noconvert(), "n_right"_a.noconvert(), "count"_a.noconvert(), "weight"_a.noconvert(), "strength"_a.noconvert(), "table"_a.noconvert(), nb::call_guard<nb::gil_scoped_release>());
    bind_integers<std::int64_t>(m);
    bind_integers<std::int32_t>(m);
    bind_integers<std::int16_t>(m);
    bind_integers<std::int8_t>(m);
    bind_integers<std::uint8_t>(m);
    bind_integers<std::uint16_t>(m);
    bind_integers<std::uint32_t>(m);
    bind_integers<std::uint64_t>(m);
}
