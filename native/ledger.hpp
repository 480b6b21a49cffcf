// Records of a ledger: what was counted, as few bytes as hold it exactly, read and summed.
//
// A record has the numbers of cells and their amounts, and the numbers of cells and their moments. Moments of single rows
// are their means and come first; of the others weight, mean and sum of squares are there. A record of several owners (a
// key, or a key in one period) begins with runs: the owner, and how many amounts, single rows and other moments it has.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>
#include <stdexcept>
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
    unsigned flags;  // 1: numbers of four bytes; 2 and 4: the type of amounts
    Bytes owners, cells, amounts, centred_cells, centred;
    bool keyed;

    Index runs() const { return keyed ? owners.size / static_cast<Index>(sizeof(Run)) : 1; }
    Index width() const { return flags & 1 ? 4 : 2; }
    Index n_amounts() const { return cells.size / width(); }
    Index n_centred() const { return centred_cells.size / width(); }
    Index n_others() const { return (centred.size / 8 - n_centred()) / 2; }
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
    sound(r.flags < 6);
    const Index of_amount = r.flags >> 1 == 0 ? 1 : r.flags >> 1 == 1 ? 2 : 8;
    sound(r.cells.size % r.width() == 0 && r.amounts.size == r.n_amounts() * of_amount);
    sound(r.centred_cells.size % r.width() == 0 && r.centred.size % 8 == 0);
    const Index spare = r.centred.size / 8 - r.n_centred();
    sound(spare >= 0 && spare % 2 == 0 && spare / 2 <= r.n_centred());
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
    const Index singles = r.n_singles();
    for (Index i = 0; i < r.runs(); ++i) {
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
                const Index cell = load<Number>(r.centred_cells, singles + j), at = singles + 3 * j;
                const double weight = load<double>(r.centred, at), mean = load<double>(r.centred, at + 1), second = load<double>(r.centred, at + 2);
                sound(cell < n_cells && std::isfinite(weight) && std::isfinite(mean) && std::isfinite(second));
                on_moment(cell, weight, mean, second);
            }
        }
        a += run.amounts, s += run.singles, m += run.others;
    }
}

template <class Begin, class OnAmount, class OnMoment>
void walk(const Record& r, Index n_cells, Begin&& begin, OnAmount&& on_amount, OnMoment&& on_moment) {
    switch (r.flags) {
    case 0: return walk_typed<std::uint16_t, std::uint8_t>(r, n_cells, begin, on_amount, on_moment);
    case 1: return walk_typed<std::uint32_t, std::uint8_t>(r, n_cells, begin, on_amount, on_moment);
    case 2: return walk_typed<std::uint16_t, std::uint16_t>(r, n_cells, begin, on_amount, on_moment);
    case 3: return walk_typed<std::uint32_t, std::uint16_t>(r, n_cells, begin, on_amount, on_moment);
    case 4: return walk_typed<std::uint16_t, double>(r, n_cells, begin, on_amount, on_moment);
    default: return walk_typed<std::uint32_t, double>(r, n_cells, begin, on_amount, on_moment);
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

// Sums by group: amounts (groups, cells), and moments (groups, cells, 3) merged about their common mean by the corrected
// two-pass algorithm (Chan, Golub and LeVeque 1983). `mate` is the cell of the product of the same two columns the other way
// round, and of a moment its own.
inline void sum_records(const std::vector<Record>& records, const Wanted& wanted, const Index* mate, Index n_cells, Index n_groups, double* amounts, double* centred) {
    const auto size = static_cast<std::size_t>(n_groups * n_cells);
    std::vector<double> middle(size), more(size), off(static_cast<std::size_t>(n_cells));
    std::vector<Index> times(size), noted(static_cast<std::size_t>(n_cells));
    const auto nothing = [](Index, double) {};
    double* mine = nullptr;  // the amounts of the group of an owner
    std::size_t base = 0;    // where its cells begin
    const auto begin = [&](std::size_t record, Index owner) {
        const Index group = wanted(record, owner);
        base = static_cast<std::size_t>(std::max<Index>(group, 0) * n_cells), mine = amounts + base;
        return group >= 0;
    };
    for (std::size_t i = 0; i < records.size(); ++i)
        walk(records[i], n_cells, [&](Index owner) { return begin(i, owner); }, [&](Index cell, double value) { mine[cell] += value; },
             [&](Index cell, double weight, double mean, double) {
                 const std::size_t at = base + static_cast<std::size_t>(cell);
                 centred[3 * at] += weight, middle[at] += weight * mean, ++times[at];
             });
    for (std::size_t at = 0; at < size; ++at) middle[at] /= centred[3 * at] > 0 ? centred[3 * at] : 1.0;

    // What an owner has of one half of a product meets the other half, so all of it is noted before it is summed.
    struct Part { Index cell; double weight, second; };
    std::vector<Part> parts;
    Index turn = 1;
    const auto finish = [&] {
        for (const Part& p : parts) {
            const auto cell = static_cast<std::size_t>(p.cell), other = static_cast<std::size_t>(mate[p.cell]);
            if (noted[other] != turn) throw std::invalid_argument("it holds one half of a product of two columns");
            centred[3 * (base + cell) + 2] += p.second + p.weight * off[cell] * off[other];
        }
        parts.clear(), ++turn;
    };
    for (std::size_t i = 0; i < records.size(); ++i) {
        walk(records[i], n_cells, [&](Index owner) { return finish(), begin(i, owner); }, nothing,
             [&](Index cell, double weight, double mean, double second) {
                 const auto c = static_cast<std::size_t>(cell), at = base + c;
                 const double d = times[at] == 1 ? 0.0 : mean - middle[at];
                 more[at] += weight * d;
                 if (mate[cell] != cell)
                     off[c] = d, noted[c] = turn, parts.push_back({cell, weight, second});
                 else
                     centred[3 * at + 2] += second + weight * d * d;
                 if (times[at] == 1) centred[3 * at + 1] = mean;
             });
        finish();
    }
    for (std::size_t at = 0; at < size; ++at) more[at] /= centred[3 * at] > 0 ? centred[3 * at] : 1.0;
    for (std::size_t at = 0; at < size; ++at) {
        if (times[at] < 2) continue;  // one moment alone stays as it was
        const std::size_t first = at - at % static_cast<std::size_t>(n_cells), other = first + static_cast<std::size_t>(mate[at - first]);
        centred[3 * at + 1] = middle[at] + more[at];
        centred[3 * at + 2] -= centred[3 * at] * more[at] * more[other];
    }
}

}  // namespace tb
