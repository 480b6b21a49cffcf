// Cutting text into tokens.
//
// Text is UTF-8; surrogates that stand alone in a Python string come as their three bytes, and bytes that are no UTF-8
// at all are read as U+FFFD, which is no part of a word.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "normal_form.hpp"
#include "text.hpp"

namespace tb {

// ---------------------------------------------------------------------------------------------- settings

enum class Words { text, unicode, sklearn, lines, tags };
constexpr char kListed = '\x1f';  // before each of the tags of a list, which may hold any other character

struct Cut {
    Words words = Words::text;
    bool lower = true;
    std::int32_t least = 1, most = 1;              // words of an n-gram
    std::int32_t least_chars = 0, most_chars = 0;  // characters of an n-gram inside a word; 0 counts words
    std::int32_t bits = 0;                         // of a hashed vocabulary; 0 keeps the words
    std::vector<std::string> stop_words;
    char separator = '|';                          // between tags
};

constexpr std::size_t kLongest = 255;  // bytes of a word: what is longer is data and no language
constexpr std::size_t kMostSigns = 3;  // of a run of the same sign
constexpr std::size_t kLeastGram = 2, kMostGram = 4;  // characters of a token in scripts without blanks

// ---------------------------------------------------------------------------------------------- the vocabulary

constexpr std::size_t kRoom = 8;  // bytes that may be read beyond the end of a word

// Strings by the order in which they were first seen, kept in one long buffer. Open addressing, at most half full. A word
// that is looked for must have `kRoom` after it.
class WordList {
  public:
    std::vector<char> text;
    std::vector<std::int64_t> start{0};

    std::size_t size() const { return start.size() - 1; }
    std::string_view operator[](std::size_t i) const { return {text.data() + start[i], static_cast<std::size_t>(start[i + 1] - start[i])}; }

    std::int32_t place(std::string_view word) {
        const Slot wanted = slot_of(word);
        for (std::size_t at = home(wanted);; at = (at + 1) & mask_) {
            const Slot& entry = slots_[at];
            if (entry.place < 0) return append(word, wanted, at);
            if (same(entry, wanted, word)) return entry.place;
        }
    }

    bool holds(std::string_view word) const {
        const Slot wanted = slot_of(word);
        for (std::size_t at = home(wanted); slots_[at].place >= 0; at = (at + 1) & mask_)
            if (same(slots_[at], wanted, word)) return true;
        return false;
    }

    // The order of the words by their bytes, which is that of their characters. The first eight distinguish most.
    std::vector<std::int32_t> order() const {
        struct Key { std::uint64_t prefix; std::int32_t place; };
        std::vector<Key> keys(size());
        for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = {prefix((*this)[i]), static_cast<std::int32_t>(i)};
        std::sort(keys.begin(), keys.end(), [this](const Key& a, const Key& b) {
            if (a.prefix != b.prefix) return a.prefix < b.prefix;
            return (*this)[static_cast<std::size_t>(a.place)] < (*this)[static_cast<std::size_t>(b.place)];
        });
        std::vector<std::int32_t> places(keys.size());
        std::transform(keys.begin(), keys.end(), places.begin(), [](const Key& k) { return k.place; });
        return places;
    }

  private:
    // A word of up to eight bytes is its own key, so that most are found without a look at the text; others have a hash.
    struct Slot { std::uint64_t key = 0; std::uint32_t length = 0; std::int32_t place = -1; };
    std::vector<Slot> slots_ = std::vector<Slot>(1024);
    std::uint64_t mask_ = 1023;

    static Slot slot_of(std::string_view word) {
        const auto length = static_cast<std::uint32_t>(word.size());
        if (length > 8) return {hashed(word), length, -1};
        char bytes[8];
        std::memcpy(bytes, word.data(), 8);  // beyond its end there is room: no branch on a length that cannot be foreseen
        return {length ? word_at<std::uint64_t>(bytes) & kept_bytes(length) : 0, length, -1};
    }

    // Of eight bytes the first so many, whichever way round numbers lie in memory.
    static std::uint64_t kept_bytes(std::uint32_t length) {
        const std::uint32_t bits = 8 * (8 - length);
        return std::endian::native == std::endian::little ? ~std::uint64_t{0} >> bits : ~std::uint64_t{0} << bits;
    }

