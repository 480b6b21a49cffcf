// The tokens of a message: the words of its texts, each with the tag that tells where it was, and each once.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "tokens.hpp"

namespace tb {

// A word is a letter or digit and what follows of letters, digits, _ $ ' ’ . and -, up to the last that is not one of
// the last four; a % may end it (don't, e-mail, 3.5, 100%). Runs of $ and of ! are words, too. Case is folded by
// lower-casing. Of a word of more than so many characters, only how long it is is kept.
class TokenBag {
  public:
    static constexpr std::size_t kLongestWord = 24;

    void add(std::string_view token) {
        token_.assign(token);
        keep(token_.size());
    }

    void add_words(std::string_view tag, std::string_view text) {
        token_.assign(tag);
        if (!tag.empty()) token_ += ':';
        const std::size_t prefix = token_.size();
        const char *p = text.data(), *end = p + text.size();
        std::size_t letters = 0, good = 0, good_letters = 0;  // characters so far; up to the last that may end a word
        const auto finish = [&] {
            if (good_letters > kLongestWord) {
                token_.resize(prefix);
                token_ += "long:" + std::to_string(std::min<std::size_t>(good_letters, 990) / 10) + '0';
                keep(token_.size());
            } else if (letters) {
                keep(good);
            }
            token_.resize(prefix);
            letters = good = good_letters = 0;
        };
        while (p < end) {
            const char* at = p;
            const std::uint32_t c = decoded(p, end);
            const Class kind = class_of(c);
            if (kind == Class::letter || (letters && (kind == Class::dollar || kind == Class::joiner || kind == Class::underscore))) {
                letters += lowered(c, at, p);
                if (kind != Class::joiner) good = token_.size(), good_letters = letters;
            } else if (letters && kind == Class::percent) {
                token_ += '%';
                good = token_.size(), good_letters = ++letters;
                finish();
            } else {
                finish();
                if (kind != Class::dollar && kind != Class::shout) continue;
                do token_ += *at, ++letters; while (++at < end && *at == static_cast<char>(c));
                p = at;
                good = token_.size(), good_letters = letters;
                finish();
            }
        }
        finish();
    }

    // The tokens in the order in which they were first met, one a line.
    std::string document() const {
        std::string lines;
        lines.reserve(words_.text.size() + words_.size());
        for (std::size_t i = 0; i < words_.size(); ++i) {
            if (i) lines += '\n';
            lines += words_[i];
        }
        return lines;
    }

  private:
    enum class Class : std::uint8_t { other, letter, underscore, dollar, joiner, percent, shout };

    WordList words_;
    std::string token_;  // the tag and the word that is being read

    // The list reads a little beyond the end of a word.
    void keep(std::size_t length) {
        token_.reserve(token_.size() + kRoom);
        words_.place({token_.data(), length});
    }

    static Class class_of(std::uint32_t c) {
        static const auto ascii = [] {
            std::array<Class, 128> table{};
            for (std::uint32_t i = 0; i < 128; ++i) table[i] = character_flags()[i] & kWord ? Class::letter : Class::other;
            table['_'] = Class::underscore, table['$'] = Class::dollar, table['%'] = Class::percent, table['!'] = Class::shout;
            table['\''] = table['.'] = table['-'] = Class::joiner;
            return table;
        }();
        if (c < 128) return ascii[c];
        return c == 0x2019 ? Class::joiner : !is_surrogate(c) && (character_flags()[c] & kWord) ? Class::letter : Class::other;
    }

    // Append a character in lower case; answers how many characters that made.
    std::size_t lowered(std::uint32_t c, const char* at, const char* after) {
        if (c < 128) {
            token_ += static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
            return 1;
        }
        if (!(character_flags()[c] & kLowers)) {
            token_.append(at, after);
            return 1;
        }
        const Mapping& to = mapping(kLower, c);
        std::size_t made = 0;
        for (; made < 3 && to.to[made]; ++made) put(to.to[made]);
        return made;
    }

    void put(std::uint32_t c) {
        if (c < 0x80) {
            token_ += static_cast<char>(c);
            return;
        }
        if (c < 0x800) token_ += static_cast<char>(0xC0 | c >> 6);
        else {
            if (c < 0x10000) token_ += static_cast<char>(0xE0 | c >> 12);
            else {
                token_ += static_cast<char>(0xF0 | c >> 18);
                token_ += static_cast<char>(0x80 | (c >> 12 & 0x3F));
            }
            token_ += static_cast<char>(0x80 | (c >> 6 & 0x3F));
        }
        token_ += static_cast<char>(0x80 | (c & 0x3F));
    }
};

}  // namespace tb
