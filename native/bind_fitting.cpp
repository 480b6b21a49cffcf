// What is fitted to the evidence of rows: weights, corrections, constants, the gain of pairs.
#include "binding.hpp"
#include "centring.hpp"
#include "corrections.hpp"
#include "interactions.hpp"
#include "pairs.hpp"
#include "stacking.hpp"
#include "weights.hpp"
#include "word_weights.hpp"

namespace {

Index cube_terms(const Cube& a) { return static_cast<Index>(a.shape(2)); }

tb::Rivals rivals(const Cube& terms, const Vector<double>& weight) {
    require(rows(weight) == rows(terms), "terms and weights must have one entry a row");
    return {terms.data(), weight.data(), rows(terms), cols(terms), cube_terms(terms)};
}

TB_CLONES double run_word_slopes(const tb::WordTable& t, const tb::TextRows& x, const tb::Hard& l, const double* base, const float* factor, Index first, Index last,
                                 tb::WordScratch& s, double* slopes) {
    return tb::word_slopes(t, x, l, base, factor, first, last, s, slopes);
}

TB_CLONES void run_word_evidence(const tb::WordTable& t, Index n_words, float* evidence) { tb::word_evidence(t, n_words, evidence); }

TB_CLONES void run_word_scores(const float* evidence, Index n_classes, const tb::TextRows& x, const std::int64_t* chosen, Index n, const float* weight, Index m,
                               float* sum, double* scores) {
    tb::word_scores(evidence, n_classes, x, chosen, n, weight, m, sum, scores);
}

TB_CLONES Index run_word_table(const tb::TextRows& x, const tb::Hard& l, const std::int64_t* without, Index n, Index n_words, Index n_classes, float alpha, bool rivals,
                               float* count, float* total) {
    return tb::word_table(x, l, without, n, n_words, n_classes, alpha, rivals, count, total);
}

TB_CLONES bool run_rival_words(const tb::RivalWords& r, const tb::Hard& l, const std::int64_t* start, const std::int32_t* word, const double* amount, Index n, double* mass, double* terms) {
    return tb::rival_words(r, l, start, word, amount, n, mass, terms);
}

void bind_rival_words(nb::module_& m) {
    m.def("rival_words", [](const Table<double>& count, const Vector<double>& word_total, const Vector<double>& other_total, const Vector<double>& alpha, double alpha_sum, double heaviest,
                            const Codes& codes, const Vector<double>& weights, const Starts& start, const Codes& word, const Vector<double>& amount, const Out& terms) {
        const Index n = rows(start) - 1, k = cols(count), v = rows(count), nnz = rows(word);
        require(k > 0 && rows(word_total) == v && rows(alpha) == v && rows(other_total) == k, "counts of words do not fit");
        check_starts(start, n, nnz);
        require(rows(amount) == nnz && rows(terms) == nnz && cols(terms) == k, "words do not fit their evidence");
        for (Index j = 0; j < nnz; ++j) require(word.data()[j] >= 0 && word.data()[j] < v, "a word has no counts");
        std::vector<double> mass(static_cast<std::size_t>(k));
        return run_rival_words({count.data(), word_total.data(), other_total.data(), alpha.data(), alpha_sum, heaviest, k}, hard(codes, weights, n, k), start.data(), word.data(), amount.data(), n, mass.data(), terms.data());
    }, "count"_a.noconvert(), "word_total"_a.noconvert(), "other_total"_a.noconvert(), "alpha"_a.noconvert(), "alpha_sum"_a, "heaviest"_a, "codes"_a.noconvert(), "weights"_a.noconvert(), "start"_a.noconvert(), "word"_a.noconvert(),
       "amount"_a.noconvert(), "terms"_a.noconvert(), nb::call_guard<nb::gil_scoped_release>());
}

tb::TextRows text_rows(const Starts& start, const Codes& word, const Vector<float>& amount, const Vector<double>& length, Index n_words) {
    check_starts(start, rows(length), rows(word));
    require(rows(amount) == rows(word), "words and amounts must have one entry each");
    for (Index j = 0; j < rows(word); ++j) require(word.data()[j] >= 0 && word.data()[j] < n_words, "a word has no counts");
    return {start.data(), word.data(), amount.data(), length.data()};
}

tb::WordTable word_table(const Table<float>& amount, const Vector<float>& total, const Vector<double>& mass, double alpha, bool rivals) {
    require(cols(amount) > 0 && rows(total) == rows(amount) && rows(mass) == cols(amount), "counts of words do not fit");
    return {amount.data(), total.data(), mass.data(), static_cast<float>(alpha), rivals, cols(amount)};
}

void check_chosen(const Starts& chosen, Index n) {
    for (Index r = 0; r < rows(chosen); ++r) require(0 <= chosen.data()[r] && chosen.data()[r] < n, "there is no such document");
}

void bind_word_weights(nb::module_& m) {
    using Release = nb::call_guard<nb::gil_scoped_release>;
    m.def("placed_words", [](const Starts& start, const Codes& column, const Vector<float>& data, const Codes& place, const OutVector<std::int64_t>& starts, const OutVector<std::int32_t>& word,
                             const OutVector<float>& amount, const OutVector<double>& lengths, const OutVector<std::int64_t>& singles) {
        const Index n = rows(lengths), nnz = rows(column);
        check_starts(start, n, nnz);
        require(rows(data) == nnz && rows(word) == nnz + 1 && rows(amount) == nnz + 1, "words and amounts must have one entry each");
        require(rows(starts) == n + 1 && rows(singles) == n, "documents do not fit");
        for (Index j = 0; j < nnz; ++j) require(column.data()[j] >= 0 && column.data()[j] < rows(place), "a word has no place");
        return tb::placed_words(start.data(), column.data(), data.data(), n, place.data(), starts.data(), word.data(), amount.data(), lengths.data(), singles.data());
    }, "start"_a.noconvert(), "column"_a.noconvert(), "data"_a.noconvert(), "place"_a.noconvert(), "starts"_a.noconvert(), "word"_a.noconvert(), "amount"_a.noconvert(), "lengths"_a.noconvert(), "singles"_a.noconvert(), Release());
    m.def("counts_of", [](const Table<double>& count, const Starts& words, const nb::ndarray<float, nb::ndim<2>, nb::c_contig, nb::device::cpu>& out) {
        require(rows(out) == rows(words) && cols(out) == cols(count), "counts of words do not fit");
        check_chosen(words, rows(count));
        tb::counts_of(count.data(), cols(count), words.data(), rows(words), out.data());
    }, "count"_a.noconvert(), "words"_a.noconvert(), "out"_a.noconvert(), Release());
    m.def("word_table", [](const Starts& start, const Codes& word, const Vector<float>& amount, const Vector<double>& length, const Codes& codes, const Vector<double>& weights,
                           const Starts& without, double alpha, bool rivals, const nb::ndarray<float, nb::ndim<2>, nb::c_contig, nb::device::cpu>& count, const OutVector<float>& total) {
        const Index n = rows(length), k = cols(count);
        const auto x = text_rows(start, word, amount, length, rows(count));
        require(k > 0 && rows(total) == rows(count), "counts of words do not fit");
        check_chosen(without, n);
        return run_word_table(x, hard(codes, weights, n, k), without.data(), rows(without), rows(count), k, static_cast<float>(alpha), rivals, count.data(), total.data());
    }, "start"_a.noconvert(), "word"_a.noconvert(), "amount"_a.noconvert(), "length"_a.noconvert(), "codes"_a.noconvert(), "weights"_a.noconvert(), "without"_a.noconvert(), "alpha"_a, "rivals"_a,
       "count"_a.noconvert(), "total"_a.noconvert(), Release());
    m.def("word_slopes", [](const Starts& start, const Codes& word, const Vector<float>& amount, const Vector<double>& length, const Table<float>& have, const Vector<float>& total, const Vector<double>& mass, double alpha, bool rivals,
                            const Codes& codes, const Vector<double>& weights, const Table<double>& base, const Vector<float>& factor, Index first, Index last, const Out& slopes) {
        const Index n = rows(length), k = cols(have);
        const auto x = text_rows(start, word, amount, length, rows(have));
        require(rows(base) == n && cols(base) == k && 0 <= first && first <= last && last <= n, "documents do not fit");
        require(rows(factor) == rows(have) && rows(slopes) == rows(have) && cols(slopes) == 2, "slopes do not fit the words");
        tb::WordScratch scratch(x, n, k);
        return run_word_slopes(word_table(have, total, mass, alpha, rivals), x, hard(codes, weights, n, k), base.data(), factor.data(), first, last, scratch, slopes.data());
    }, "start"_a.noconvert(), "word"_a.noconvert(), "amount"_a.noconvert(), "length"_a.noconvert(), "have"_a.noconvert(), "total"_a.noconvert(), "mass"_a.noconvert(), "alpha"_a, "rivals"_a,
       "codes"_a.noconvert(), "weights"_a.noconvert(), "base"_a.noconvert(), "factor"_a.noconvert(), "first"_a, "last"_a, "slopes"_a.noconvert(), Release());
    m.def("word_evidence", [](const Table<float>& have, const Vector<float>& total, const Vector<double>& mass, double alpha, bool rivals,
                              const nb::ndarray<float, nb::ndim<2>, nb::c_contig, nb::device::cpu>& evidence) {
        require(rows(evidence) == rows(have) && cols(evidence) == cols(have), "evidence does not fit the counts");
        run_word_evidence(word_table(have, total, mass, alpha, rivals), rows(have), evidence.data());
    }, "have"_a.noconvert(), "total"_a.noconvert(), "mass"_a.noconvert(), "alpha"_a, "rivals"_a, "evidence"_a.noconvert(), Release());
    m.def("word_scores", [](const Starts& start, const Codes& word, const Vector<float>& amount, const Vector<double>& length, const Table<float>& evidence, const Starts& chosen,
                            const Table<float>& weight, const nb::ndarray<double, nb::ndim<3>, nb::c_contig, nb::device::cpu>& scores) {
        const Index k = cols(evidence), m = cols(weight);
        const auto x = text_rows(start, word, amount, length, rows(evidence));
        check_chosen(chosen, rows(length));
        require(rows(weight) == rows(evidence), "weights do not fit the words");
        require(rows(scores) == rows(chosen) && cols(scores) == m && static_cast<Index>(scores.shape(2)) == k, "scores do not fit the documents");
        std::vector<float> sum(static_cast<std::size_t>(m * k));
        run_word_scores(evidence.data(), k, x, chosen.data(), rows(chosen), weight.data(), m, sum.data(), scores.data());
    }, "start"_a.noconvert(), "word"_a.noconvert(), "amount"_a.noconvert(), "length"_a.noconvert(), "evidence"_a.noconvert(), "chosen"_a.noconvert(), "weight"_a.noconvert(), "scores"_a.noconvert(), Release());
}

TB_CLONES Index run_corrections(tb::Corrections& rows, const double* penalty, double* coefficients, double tolerance, double little, Index memory, Index most) {
    return rows.run(penalty, coefficients, tolerance, little, memory, most);
}

// Rows that corrections are learned from, as they are read; one thread at a time.
class CorrectedRows {
  public:
    CorrectedRows(const Table<std::int32_t>& cell, const Table<double>& base, const Codes& codes, const Vector<double>& weights, const Starts& cells, const Starts& coefficients, const Vector<double>& shape, const Starts& start)
        : cells_(checked(cells, cols(cell))), coefficients_(checked(coefficients, cols(cell))), start_(start.data(), start.data() + rows(start)), shape_(shape.data(), shape.data() + rows(shape)), k_(cols(base)),
          rows_(read(cell, base, codes, weights), hard(codes, weights, rows(base), k_), {cells_.data(), coefficients_.data(), shape_.data(), start_.data()}) {}