    std::size_t home(const Slot& slot) const { return (slot.length > 8 ? slot.key : mixed(mixed(slot.key + slot.length))) & mask_; }

    bool same(const Slot& entry, const Slot& wanted, std::string_view word) const {
        return entry.key == wanted.key && entry.length == wanted.length && (wanted.length <= 8 || (*this)[static_cast<std::size_t>(entry.place)] == word);
    }

    static std::uint64_t prefix(std::string_view word) {
        std::uint64_t key = 0;
        for (std::size_t i = 0; i < 8; ++i) key = key << 8 | (i < word.size() ? static_cast<std::uint8_t>(word[i]) : 0);
        return key;
    }

    std::int32_t append(std::string_view word, const Slot& wanted, std::size_t at) {
        if (size() >= 0x7FFFFFFF) throw std::length_error("more than two thousand million different words; use hashing");
        const auto place = static_cast<std::int32_t>(size());
        text.insert(text.end(), word.begin(), word.end());
        start.push_back(static_cast<std::int64_t>(text.size()));
        slots_[at] = {wanted.key, wanted.length, place};
        if (2 * size() > slots_.size()) grow();
        return place;
    }

    void grow() {
        std::vector<Slot> old((size() < (1u << 18) ? 4 : 2) * slots_.size());
        old.swap(slots_);
        mask_ = slots_.size() - 1;
        for (const Slot& entry : old) {
            if (entry.place < 0) continue;
            std::size_t at = home(entry);
            while (slots_[at].place >= 0) at = (at + 1) & mask_;
            slots_[at] = entry;
        }
    }
};

// A sorted list of words that lies in two arrays.
struct Sorted {
    const std::uint8_t* text;
    const std::int64_t* start;
    std::int64_t size;
    std::string_view operator[](std::int64_t i) const {
        return {reinterpret_cast<const char*>(text) + start[i], static_cast<std::size_t>(start[i + 1] - start[i])};
    }
};

// Which tokens are of several words, one of which is rare: it says everything that they do. They are rare then, too.
inline void with_rare_words(const Sorted& words, const bool* rare, bool* found) {
    StringList singles;
    for (std::int64_t i = 0; i < words.size; ++i)
        if (rare[i] && words[i].find(' ') == std::string_view::npos) singles.place(words[i]);
    std::string_view before;
    bool begins = false;
    for (std::int64_t i = 0; i < words.size; ++i) {
        std::string_view rest = words[i];
        std::size_t end = rest.find(' ');
        found[i] = false;
        if (!rare[i] || end == std::string_view::npos) continue;
        if (rest.substr(0, end) != before) before = rest.substr(0, end), begins = singles.has(before);  // most begin as the one before
        for (found[i] = begins; !found[i] && end != std::string_view::npos;) {
            rest.remove_prefix(end + 1), end = rest.find(' ');
            found[i] = singles.has(rest.substr(0, end));
        }
    }
}

// Where each word of one sorted list is in another; -1 where it is not.
inline void places_in(const Sorted& words, const Sorted& among, std::int32_t* places) {
    std::int64_t j = 0;
    const bool few = words.size * 16 < among.size;
    for (std::int64_t i = 0; i < words.size; ++i) {
        const std::string_view word = words[i];
        if (few) {
            std::int64_t high = among.size;
            while (j < high) {
                const std::int64_t middle = (j + high) / 2;
                if (among[middle] < word) j = middle + 1; else high = middle;
            }
        } else {
            while (j < among.size && among[j] < word) ++j;
        }
        places[i] = j < among.size && among[j] == word ? static_cast<std::int32_t>(j) : -1;
    }
}

// The words of two sorted lists as one, and where those of each are in it.
inline void united(const Sorted& a, const Sorted& b, std::vector<char>& text, std::vector<std::int64_t>& start, std::int32_t* in_a, std::int32_t* in_b) {
    std::int64_t i = 0, j = 0;
    start.assign(1, 0);
    while (i < a.size || j < b.size) {
        const int order = i == a.size ? 1 : j == b.size ? -1 : a[i].compare(b[j]);
        const std::string_view word = order <= 0 ? a[i] : b[j];
        const auto place = static_cast<std::int32_t>(start.size() - 1);
        text.insert(text.end(), word.begin(), word.end());
        start.push_back(static_cast<std::int64_t>(text.size()));
        if (order <= 0) in_a[i++] = place;
        if (order >= 0) in_b[j++] = place;
    }
}

// ---------------------------------------------------------------------------------------------- cutting

struct Span { std::int64_t first, last; };  // bytes of the document that a word was made from

// Cuts one document after another and tells a listener of every token; a token's text is only lent.
template <class Listener>
class Cutter {
  public:
    Cutter(const Cut& cut, Listener& listener) : cut_(cut), listener_(listener), normal_(cut.lower, Listener::kTraced), out_(4096) {
        for (const auto& word : cut.stop_words) {
            const std::string roomy = word + std::string(kRoom, '\0');
            stop_.place({roomy.data(), word.size()});
        }
        breaks_.fill(0);
        for (std::uint32_t c = 0; c < 128; ++c) {
            const std::uint16_t flags = flags_[c];
            const bool in_word = cut.words == Words::lines ? c != '\n' : (flags & kWord) && (c != '_' || cut.words == Words::sklearn);
            const bool looked_at = cut.words == Words::text ? flags & kSign : cut.words == Words::unicode && (c == '\'' || (flags & kSingle));
            breaks_[c] = !in_word && !looked_at;
            ascii_[c] = !in_word ? 0xFF : static_cast<std::uint8_t>(cut.lower && c >= 'A' && c <= 'Z' ? c + 32 : c);
        }
        std::fill(ascii_.begin() + 128, ascii_.end(), std::uint8_t{0xFF});
    }

