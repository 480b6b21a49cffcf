// Records of a ledger: what was counted, as few bytes as hold it exactly, read and summed.
//
// A record has the numbers of cells and their amounts, and the numbers of cells and their moments. Moments of single rows
// are their means and come first; then mean and sum of squares of the others, then their weights. A record of several owners
// (a key, or a key in one period) begins with runs: the owner, and how many amounts, single rows and other moments it has.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <utility>
#include <vector>

#include "counts.hpp"

namespace tb {

struct Bytes {
    const char* data;
    Index size;
};

template <class T> T load(Bytes from, Index i) {
    T value;
    std::memcpy(&value, from.data + i * static_cast<Index>(sizeof(T)), sizeof(T));
    return value;
}

struct Run {
    std::uint32_t owner, amounts, singles, others;
};

struct Record {
    unsigned flags;  // the lowest two bits: bytes of a number of a cell; then the type of amounts; 16: weights are not bytes
    Bytes owners, cells, amounts, centred_cells, centred;
    bool keyed;

    Index runs() const { return keyed ? owners.size / static_cast<Index>(sizeof(Run)) : 1; }
    Index width() const { return Index{1} << (flags & 3); }
    Index of_amount() const { return Index{1} << (flags >> 2 & 3); }
    Index of_weight() const { return flags & 16 ? 8 : 1; }
    Index n_amounts() const { return cells.size / width(); }
    Index n_centred() const { return centred_cells.size / width(); }
    Index n_others() const { return (centred.size - 8 * n_centred()) / (8 + of_weight()); }
    Index n_singles() const { return n_centred() - n_others(); }
    Run run(Index i) const {
        if (keyed) return load<Run>(owners, i);
        return {0, static_cast<std::uint32_t>(n_amounts()), static_cast<std::uint32_t>(n_singles()), static_cast<std::uint32_t>(n_others())};
    }
};

inline void sound(bool holds) {
    if (!holds) throw std::invalid_argument("a record of it is damaged");
}

// The sizes of all parts must fit together, before anything of them is read.
inline void check_record(const Record& r, Index n_owners) {
    sound(r.flags < 32 && r.width() <= 4 && r.of_amount() != 4);
    sound(r.cells.size % r.width() == 0 && r.amounts.size == r.n_amounts() * r.of_amount());
    sound(r.centred_cells.size % r.width() == 0 && r.centred.size >= 8 * r.n_centred());
    sound((r.centred.size - 8 * r.n_centred()) % (8 + r.of_weight()) == 0 && r.n_singles() >= 0);
    sound(!r.keyed || r.owners.size % static_cast<Index>(sizeof(Run)) == 0);
    Index amounts = 0, singles = 0, others = 0;
    for (Index i = 0; i < r.runs(); ++i) {
        const Run run = r.run(i);
        sound(static_cast<Index>(run.owner) < n_owners);
        amounts += run.amounts, singles += run.singles, others += run.others;
    }
    sound(amounts == r.n_amounts() && singles == r.n_singles() && others == r.n_others());
}

// Calls begin(owner), which decides whether an owner is wanted, then amount(cell, value) and moment(cell, weight, mean, second)
// for all that it has.
template <class Number, class Amount, class Begin, class OnAmount, class OnMoment>
void walk_typed(const Record& r, Index n_cells, Begin&& begin, OnAmount&& on_amount, OnMoment&& on_moment) {
    Index a = 0, s = 0, m = 0;
    const Index singles = r.n_singles(), n_runs = r.runs();
    const bool is_byte = r.of_weight() == 1;
    const Bytes weights{r.centred.data + 8 * (singles + 2 * r.n_others()), 0};
    for (Index i = 0; i < n_runs; ++i) {
        const Run run = r.run(i);
        if (begin(run.owner)) {
            for (Index j = a; j < a + run.amounts; ++j) {
                const Index cell = load<Number>(r.cells, j);
                const double value = static_cast<double>(load<Amount>(r.amounts, j));
                sound(cell < n_cells && std::isfinite(value) && value >= 0);
                on_amount(cell, value);
            }
            for (Index j = s; j < s + run.singles; ++j) {
                const Index cell = load<Number>(r.centred_cells, j);
                const double mean = load<double>(r.centred, j);
                sound(cell < n_cells && std::isfinite(mean));
                on_moment(cell, 1.0, mean, 0.0);
            }
            for (Index j = m; j < m + run.others; ++j) {
                const Index cell = load<Number>(r.centred_cells, singles + j), at = singles + 2 * j;
                const double weight = is_byte ? load<std::uint8_t>(weights, j) : load<double>(weights, j), mean = load<double>(r.centred, at), second = load<double>(r.centred, at + 1);
                sound(cell < n_cells && std::isfinite(weight) && std::isfinite(mean) && std::isfinite(second));
                on_moment(cell, weight, mean, second);
            }
        }
        a += run.amounts, s += run.singles, m += run.others;
    }
}

template <class Number, class... Visit>
void walk_numbered(const Record& r, Index n_cells, Visit&&... visit) {
    switch (r.of_amount()) {
    case 1: return walk_typed<Number, std::uint8_t>(r, n_cells, visit...);
    case 2: return walk_typed<Number, std::uint16_t>(r, n_cells, visit...);
    default: return walk_typed<Number, double>(r, n_cells, visit...);
    }
}

template <class... Visit>
void walk(const Record& r, Index n_cells, Visit&&... visit) {
    switch (r.width()) {
    case 1: return walk_numbered<std::uint8_t>(r, n_cells, visit...);
    case 2: return walk_numbered<std::uint16_t>(r, n_cells, visit...);
    default: return walk_numbered<std::uint32_t>(r, n_cells, visit...);
    }
}

// All cells of all records, one after another.
struct Cells {
    std::vector<Index> record, owner, cell, centred_record, centred_owner, centred_cell;
    std::vector<double> amount, centred;
};

inline Cells unpack_records(const std::vector<Record>& records, Index n_cells) {
    Cells out;
    Index n = 0, m = 0;
    for (const Record& r : records) n += r.n_amounts(), m += r.n_centred();
    for (auto* each : {&out.record, &out.owner, &out.cell}) each->reserve(static_cast<std::size_t>(n));
    for (auto* each : {&out.centred_record, &out.centred_owner, &out.centred_cell}) each->reserve(static_cast<std::size_t>(m));
    out.amount.reserve(static_cast<std::size_t>(n)), out.centred.reserve(static_cast<std::size_t>(3 * m));
    for (std::size_t i = 0; i < records.size(); ++i) {
        Index owner = 0;
        walk(
            records[i], n_cells, [&](Index own) { return owner = own, true; },
            [&](Index cell, double value) {
                out.record.push_back(static_cast<Index>(i)), out.owner.push_back(owner), out.cell.push_back(cell), out.amount.push_back(value);
            },
            [&](Index cell, double weight, double mean, double second) {
                out.centred_record.push_back(static_cast<Index>(i)), out.centred_owner.push_back(owner), out.centred_cell.push_back(cell);
                out.centred.insert(out.centred.end(), {weight, mean, second});
            });
    }
    return out;
}

// Which owners count, and where: owner o is key o % page in the period of slot o / page.
struct Wanted {
    const bool* key;  // (records, page)
    Index page;
    const std::int32_t* group;  // of each slot; -1 leaves it out
    Index n_slots;

