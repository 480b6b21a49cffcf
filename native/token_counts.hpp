// Counting tokens: documents in, sparse rows of counts and a sorted vocabulary out.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "tokens.hpp"

namespace tb {

// Pairs of words by the order in which they were first seen: the numbers of both words, the first above. Open addressing.
class PairList {
  public:
    struct Slot { std::uint64_t pair = 0; std::int32_t number = -1; std::uint32_t at = 0; };
    std::vector<std::uint64_t> pairs;

    // A pair is about to be looked for: it is far away in memory.
    void expect(std::uint64_t pair) const { __builtin_prefetch(&slots_[home(pair)], 1); }

    // The entry of a pair, which is made if there is none; `at` is for whoever asks.
    Slot& find(std::uint64_t pair) {
        if (8 * pairs.size() >= 5 * slots_.size()) grow();
        Slot& slot = slots_[slot_of(pair)];
        if (slot.number >= 0) return slot;
        if (pairs.size() >= 0x7FFFFFFF) throw std::length_error("more than two thousand million different pairs of words; use hashing");
        slot = {pair, static_cast<std::int32_t>(pairs.size()), 0};
        pairs.push_back(pair);
        return slot;
    }

  private:
    std::vector<Slot> slots_ = std::vector<Slot>(1024);

    std::size_t home(std::uint64_t pair) const { return mixed(mixed(pair)) & (slots_.size() - 1); }

    std::size_t slot_of(std::uint64_t pair) const {
        std::size_t at = home(pair);
        while (slots_[at].number >= 0 && slots_[at].pair != pair) at = (at + 1) & (slots_.size() - 1);
        return at;
    }

    void grow() {
        std::vector<Slot> old((pairs.size() < (1u << 18) ? 4 : 2) * slots_.size());
        old.swap(slots_);
        for (const Slot& entry : old)
            if (entry.number >= 0) slots_[slot_of(entry.pair)] = entry;
    }
};

// Sparse rows of counts with the words they are counts of.
struct Counted {
    std::vector<float> data;
    std::vector<std::int32_t> column;
    std::vector<std::int64_t> start{0};
    std::vector<char> text;               // the words in order, unless they are hashed
    std::vector<std::int64_t> word_start{0};
};

class Counting {
  public:
    static constexpr bool kTraced = false;  // where tokens are is not asked for
    explicit Counting(const Cut& cut)
        : bits_(cut.bits), by_number_(!cut.bits && cut.least == 1 && cut.most == 2 && cut.words != Words::lines) {
        make_room(bits_ ? std::size_t{1} << bits_ : 1024);
    }

    void operator()(std::string_view token, const Span&, std::int32_t) { word(token); }

    // Whether pairs are told by the numbers of their words, not spelled out. Lines may hold blanks, and then the order of
    // pairs would not be that of their words.
    bool by_number() const { return by_number_; }

    // Counts a word; its number.
    std::int32_t word(std::string_view token) {
        const auto place = static_cast<std::size_t>(bits_ ? hashed(token) >> (64 - bits_) : static_cast<std::uint64_t>(words_.place(token)));
        if (place >= room_) make_room(2 * room_);
        Seen& seen = seen_.get()[place];
        if (seen.document == document_) {
            ++out_.data[first_ + seen.at];
        } else {
            seen = {document_, static_cast<std::uint32_t>(out_.data.size() - first_)};
            append(static_cast<std::int32_t>(place));
        }
        return static_cast<std::int32_t>(place);
    }

    // Counts a pair of words, a few pairs later: by then its entry has come from memory.
    void pair(std::int32_t before, std::int32_t after) {
        std::uint64_t& place = waiting_[n_waiting_ % waiting_.size()];
        if (n_waiting_++ >= waiting_.size()) count(place);
        place = static_cast<std::uint64_t>(before) << 32 | static_cast<std::uint32_t>(after);
        pairs_.expect(place);
    }

    // Room for about as many counts as texts of so many bytes have: what is not used costs nothing.
    void expect(std::size_t bytes) {
        const std::size_t entries = bytes / (by_number_ ? 4 : 10);
        out_.data.reserve(entries), out_.column.reserve(entries);
    }

    void next_document() {
        const std::size_t n = std::min(n_waiting_, waiting_.size());
        for (std::size_t i = n_waiting_ - n; i < n_waiting_; ++i) count(waiting_[i % waiting_.size()]);
        n_waiting_ = 0;
        first_ = out_.data.size();
        out_.start.push_back(static_cast<std::int64_t>(first_));
        ++document_;
    }

    Counted finished() {
        if (bits_) return std::move(out_);
        const auto order = words_.order();
        std::vector<std::int32_t> rank(order.size()), rank_of_pair(pairs_.pairs.size());
        for (std::size_t i = 0; i < order.size(); ++i) rank[static_cast<std::size_t>(order[i])] = static_cast<std::int32_t>(i);
        const auto [begin, sorted] = pairs_in_order(rank);
        out_.text.reserve(words_.text.size() + 16 * sorted.size());
        out_.word_start.reserve(order.size() + sorted.size() + 1);
        for (std::size_t i = 0; i < order.size(); ++i) {  // a word, then its pairs: a blank comes before all that words hold
            const std::string_view word = words_[static_cast<std::size_t>(order[i])];
            rank[static_cast<std::size_t>(order[i])] = spell(word, {});
            for (std::size_t j = begin[i]; j < begin[i + 1]; ++j)
                rank_of_pair[sorted[j] & 0xFFFFFFFFu] = spell(word, words_[static_cast<std::size_t>(order[sorted[j] >> 32])]);
        }
        for (auto& column : out_.column) column = column < 0 ? rank_of_pair[static_cast<std::size_t>(~column)] : rank[static_cast<std::size_t>(column)];
        return std::move(out_);
    }