    void document(std::string_view text) {
        if (cut_.words == Words::text) text = normal_.of(text);
        begin_ = text.data(), end_ = begin_ + text.size();
        n_words_ = 0, letters_ = 0, unspaced_ = false;
        starts_.clear();
        restart();
        if (cut_.words == Words::tags) return tags(text);
        const char* p = begin_;
        while (p < end_) {
            // A run of plain letters: what nearly all text is made of.
            std::uint8_t to = ascii_[static_cast<std::uint8_t>(*p)];
            if (to != 0xFF) {
                if (unspaced_) finish(p);
                p = plain_run(p, to);
                if (p == end_) break;
            }
            if (breaks_[static_cast<std::uint8_t>(*p)]) {
                finish(p++);
                continue;
            }
            const char* at = p;
            const std::uint32_t c = decoded(p, end_);
            if (cut_.words == Words::text) p = as_text(c, at, p);
            else if (cut_.words == Words::lines) line(c, at);
            else if (cut_.words == Words::sklearn) as_python(c, at, p);
            else as_unicode(c, at, p);
        }
        finish(end_);
    }

  private:
    const Cut& cut_;
    Listener& listener_;
    const std::uint16_t* flags_ = character_flags();
    NormalForm normal_;
    std::array<std::uint8_t, 256> ascii_{};  // what a letter becomes; 0xFF for all else
    std::array<std::uint8_t, 256> breaks_{}; // what ends a word and is nothing else
    WordList stop_;
    std::vector<char> out_;                  // the words as they are counted, one blank between them
    std::vector<std::size_t> starts_;        // where the last words begin in it
    const char *begin_ = nullptr, *end_ = nullptr;
    std::size_t size_ = 0, word_ = 0;        // of `out_`: what is filled, where the word begins
    std::size_t n_words_ = 0, letters_ = 0;  // words of the document; characters of this word
    std::int32_t last_ = 0;                  // the number of the word before, where words are numbered
    std::int64_t source_ = 0;                // where the word begins in the document
    std::vector<std::size_t> edges_;         // where the characters of a word begin
    bool unspaced_ = false;                  // whether the run is of a script without blanks

    std::uint16_t flags_of(std::uint32_t c) const { return flags_[c]; }

