// Sparse rows: sums, scores, leave-one-out of words.
#include "binding.hpp"
#include "sparse_leave_one_out.hpp"

namespace {

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

#define TB_CSR_CLONES(T, I)                                                                                        \
    TB_CLONES Index run_csr(const tb::Csr<T, I>& x, Index k, bool binary, double t, const double* w, double* out) { \
        return binary ? tb::csr_scores<T, I, true>(x, k, t, w, out) : tb::csr_scores<T, I, false>(x, k, t, w, out); \
    }                                                                                                              \
    TB_CLONES Index run_sums(const tb::Csr<T, I>& x, const tb::Hard& l, Index k, bool binary, double t, double* out) { \
        return binary ? tb::csr_sums<T, I, true>(x, l, k, t, out) : tb::csr_sums<T, I, false>(x, l, k, t, out);    \
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

template <class T, class I>
void bind_rows(nb::module_& m) {
    using Release = nb::call_guard<nb::gil_scoped_release>;
    m.def("csr_sums", [](const Vector<T>& data, const Vector<I>& column, const Vector<I>& start, const Codes& codes, const Vector<double>& weights, bool binary, double threshold, const Out& count) {
        const auto x = csr<T, I>(data, column, start, rows(count));
        const auto labels = hard(codes, weights, x.n, cols(count));
        return run_sums(x, labels, cols(count), binary, threshold, count.data());
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

}  // namespace

void bind_sparse(nb::module_& m) {
    using Release = nb::call_guard<nb::gil_scoped_release>;
    bind_rows<double, std::int32_t>(m);
    bind_rows<double, std::int64_t>(m);
    bind_rows<float, std::int32_t>(m);
    bind_rows<float, std::int64_t>(m);
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
}