    Index fit(const Vector<double>& penalty, const Out& at, double tolerance, double little, Index memory, Index most) {
        require(rows(penalty) == coefficients_.back() && rows(at) == rows(penalty) && cols(at) == k_ && memory > 0, "coefficients do not fit their cells");
        return run_corrections(rows_, penalty.data(), at.data(), tolerance, little, memory, most);
    }

  private:
    std::vector<std::int64_t> cells_, coefficients_, start_;
    std::vector<double> shape_;
    Index k_;
    tb::Corrections rows_;

    static std::vector<std::int64_t> checked(const Starts& begin, Index d) {
        require(rows(begin) == d + 1 && begin.data()[0] == 0, "cells do not fit their columns, or do not begin at zero");
        for (Index j = 0; j < d; ++j) require(begin.data()[j] <= begin.data()[j + 1], "cells must not end before they begin");
        return {begin.data(), begin.data() + d + 1};
    }

    tb::CellsOfRows read(const Table<std::int32_t>& cell, const Table<double>& base, const Codes& codes, const Vector<double>& weights) const {
        const Index n = rows(base), d = cols(cell);
        require(k_ > 0 && rows(cell) == n && static_cast<Index>(start_.size()) == d, "cells do not fit their columns");
        hard(codes, weights, n, k_);
        for (std::size_t j = 0; j < start_.size(); ++j) {
            const Index own = cells_[j + 1] - cells_[j], few = coefficients_[j + 1] - coefficients_[j], at = start_[j];
            require(at < 0 ? own == few : at + own * few <= static_cast<Index>(shape_.size()), "shapes do not fit their cells");
        }
        const std::vector<std::int32_t> first(cells_.begin(), cells_.end());
        require(cells_.back() <= std::numeric_limits<std::int32_t>::max(), "there are too many cells");
        for (Index i = 0; i < n; ++i) {
            int wrong = 0;  // summed up without a branch, so that the columns go side by side
            for (Index c = 0; c < d; ++c) {
                const std::int32_t at = cell.data()[i * d + c];
                wrong += (at >= 0) & ((at < first[static_cast<std::size_t>(c)]) | (at >= first[static_cast<std::size_t>(c) + 1]));
            }
            require(wrong == 0, "a cell is not one of its column");
        }
        return {cell.data(), n, d, base.data(), k_};
    }
};

TB_CLONES void run_add_corrections(const tb::CellsOfRows& x, const double* table, double* scores) {
    tb::add_corrections(x, table, scores);
}

TB_CLONES void run_weights(const tb::Rivals& x, const tb::Pulled& how, Index coarse, double* at) {
    tb::learn_weights(x, how, coarse, at);
}

TB_CLONES void run_against_own(const float* evidence, const std::int32_t* codes, Index n, Index k, Index columns, float* out, Index terms, Index first) {
    tb::against_own(evidence, codes, n, k, columns, out, terms, first);
}

TB_CLONES void run_rival_losses(const tb::Rivals& x, const float* at, double* out) { tb::rival_losses(x, at, out); }

TB_CLONES void run_loss_rises(const tb::Rivals& x, const float* at, double* out) { tb::loss_rises(x, at, out); }

TB_CLONES double run_stacking(const tb::Readings& x, const double* centre, double pull, double tolerance, double* at) {
    return tb::Stacking(x, centre, pull, tolerance).run(at);
}

TB_CLONES void run_score_losses(const double* scores, const std::int32_t* codes, Index n, Index k, double* losses) {
    tb::score_losses(scores, codes, n, k, losses);
}

TB_CLONES void run_constants(const tb::Rivals& x, const std::int32_t* codes, const double* at, const double* prior, double* found, double* says) {
    tb::column_constants(x, codes, at, prior, found, says);
}

TB_CLONES void run_pair_slopes(const tb::GridRows& x, Index left, Index right, const double* strength, Index n_strengths,
                             const tb::PairScratch& s, double* out) { tb::pair_slopes(x, left, right, strength, n_strengths, s, out); }

TB_CLONES double run_interaction_gain(const tb::CodedSlopes& x, Index left, Index right, double penalty, float* sums) {
    return tb::interaction_gain(x, left, right, penalty, sums);
}

void check_codes(const Table<std::int32_t>& codes, const Starts& levels) {
    const Index d = rows(codes), n = cols(codes);
    require(rows(levels) == d, "levels do not fit the codes");
    for (Index j = 0; j < d; ++j) {
        std::int32_t most = -1;
        for (Index i = 0; i < n; ++i) most = std::max(most, codes.data()[j * n + i]);
        require(most < levels.data()[j], "a code is out of range");
    }
}

tb::GridRows grid_rows(const Table<std::int32_t>& codes, const Starts& levels, const Vector<double>& weight, const Starts& start, const Starts& compared, const Table<double>& posterior) {
    const Index n = cols(codes), k = rows(posterior);
    require(rows(weight) == n, "weights do not fit the codes");
    check_codes(codes, levels);
    check_starts(start, k, n);
    check_starts(compared, k, cols(posterior));
    for (Index j = 0; j < k; ++j)
        require(compared.data()[j + 1] - compared.data()[j] <= start.data()[j + 1] - start.data()[j], "more rows of a class are compared than there are");
    bool same = true;
    for (Index i = 0; i < n; ++i) same = same && weight.data()[i] == weight.data()[0];
    return {codes.data(), levels.data(), weight.data(), start.data(), compared.data(), posterior.data(), n, k, same && n ? weight.data()[0] : -1.0};
}

constexpr std::int64_t kMostCells = 1 << 30;  // of a pair, so that they can be numbered

// The most cells, and the most levels of both columns, of some pairs.
std::pair<Index, Index> sizes_of(const Table<std::int64_t>& pairs, const Starts& levels) {
    require(cols(pairs) == 2, "a pair is two columns");
    Index cells = 0, margins = 0;
    for (Index i = 0; i < rows(pairs); ++i) {
        const std::int64_t *pair = pairs.data() + 2 * i, d = rows(levels);
        require(0 <= pair[0] && pair[0] < d && 0 <= pair[1] && pair[1] < d, "there is no such column");
        const std::int64_t left = levels.data()[pair[0]], right = levels.data()[pair[1]];
        require(0 <= left && left < kMostCells && 0 <= right && right < kMostCells && left * right < kMostCells, "a pair has too many cells");
        cells = std::max<Index>(cells, left * right);
        margins = std::max<Index>(margins, left + right);
    }
    return {cells, margins};
}

void bind_pairs(nb::module_& m) {
    m.def("interaction_gains", [](const Table<std::int32_t>& codes, const Starts& levels, const Table<float>& terms, Index n_classes, const Table<std::int64_t>& pairs, double penalty, const OutVector<double>& out) {
        check_codes(codes, levels);
        require(rows(terms) == cols(codes) && n_classes > 1 && 2 * n_classes <= cols(terms) && cols(terms) % 4 == 0 && penalty > 0.0, "slopes do not fit the codes");
        require(rows(out) == rows(pairs), "gains do not fit the pairs");
        std::vector<float> sums(static_cast<std::size_t>(sizes_of(pairs, levels).first * cols(terms) + tb::kSumsTogether * tb::kFewSums));
        const tb::CodedSlopes x{codes.data(), levels.data(), terms.data(), cols(codes), cols(terms), n_classes};
        for (Index i = 0; i < rows(pairs); ++i)
            out.data()[i] = run_interaction_gain(x, pairs.data()[2 * i], pairs.data()[2 * i + 1], penalty, sums.data());
    }, "codes"_a.noconvert(), "levels"_a.noconvert(), "terms"_a.noconvert(), "n_classes"_a, "pairs"_a.noconvert(), "penalty"_a, "out"_a.noconvert(), nb::call_guard<nb::gil_scoped_release>());
    m.def("pair_slopes", [](const Table<std::int32_t>& codes, const Starts& levels, const Vector<double>& weight, const Starts& start, const Starts& compared, const Table<double>& posterior,
                           const Table<std::int64_t>& pairs, const Vector<double>& strength, const Out& out) {
        const auto x = grid_rows(codes, levels, weight, start, compared, posterior);
        require(rows(out) == rows(pairs) && cols(out) == 2 * rows(strength), "sums do not fit the pairs");
        const auto [cells, margins] = sizes_of(pairs, levels);
        const Index most = cells + 1;  // the last for missing values
        std::vector<std::int32_t> cell(static_cast<std::size_t>(x.n));
        const bool is_said = x.n_classes == 2 && x.same_weight >= 0.0;
        std::vector<double> said(static_cast<std::size_t>(is_said ? 4 * x.n : 0));
        if (is_said) tb::said_of(x, said.data());
        std::vector<double> scratch(static_cast<std::size_t>(4 * tb::kHistograms * most + x.n_classes * (7 * most + margins + 1)));
        double* free = scratch.data();
        const auto take = [&](Index size) { return std::exchange(free, free + size); };
        const Index table = x.n_classes * most;
        const tb::PairScratch s{.cell = cell.data(), .said = is_said ? said.data() : nullptr, .histogram = take(4 * tb::kHistograms * most), .moments = take(2 * table), .both = take(table), .ratio = take(table), .own_ratio = take(table),
                                .table = take(table), .own = take(table), .margins = take(x.n_classes * margins), .total = take(x.n_classes)};
        for (Index i = 0; i < rows(pairs); ++i)
            run_pair_slopes(x, pairs.data()[2 * i], pairs.data()[2 * i + 1], strength.data(), rows(strength), s, out.data() + i * cols(out));
    }, "codes"_a.noconvert(), "levels"_a.noconvert(), "weight"_a.noconvert(), "start"_a.noconvert(), "compared"_a.noconvert(), "posterior"_a.noconvert(), "pairs"_a.noconvert(), "strength"_a.noconvert(), "out"_a.noconvert(),
       nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace

void bind_fitting(nb::module_& m) {
    using Release = nb::call_guard<nb::gil_scoped_release>;
    bind_pairs(m);
    bind_rival_words(m);
    bind_word_weights(m);
    nb::class_<CorrectedRows>(m, "CorrectedRows")
        .def(nb::init<const Table<std::int32_t>&, const Table<double>&, const Codes&, const Vector<double>&, const Starts&, const Starts&, const Vector<double>&, const Starts&>(),
             "cell"_a.noconvert(), "base"_a.noconvert(), "codes"_a.noconvert(), "weights"_a.noconvert(), "cells"_a.noconvert(), "coefficients"_a.noconvert(), "shape"_a.noconvert(), "start"_a.noconvert(), Release())
        .def("fit", &CorrectedRows::fit, "penalty"_a.noconvert(), "at"_a.noconvert(), "tolerance"_a, "little"_a, "memory"_a, "most"_a, Release());
    m.def("add_corrections", [](const Table<std::int32_t>& cell, const Table<double>& table, const Out& scores) {
        require(rows(cell) == rows(scores) && cols(table) == cols(scores), "cells do not fit the scores");
        for (Index j = 0; j < rows(cell) * cols(cell); ++j) require(cell.data()[j] < rows(table), "a cell has no correction");
        run_add_corrections({cell.data(), rows(cell), cols(cell), nullptr, cols(scores)}, table.data(), scores.data());
    }, "cell"_a.noconvert(), "table"_a.noconvert(), "scores"_a.noconvert(), Release());
    m.def("against_own", [](const Cube& evidence, const Codes& codes, const nb::ndarray<float, nb::ndim<3>, nb::c_contig, nb::device::cpu>& terms, Index first) {
        const Index n = rows(evidence), k = cols(evidence), columns = cube_terms(evidence), own = static_cast<Index>(terms.shape(2));
        require(k > 0 && rows(terms) == n && cols(terms) == k - 1 && rows(codes) == n && first >= 0 && first + columns <= own, "terms do not fit the evidence");
        for (Index i = 0; i < n; ++i) require(codes.data()[i] >= 0 && codes.data()[i] < k, "a class code is out of range");
        run_against_own(evidence.data(), codes.data(), n, k, columns, terms.data(), own, first);
    }, "evidence"_a.noconvert(), "codes"_a.noconvert(), "terms"_a.noconvert(), "first"_a, Release());
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
    m.def("stack_readings", [](const Table<float>& base, const Cube& terms, const Vector<double>& weight, const Vector<double>& centre, const OutVector<double>& at, double pull, double tolerance) {
        const Index k = rows(base), n = cols(base), v = rows(terms);
        require(k > 0 && cols(terms) == k && cube_terms(terms) == n && rows(weight) == n, "readings do not fit their rows");
        require(v > 0 && v <= tb::kMostReadings && rows(centre) == v && rows(at) == v && pull > 0.0, "weights do not fit the readings");
        return run_stacking({base.data(), terms.data(), weight.data(), n, k, v}, centre.data(), pull, tolerance, at.data());
    }, "base"_a.noconvert(), "terms"_a.noconvert(), "weight"_a.noconvert(), "centre"_a.noconvert(), "at"_a.noconvert(), "pull"_a, "tolerance"_a, Release());
    m.def("score_losses", [](const Table<double>& scores, const Codes& codes, const OutVector<double>& losses) {
        const Index n = rows(scores), k = cols(scores);
        require(rows(codes) == n && rows(losses) == n && k > 0, "scores do not fit their rows");
        for (Index i = 0; i < n; ++i) require(codes.data()[i] >= 0 && codes.data()[i] < k, "a class code is out of range");
        run_score_losses(scores.data(), codes.data(), n, k, losses.data());
    }, "scores"_a.noconvert(), "codes"_a.noconvert(), "losses"_a.noconvert(), Release());
}