    Index operator()(std::size_t record, Index owner) const {
        return key[static_cast<Index>(record) * page + owner % page] ? group[owner / page] : -1;
    }
};

// The moments of a cell, merged one after another (West 1979), about the first mean: of numbers far from zero, the digits
// that differ are all that is summed.
struct Merged {
    double first, weight, mean, second;  // the mean is what is to be added to the first

    // Takes in how many and their mean; returns how far that is from the mean so far, and by what its square counts.
    std::pair<double, double> add(double more, double at) {
        if (weight == 0) first = at;
        const double off = at - first - mean, sum = weight + more, share = sum > 0 ? more / sum : 0.0, by = weight * share;
        mean += off * share, weight = sum;
        return {off, by};
    }
};

// Sums by group: amounts (groups, cells), and moments (groups, cells, 3) about their common mean. `mate` is the cell of the
// product of the same two columns the other way round, and of a moment its own.
inline void sum_records(const std::vector<Record>& records, const Wanted& wanted, const Index* mate, Index n_cells, Index n_groups, double* amounts, double* centred) {
    std::vector<Merged> moments(static_cast<std::size_t>(n_groups * n_cells));
    double* counts = nullptr;  // the amounts and moments of the group of an owner
    Merged* mine = nullptr;

    // What an owner has of one half of a product meets the other half, so all of it is noted before it is summed.
    struct Part { Index cell; double second, by; };
    std::vector<Part> parts;
    std::vector<double> off(static_cast<std::size_t>(n_cells));
    std::vector<Index> noted(static_cast<std::size_t>(n_cells));
    Index turn = 1;
    const auto finish = [&] {
        for (const Part& p : parts) {
            const auto cell = static_cast<std::size_t>(p.cell), other = static_cast<std::size_t>(mate[p.cell]);
            if (noted[other] != turn) throw std::invalid_argument("it holds one half of a product of two columns");
            mine[cell].second += p.second + p.by * off[cell] * off[other];
        }
        parts.clear(), ++turn;
    };
    for (std::size_t i = 0; i < records.size(); ++i) {
        const auto begin = [&](Index owner) {
            finish();
            const Index group = wanted(i, owner), base = std::max<Index>(group, 0) * n_cells;
            counts = amounts + base, mine = moments.data() + base;
            return group >= 0;
        };
        walk(records[i], n_cells, begin, [&](Index cell, double value) { counts[cell] += value; },
             [&](Index cell, double weight, double mean, double second) {
                 const auto [d, by] = mine[cell].add(weight, mean);
                 if (mate[cell] == cell) {
                     mine[cell].second += second + by * d * d;
                 } else {
                     const auto c = static_cast<std::size_t>(cell);
                     off[c] = d, noted[c] = turn, parts.push_back({cell, second, by});
                 }
             });
        finish();
    }
    for (std::size_t at = 0; at < moments.size(); ++at) {
        const Merged& m = moments[at];
        centred[3 * at] = m.weight, centred[3 * at + 1] = m.first + m.mean, centred[3 * at + 2] = m.second;
    }
}

}  // namespace tb