  private:
    struct Seen { std::uint32_t document, at; };  // the last document that had the word, and where in its counts
    struct Free { void operator()(Seen* p) const { std::free(p); } };
    std::int32_t bits_;
    bool by_number_;
    WordList words_;
    PairList pairs_;
    std::array<std::uint64_t, 16> waiting_{};  // pairs that were told of and are not counted yet
    std::size_t n_waiting_ = 0;                // in this document, those that were counted since included
    std::unique_ptr<Seen, Free> seen_;
    std::size_t room_ = 0, first_ = 0;
    std::uint32_t document_ = 1;
    Counted out_;

    void append(std::int32_t column) { out_.data.push_back(1.0f), out_.column.push_back(column); }

    // Until all words are known, the column of a pair is below zero.
    void count(std::uint64_t pair) {
        PairList::Slot& slot = pairs_.find(pair);
        if (slot.at > first_) {  // one more than where it is in the counts: it was in this document before
            ++out_.data[slot.at - 1];
            return;
        }
        append(~slot.number);
        if (out_.data.size() > 0xFFFFFFFFu) throw std::length_error("more than four thousand million counts at once; learn the texts in parts");
        slot.at = static_cast<std::uint32_t>(out_.data.size());
    }

    // Adds a word, or a pair of words, to the vocabulary; its place.
    std::int32_t spell(std::string_view word, std::string_view next) {
        out_.text.insert(out_.text.end(), word.begin(), word.end());
        if (!next.empty()) out_.text.push_back(' '), out_.text.insert(out_.text.end(), next.begin(), next.end());
        if (out_.word_start.size() > 0x7FFFFFFF) throw std::length_error("more than two thousand million different words; use hashing");
        out_.word_start.push_back(static_cast<std::int64_t>(out_.text.size()));
        return static_cast<std::int32_t>(out_.word_start.size()) - 2;
    }

    // The pairs by the ranks of their words: where those of each first word begin, and the rank of the second above the
    // number of the pair.
    std::pair<std::vector<std::size_t>, std::vector<std::uint64_t>> pairs_in_order(const std::vector<std::int32_t>& rank) const {
        const auto rank_of = [&](std::uint64_t word) { return static_cast<std::size_t>(rank[static_cast<std::size_t>(word)]); };
        std::vector<std::size_t> begin(rank.size() + 1), next;
        for (const std::uint64_t pair : pairs_.pairs) ++begin[rank_of(pair >> 32) + 1];
        for (std::size_t i = 1; i < begin.size(); ++i) begin[i] += begin[i - 1];
        next = begin;
        std::vector<std::uint64_t> sorted(pairs_.pairs.size());
        for (std::size_t number = 0; number < sorted.size(); ++number) {
            const std::uint64_t pair = pairs_.pairs[number];
            sorted[next[rank_of(pair >> 32)]++] = static_cast<std::uint64_t>(rank_of(pair & 0xFFFFFFFFu)) << 32 | number;
        }
        for (std::size_t i = 0; i + 1 < begin.size(); ++i)
            std::sort(sorted.begin() + static_cast<std::ptrdiff_t>(begin[i]), sorted.begin() + static_cast<std::ptrdiff_t>(begin[i + 1]));
        return {std::move(begin), std::move(sorted)};
    }

    // Zeros from calloc cost nothing before they are touched, and one short document touches few of them.
    void make_room(std::size_t room) {
        std::unique_ptr<Seen, Free> larger(static_cast<Seen*>(std::calloc(room, sizeof(Seen))));
        if (!larger) throw std::bad_alloc();
        if (room_) std::memcpy(larger.get(), seen_.get(), room_ * sizeof(Seen));
        seen_ = std::move(larger), room_ = room;
    }
};

inline Counted count_tokens(const Texts& texts, std::size_t first, std::size_t last, const Cut& cut) {
    Counting counting(cut);
    std::size_t bytes = 0;
    for (std::size_t i = first; i < last; ++i) bytes += texts.documents[i].size();
    counting.expect(bytes);
    Cutter<Counting> cutter(cut, counting);
    for (std::size_t i = first; i < last; ++i) {
        if (texts.documents[i].data()) cutter.document(texts.documents[i]);
        counting.next_document();
    }
    return counting.finished();
}

// Counts as they weigh: damped to log(1 + n), and scaled to rows of length one.
template <class I>
void weigh_counts(const float* count, const I* start, std::int64_t n, bool damped, bool scaled, double* out) {
    std::array<double, 64> logs;
    for (std::size_t i = 0; i < logs.size(); ++i) logs[i] = std::log1p(static_cast<double>(i));
    for (std::int64_t row = 0; row < n; ++row) {
        double squares = 0.0;
        for (I i = start[row]; i < start[row + 1]; ++i) {
            const auto times = static_cast<double>(count[i]);
            out[i] = !damped ? times : times < 64.0 ? logs[static_cast<std::size_t>(times)] : std::log1p(times);
            squares += out[i] * out[i];
        }
        if (!scaled || squares == 0.0) continue;
        const double scale = 1.0 / std::sqrt(squares);
        for (I i = start[row]; i < start[row + 1]; ++i) out[i] *= scale;
    }
}

}  // namespace tb