    // The letters from p on, up to what is none; in local variables, which no write through a char* can change.
    const char* plain_run(const char* p, std::uint8_t to) {
        if (!letters_) source_ = p - begin_;
        const char *const begin = p, *const end = end_;
        const std::uint8_t* const table = ascii_.data();
        char* o = out_.data() + size_;
        const char* limit = out_.data() + out_.size() - kRoom;
        do {
            if (o >= limit) {
                const auto filled = static_cast<std::size_t>(o - out_.data());
                out_.resize(2 * out_.size());
                o = out_.data() + filled, limit = out_.data() + out_.size() - kRoom;
            }
            *o++ = static_cast<char>(to);
            ++p;
        } while (p != end && (to = table[static_cast<std::uint8_t>(*p)]) != 0xFF);
        size_ = static_cast<std::size_t>(o - out_.data());
        letters_ += static_cast<std::size_t>(p - begin);
        return p;
    }

    // An empty buffer; characters are counted with a blank before the word.
    void restart() {
        out_[0] = ' ';
        size_ = word_ = cut_.most_chars ? 1 : 0;
    }

    void push(std::uint32_t c) {
        if (size_ + 4 + kRoom > out_.size()) out_.resize(2 * out_.size());
        const char* o = encoded(c, out_.data() + size_);
        size_ = static_cast<std::size_t>(o - out_.data());
    }

    void letter(std::uint32_t c, const char* at) {
        if (!letters_++) source_ = at - begin_;
        push(c);
    }

    template <class Each>
    void folded(std::uint32_t c, Each&& each) const {
        if (cut_.lower) each_folded(c, flags_of(c), each); else each(c);
    }

    void line(std::uint32_t c, const char* at) {
        if (c == '\n') return finish(at);
        folded(c, [&](std::uint32_t each) { letter(each, at); });
    }

    // What is between separators, without the blanks around it.
    void tags(std::string_view text) {
        const char separator = !text.empty() && text[0] == kListed ? kListed : cut_.separator;
        const auto blank = [](char c) { return c == ' ' || (c >= '\t' && c <= '\r'); };
        for (std::size_t first = 0; first <= text.size();) {
            const std::size_t end = std::min(text.find(separator, first), text.size());
            const char *p = begin_ + first, *last = begin_ + end;
            while (p < last && blank(*p)) ++p;
            while (p < last && blank(last[-1])) --last;
            while (p < last) {
                const char* at = p;
                const std::uint32_t c = decoded(p, last);
                folded(c, [&](std::uint32_t each) { letter(each, at); });
            }
            finish(last);
            first = end + 1;
        }
    }

    // As `core/spelling.py` says; the place after what was read.
    const char* as_text(std::uint32_t c, const char* at, const char* after) {
        const std::uint16_t flags = flags_of(c);
        if (flags & kUnspaced) {
            if (!unspaced_) finish(at);
            unspaced_ = true;
            return letter(c, at), after;
        }
        if ((flags & kMark) && letters_) return letter(c, at), after;
        if ((flags & kWord) && c != '_') {
            if (unspaced_) finish(at);
            return letter(c, at), after;
        }
        if ((c == '\'' || c == 0x2019) && letters_ && !unspaced_ && after < end_) {
            const char* p = after;
            const std::uint32_t next = decoded(p, end_);
            if (next != '_' && (flags_of(next) & (kWord | kUnspaced)) == kWord) return letter('\'', at), after;
        }
        finish(at);
        return flags & kSign ? sign(c, at, after) : after;
    }

    // A sign or a run of the same: a token that is no part of phrases.
    const char* sign(std::uint32_t c, const char* at, const char* after) {
        const std::size_t one = static_cast<std::size_t>(after - at);
        const char* p = at + emoticon(at);
        std::size_t length = static_cast<std::size_t>(p - at);
        if (p == at) {
            p = after;
            if (!(flags_of(c) & kSingle))
                while (static_cast<std::size_t>(end_ - p) >= one && std::memcmp(p, at, one) == 0 && !emoticon(p)) p += one;
            length = std::min(static_cast<std::size_t>(p - at), kMostSigns * one);
        }
        if (cut_.most_chars) {
            for (const char* q = at; q < at + length;) {
                const char* from = q;
                const std::uint32_t each = decoded(q, end_);
                letter(cut_.lower && each >= 'A' && each <= 'Z' ? each + 32 : each, from);
            }
            finish(p);
            return p;
        }
        char token[4 * kMostSigns + kRoom] = {};
        for (std::size_t i = 0; i < length; ++i) token[i] = cut_.lower && at[i] >= 'A' && at[i] <= 'Z' ? static_cast<char>(at[i] + 32) : at[i];
        const std::string_view found(token, length);
        if (cut_.least == 1 && !(stop_.size() && stop_.holds(found))) listener_(found, source(at - begin_, p - begin_), 1);
        return p;
    }

