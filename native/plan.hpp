// Scores of plain columns by tables: numbers are put into bins, bins and levels are combined, and the rows of a table that
// they point at are added up.
#pragma once

#include <algorithm>
#include <vector>

#include "simd.hpp"

namespace tb {

constexpr Index kRows = 256;     // rows worked on at a time: their codes and scores stay in the cache
constexpr Index kAtOnce = 16;    // numbers searched side by side: one search alone waits for each of its steps

// What is looked up. A number is searched once among all edges of its column; each feature has a map from there to a
// bin of its own. All codes: -1 for a missing value, other negative ones for an unseen category.
struct Plan {
    const std::int64_t* column;      // (S,) which number is searched
    const std::int64_t* edge_start;  // (S + 1,)
    const double* edges;             // rising for each number
    const std::int64_t* source;      // (F,) the number searched, or S + the column of codes
    const std::int64_t* map_start;   // (F,) of numbers: first entry of the map, for a missing value; then one a bin
    const std::int32_t* map;
    const std::int64_t *left, *right;  // (T,) features; right is -1 where there is one only
    const std::int64_t* n_right;       // (T,) codes of the second feature
    const std::int64_t* start;         // (T + 1,) first row of each term in the table; its last is for unseen categories
    const double* table;               // (start[T] + 1, width); the last row is zero, for missing values
    Index n_searched, n_features, n_terms, width;
};

struct PlanMemory {
    std::vector<std::int32_t> code, cell;
    std::vector<double> score;
    explicit PlanMemory(const Plan& p)
        : code(static_cast<std::size_t>((p.n_searched + p.n_features) * kRows)), cell(static_cast<std::size_t>(kRows)),
          score(static_cast<std::size_t>(kRows * p.width)) {}
};

// code[r]: how many edges are at or below the number, 0 for the map's first entry where it is missing. Answers the first
// row whose number is infinite.
TB_INLINE Index search(const Matrix<double>& x, Index first, Index n, Index j, const double* TB_RESTRICT edge, std::int64_t n_edges,
                       std::int32_t* TB_RESTRICT code) {
    double value[kAtOnce];
    std::int64_t at[kAtOnce];
    for (Index begin = 0; begin < n; begin += kAtOnce) {
        const Index m = std::min(kAtOnce, n - begin);
        bool finite = true;
        for (Index l = 0; l < m; ++l) {
            value[l] = x.at(first + begin + l, j);
            finite &= !std::isinf(value[l]);
        }
        for (Index l = m; l < kAtOnce; ++l) value[l] = 0.0;
        if (!finite)
            for (Index l = 0; l < m; ++l)
                if (std::isinf(value[l])) return begin + l;
        for (Index l = 0; l < kAtOnce; ++l) at[l] = 0;
        for (std::int64_t left = n_edges; left > 0;) {
            const std::int64_t half = (left + 1) / 2;
            for (Index l = 0; l < kAtOnce; ++l) at[l] += edge[at[l] + half - 1] <= value[l] ? half : 0;
            left -= half;
        }
        for (Index l = 0; l < m; ++l) code[begin + l] = value[l] == value[l] ? static_cast<std::int32_t>(at[l]) + 1 : 0;
    }
    return kNone;
}

// cell[r]: the row of the table that a term adds.
TB_INLINE void cells_of(const Plan& p, Index t, const std::int32_t* codes, Index n, std::int32_t* TB_RESTRICT cell) {
    const auto first = static_cast<std::int32_t>(p.start[t]), none = static_cast<std::int32_t>(p.start[p.n_terms]);
    const auto unseen = static_cast<std::int32_t>(p.start[t + 1] - p.start[t] - 1);
    const std::int32_t* TB_RESTRICT a = codes + p.left[t] * kRows;
    const auto row_of = [&](std::int32_t code) {
        const bool known = static_cast<std::uint32_t>(code) < static_cast<std::uint32_t>(unseen);
        return code == -1 ? none : first + (known ? code : unseen);
    };
    if (p.right[t] < 0) {
        for (Index r = 0; r < n; ++r) cell[r] = row_of(a[r]);
        return;
    }
    const std::int32_t* TB_RESTRICT b = codes + p.right[t] * kRows;
    const auto n_right = static_cast<std::uint32_t>(p.n_right[t]);
    for (Index r = 0; r < n; ++r) {
        const auto both = static_cast<std::int32_t>(static_cast<std::uint32_t>(a[r]) * n_right + static_cast<std::uint32_t>(b[r]));
        cell[r] = row_of(a[r] < 0 || b[r] < 0 ? std::min(a[r], b[r]) : both);
    }
}

template <Index W>
TB_INLINE void add_cells(const std::int32_t* cell, Index n, const double* table, Index width, double* score) {
    const Index w = W ? W : width;
    for (Index r = 0; r < n; ++r) {
        const double* TB_RESTRICT from = table + cell[r] * w;
        double* TB_RESTRICT to = score + r * w;
        for (Index k = 0; k < w; ++k) to[k] += from[k];
    }
}

// out[row][class] += what all terms say. Answers the position row * S + s of a number that is infinite.
template <Index W>
TB_INLINE Index plan_scores(const Plan& p, const Matrix<double>& x, const Matrix<std::int32_t>& levels, PlanMemory& memory, Index n_classes, double* out) {
    std::int32_t *codes = memory.code.data(), *searched = codes + p.n_features * kRows, *cell = memory.cell.data();
    double* score = memory.score.data();
    const Index n_rows = p.n_searched ? x.n : levels.n;
    for (Index first = 0; first < n_rows; first += kRows) {
        const Index n = std::min(kRows, n_rows - first);
        for (Index s = 0; s < p.n_searched; ++s) {
            const double* edge = p.edges + p.edge_start[s];
            const Index bad = search(x, first, n, p.column[s], edge, p.edge_start[s + 1] - p.edge_start[s], searched + s * kRows);
            if (bad != kNone) return (first + bad) * p.n_searched + s;
        }
        for (Index f = 0; f < p.n_features; ++f) {
            std::int32_t* TB_RESTRICT code = codes + f * kRows;
            if (p.source[f] < p.n_searched) {
                const std::int32_t *TB_RESTRICT map = p.map + p.map_start[f], *TB_RESTRICT bin = searched + p.source[f] * kRows;
                for (Index r = 0; r < n; ++r) code[r] = map[bin[r]];
            } else {
                for (Index r = 0; r < n; ++r) code[r] = levels.at(first + r, p.source[f] - p.n_searched);
            }
        }
        std::fill(score, score + n * p.width, 0.0);
        for (Index t = 0; t < p.n_terms; ++t) {
            cells_of(p, t, codes, n, cell);
            add_cells<W>(cell, n, p.table, p.width, score);
        }
        for (Index r = 0; r < n; ++r)
            for (Index k = 0; k < n_classes; ++k) out[(first + r) * n_classes + k] += score[r * p.width + k];
    }
    return kNone;
}

}  // namespace tb
