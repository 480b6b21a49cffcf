// Text in one spelling: NFKC with case folded, hidden characters left out. `é` is one character however it was written,
// full-width letters are plain ones, and what compares equal has equal bytes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "unicode_tables.hpp"

namespace tb {

inline const std::uint16_t* character_flags() {
    static const auto table = [] {  // spread out once: a look-up in the list of runs would cost more than all the rest
        std::vector<std::uint16_t> flags(0x110000);
        for (std::size_t i = 0; i < std::size(kRuns); ++i) {
            const std::size_t last = i + 1 < std::size(kRuns) ? kRuns[i + 1].first : flags.size();
            std::fill(flags.begin() + kRuns[i].first, flags.begin() + static_cast<std::ptrdiff_t>(last), static_cast<std::uint16_t>(kRuns[i].flags));
        }
        return flags;
    }();
    return table.data();
}

template <std::size_t N>
const Mapping& mapping(const Mapping (&table)[N], std::uint32_t c) {
    return *std::lower_bound(table, table + N - 1, c, [](const Mapping& m, std::uint32_t code) { return m.from < code; });
}

// One character at p, and the place after it.
inline std::uint32_t decoded(const char*& p, const char* end) {
    const auto byte = [](const char* at) { return static_cast<std::uint8_t>(*at); };
    const std::uint32_t first = byte(p++);
    if (first < 0x80) return first;
    const int more = first >= 0xC2 && first < 0xE0 ? 1 : first >= 0xE0 && first < 0xF0 ? 2 : first >= 0xF0 && first < 0xF5 ? 3 : 0;
    if (more == 0 || end - p < more) return 0xFFFD;
    std::uint32_t c = first & (0x3F >> more);
    for (int i = 0; i < more; ++i) {
        if ((byte(p + i) & 0xC0) != 0x80) return 0xFFFD;
        c = c << 6 | (byte(p + i) & 0x3F);
    }
    if (c < (more == 3 ? 0x10000u : more == 2 ? 0x800u : 0x80u) || c > 0x10FFFF) return 0xFFFD;
    p += more;
    return c;
}

// Writes a character in UTF-8; the place after it.
inline char* encoded(std::uint32_t c, char* o) {
    const auto put = [&](std::uint32_t byte) { *o++ = static_cast<char>(byte); };
    if (c < 0x80) put(c);
    else if (c < 0x800) put(0xC0 | c >> 6), put(0x80 | (c & 0x3F));
    else if (c < 0x10000) put(0xE0 | c >> 12), put(0x80 | (c >> 6 & 0x3F)), put(0x80 | (c & 0x3F));
    else put(0xF0 | c >> 18), put(0x80 | (c >> 12 & 0x3F)), put(0x80 | (c >> 6 & 0x3F)), put(0x80 | (c & 0x3F));
    return o;
}

inline bool is_surrogate(std::uint32_t c) { return c >= 0xD800 && c < 0xE000; }

// Calls each(to) for what a character becomes when case is folded.
template <class Each>
void each_folded(std::uint32_t c, std::uint16_t flags, Each&& each) {
    if (!(flags & (kLowers | kFolds))) return each(c);
    const Mapping& to = flags & kFolds ? mapping(kFold, c) : mapping(kLower, c);
    for (int i = 0; i < 3 && to.to[i]; ++i) each(to.to[i]);
}

inline const char* first_beyond_ascii(const char* p, const char* end) {
    for (std::uint64_t word; end - p >= 8; p += 8) {
        std::memcpy(&word, p, 8);
        if (word & 0x8080808080808080u) break;
    }
    while (p < end && !(*p & 0x80)) ++p;
    return p;
}

// ASCII is left as it is, capitals included: whoever reads the words lowers them on the way.
class NormalForm {
  public:
    // `traced`: keep the bytes of the text that each byte of the result comes from.
    NormalForm(bool lower, bool traced) : lower_(lower), traced_(traced) {}

    // The text itself where there is nothing to do; otherwise lent until the next text.
    std::string_view of(std::string_view text) {
        begin_ = text.data(), end_ = begin_ + text.size();
        is_same_ = first_beyond_ascii(begin_, end_) == end_;
        if (is_same_) return text;
        out_.clear(), from_.clear(), to_.clear();
        for (const char* p = begin_; p < end_;) p = step(p);
        const std::size_t size = out_.size();
        out_.resize(size + 16);  // some bytes beyond the end may be read
        return {out_.data(), size};
    }

    // The bytes of the text that some bytes of the result come from; marks may have changed places.
    std::pair<std::int64_t, std::int64_t> source(std::int64_t first, std::int64_t last) const {
        if (is_same_ || first == last) return {first, last};
        return {*std::min_element(from_.begin() + first, from_.begin() + last), *std::max_element(to_.begin() + first, to_.begin() + last)};
    }

  private:
    struct Letter { std::uint32_t c, combining; std::int64_t from, to; };

    bool lower_, traced_, is_same_ = true;
    const std::uint16_t* flags_ = character_flags();
    const char *begin_ = nullptr, *end_ = nullptr;
    std::vector<char> out_;
    std::vector<std::int64_t> from_, to_;
    std::vector<Letter> letters_;