    // How long the emoticon at p is, such as :-) or ;P; 0 if there is none.
    std::ptrdiff_t emoticon(const char* p) const {
        const auto any = [](char c, std::string_view of) { return of.find(c) != of.npos; };
        const char* mouth = p + 1;
        if (!any(*p, ":;=")) return 0;
        if (mouth < end_ && any(*mouth, "-'^")) ++mouth;
        if (mouth >= end_) return 0;
        const char* next = mouth + 1;
        if (any(*mouth, ")(][}{|*")) return next - p;
        if (!any(*mouth, "DdPpOo/\\")) return 0;
        const std::ptrdiff_t length = next - p;
        return next == end_ || !((flags_of(decoded(next, end_)) & kWord) || any(mouth[1], "/\\")) ? length : 0;
    }

    // The bytes of the text as it was given.
    Span source(std::int64_t first, std::int64_t last) const {
        if constexpr (Listener::kTraced)
            if (cut_.words == Words::text) std::tie(first, last) = normal_.source(first, last);
        return {first, last};
    }

    // Letters and digits with their marks; an apostrophe between two of them; signs and ideographs by themselves.
    void as_unicode(std::uint32_t c, const char* at, const char* after) {
        const std::uint16_t flags = flags_of(c);
        if (flags & kDropped) return;
        if (c == 0xFFFD) return finish(at);  // bytes that are no text
        if (flags & kSingle) {
            finish(at);
            letter(c, at);
            return finish(after);
        }
        if (((flags & kWord) && c != '_') || ((flags & kMark) && letters_)) return folded(c, [&](std::uint32_t each) { letter(each, at); });
        if ((c == '\'' || c == 0x2019) && letters_ && after < end_) {
            const std::uint16_t next = flags_of(decoded(after, end_));
            if ((next & kWord) && !(next & kSingle)) return letter('\'', at);
        }
        finish(at);
    }

    // str.lower() and the pattern \b\w\w+\b, to the letter.
    void as_python(std::uint32_t c, const char* at, const char* after) {
        if (is_surrogate(c)) return finish(at);
        const auto each = [&](std::uint32_t to) {
            if (flags_of(to) & kWord) letter(to, at); else finish(at);
        };
        if (!cut_.lower || !(flags_of(c) & kLowers)) return each(c);
        if (c == 0x3A3) return each(ends_word(at, after) ? 0x3C2 : 0x3C3);
        const Mapping& to = mapping(kLower, c);
        for (int i = 0; i < 3 && to.to[i]; ++i) each(to.to[i]);
    }

    // Whether a capital sigma is the last letter of a word: cased letters before it and none after it.
    bool ends_word(const char* at, const char* after) const {
        const auto tells = [this](std::uint32_t c, bool& cased) {
            const std::uint16_t flags = flags_of(c);
            cased = flags & kCased;
            return !(flags & kIgnorable);
        };
        bool before = false, behind = false;
        while (at > begin_) {
            do --at; while (at > begin_ && (static_cast<std::uint8_t>(*at) & 0xC0) == 0x80);
            const char* p = at;
            if (tells(decoded(p, end_), before)) break;
            before = false;
        }
        while (after < end_ && !tells(decoded(after, end_), behind)) behind = false;
        return before && !behind;
    }

    // A word has ended. Dropped again if it is none; otherwise all that ends with it is counted.
    void finish(const char* at) {
        if (!letters_) return;
        const std::size_t letters = std::exchange(letters_, 0);
        const std::string_view word(out_.data() + word_, size_ - word_);
        const bool unspaced = std::exchange(unspaced_, false);
        const bool long_enough = cut_.words != Words::sklearn || letters > 1;
        const bool short_enough = unspaced || (cut_.words != Words::unicode && cut_.words != Words::text) || word.size() <= kLongest;
        if (!long_enough || !short_enough || (stop_.size() && stop_.holds(word))) {
            size_ = word_;
            return;
        }
        const Span span = source(source_, at - begin_);
        if (cut_.most_chars) characters(span);
        else if (unspaced) grams(span);
        else phrases(span);
    }

    // The runs of two to four characters of a script without blanks; a single character is one by itself.
    void grams(const Span& span) {
        find_edges(word_);
        const std::size_t n_characters = edges_.size() - 1;
        for (std::size_t n = std::min(kLeastGram, n_characters); n <= std::min(kMostGram, n_characters); ++n)
            for (std::size_t i = 0; i + n <= n_characters; ++i) {
                const std::string_view gram(out_.data() + edges_[i], edges_[i + n] - edges_[i]);
                if (stop_.size() && stop_.holds(gram)) continue;
                if constexpr (Listener::kTraced) listener_(gram, part_of(span, i, n), 1);
                else listener_(gram, span, 1);
            }
        size_ = word_;
    }

    // Where a gram lies: known where the text was in its normal form already.
    Span part_of(const Span& span, std::size_t first, std::size_t n) const {
        if (span.last - span.first != static_cast<std::int64_t>(edges_.back() - edges_[0])) return span;
        const auto at = [&](std::size_t i) { return span.first + static_cast<std::int64_t>(edges_[i] - edges_[0]); };
        return {at(first), at(first + n)};
    }

    void find_edges(std::size_t from) {
        edges_.clear();
        for (std::size_t i = from; i < size_; ++i)
            if ((static_cast<std::uint8_t>(out_[i]) & 0xC0) != 0x80) edges_.push_back(i);
        edges_.push_back(size_);
    }

    void phrases(const Span& span) {
        if (cut_.most == 1) {
            listener_({out_.data(), size_}, span, 1);
            return restart();
        }
        if constexpr (requires { listener_.pair(0, 0); })
            if (listener_.by_number()) {
                const std::int32_t word = listener_.word({out_.data(), size_});
                if (n_words_++) listener_.pair(last_, word);
                last_ = word;
                return restart();
            }
        starts_.push_back(word_);
        ++n_words_;
        for (std::int32_t n = cut_.least; n <= cut_.most && static_cast<std::size_t>(n) <= n_words_; ++n) {
            const std::size_t first = starts_[starts_.size() - static_cast<std::size_t>(n)];
            listener_({out_.data() + first, size_ - first}, span, n);
        }
        push(' ');
        word_ = size_;
        if (size_ > (1u << 20)) forget();
    }

    // Only the words of the next n-grams are kept.
    void forget() {
        const std::size_t keep = std::min(starts_.size(), static_cast<std::size_t>(cut_.most - 1));
        const std::size_t from = starts_[starts_.size() - keep];
        std::memmove(out_.data(), out_.data() + from, size_ - from);
        starts_.erase(starts_.begin(), starts_.end() - static_cast<std::ptrdiff_t>(keep));
        for (auto& each : starts_) each -= from;
        size_ -= from, word_ -= from;
    }

    // The runs of characters in a word, a blank before and after it.
    void characters(const Span& span) {
        push(' ');
        find_edges(0);
        const std::size_t n_characters = edges_.size() - 1;
        for (auto n = static_cast<std::size_t>(cut_.least_chars); n <= static_cast<std::size_t>(cut_.most_chars); ++n) {
            const std::size_t window = std::min(n, n_characters);
            for (std::size_t i = 0; i + window <= n_characters; ++i) listener_({out_.data() + edges_[i], edges_[i + window] - edges_[i]}, span, 1);
            if (window == n_characters) break;  // the whole word is counted once
        }
        restart();
    }
};

// ---------------------------------------------------------------------------------------------- documents

// Documents wherever they are: strings of Python or of Arrow, lent for as long as their owners are kept.
struct Texts {
    std::vector<std::string_view> documents;  // data() is null where one is missing
    std::vector<Lent<ArrowArray>> arrays;
};

// The tokens of one document in their order, with the bytes that the last word of each was made from.
struct Listing {
    static constexpr bool kTraced = true;
    std::vector<std::string> tokens;
    std::vector<Span> spans;
    std::vector<std::int32_t> lengths;
    void operator()(std::string_view token, const Span& span, std::int32_t n) {
        tokens.emplace_back(token), spans.push_back(span), lengths.push_back(n);
    }
};

}  // namespace tb