    void copy(const char* first, const char* last) {
        out_.insert(out_.end(), first, last);
        for (; traced_ && first < last; ++first) from_.push_back(first - begin_), to_.push_back(first - begin_ + 1);
    }

    void put(std::uint32_t c, std::int64_t from, std::int64_t to) {
        char bytes[4];
        const char* last = encoded(c, bytes);
        out_.insert(out_.end(), static_cast<const char*>(bytes), last);
        for (const char* b = bytes; traced_ && b < last; ++b) from_.push_back(from), to_.push_back(to);
    }

    // Whether the character at p may change what is before it.
    bool reaches_back(const char* p) const { return p < end_ && (*p & 0x80) && (flags_[decoded(p, end_)] & (kAttaches | kChanges)); }

    // One character that stands for itself, a run of ASCII, or characters that depend on each other.
    const char* step(const char* p) {
        if (!(*p & 0x80)) {
            const char* last = first_beyond_ascii(p, end_);
            if (!reaches_back(last)) return copy(p, last), last;
            copy(p, last - 1);
            return cluster(last - 1);
        }
        const char* after = p;
        const std::uint32_t c = decoded(after, end_);
        const std::uint16_t flags = flags_[c];
        if ((flags & (kAttaches | kChanges)) || reaches_back(after)) return cluster(p);
        if (lower_) each_folded(c, flags, [&](std::uint32_t each) { put(each, p - begin_, after - begin_); });
        else put(c, p - begin_, after - begin_);
        return after;
    }

    const char* cluster(const char* p) {
        letters_.clear();
        do {
            const char* at = p;
            const std::uint32_t c = decoded(p, end_);
            add(c, at - begin_, p - begin_);
        } while (reaches_back(p));
        for (std::size_t i = 0; i < letters_.size(); ++i) {  // marks in the order of their classes
            std::size_t last = i;
            while (last < letters_.size() && letters_[last].combining) ++last;
            if (last - i > 1) std::stable_sort(letters_.begin() + static_cast<std::ptrdiff_t>(i), letters_.begin() + static_cast<std::ptrdiff_t>(last), [](const Letter& a, const Letter& b) { return a.combining < b.combining; });
            if (last > i) i = last - 1;
        }
        compose();
        for (const Letter& each : letters_) put(each.c, each.from, each.to);
        return p;
    }

    void add(std::uint32_t c, std::int64_t from, std::int64_t to) {
        if (flags_[c] & kHidden) return;
        const auto push = [&](std::uint32_t part) { letters_.push_back({part, combining(part), from, to}); };
        each_part(c, [&](std::uint32_t part) {
            if (!lower_) return push(part);
            each_folded(part, flags_[part], [&](std::uint32_t folded) { each_part(folded, push); });
        });
    }

    template <class Each>
    static void each_part(std::uint32_t c, Each&& each) {
        if (c >= 0xAC00 && c < 0xD7A4) {  // syllables of Hangul, by arithmetic
            const std::uint32_t n = c - 0xAC00;
            each(0x1100 + n / 588), each(0x1161 + n % 588 / 28);
            if (n % 28) each(0x11A7 + n % 28);
            return;
        }
        const Parts* last = std::end(kDecomposed) - 1;
        const Parts* found = c < 0xA0 ? last : std::lower_bound(std::begin(kDecomposed), last, c, [](const Parts& m, std::uint32_t code) { return m.from < code; });
        if (found == last || found->from != c) return each(c);
        for (std::uint32_t i = found->start; i < found[1].start; ++i) each(kParts[i]);
    }

    std::uint32_t combining(std::uint32_t c) const {
        if (c < 0x300 || !(flags_[c] & kAttaches)) return 0;
        return (std::upper_bound(std::begin(kClasses), std::end(kClasses), c, [](std::uint32_t code, const Combining& m) { return code < m.first; }) - 1)->kind;
    }

    // The character that two are together; 0 if none.
    static std::uint32_t composite(std::uint32_t a, std::uint32_t b) {
        if (a >= 0x1100 && a < 0x1113 && b >= 0x1161 && b < 0x1176) return 0xAC00 + ((a - 0x1100) * 21 + (b - 0x1161)) * 28;
        if (a >= 0xAC00 && a < 0xD7A4 && (a - 0xAC00) % 28 == 0 && b > 0x11A7 && b < 0x11C3) return a + (b - 0x11A7);
        const auto* found = std::lower_bound(std::begin(kComposites), std::end(kComposites), std::pair(a, b), [](const Composite& m, const auto& pair) { return std::pair(m.first, m.second) < pair; });
        return found != std::end(kComposites) && found->first == a && found->second == b ? found->to : 0;
    }

    void compose() {
        std::size_t kept = 0, starter = letters_.size();
        std::uint32_t last = 0;  // class of the last letter that was kept since the starter
        for (const Letter& each : letters_) {
            const bool blocked = starter == letters_.size() || (kept - starter > 1 && last >= each.combining);
            if (!blocked)
                if (const std::uint32_t both = composite(letters_[starter].c, each.c)) {
                    letters_[starter].c = both;
                    letters_[starter].to = std::max(letters_[starter].to, each.to);
                    continue;
                }
            if (!each.combining) starter = kept;
            last = each.combining;
            letters_[kept++] = each;
        }
        letters_.resize(kept);
    }
};

}  // namespace tb
