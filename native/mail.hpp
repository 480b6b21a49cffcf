// The tokens of a message: the words of its texts, each with the tag that tells where it was, and each once.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mail_scan.hpp"
#include "tokens.hpp"

namespace tb {

// A word is a letter or digit and what follows of letters, digits, _ $ ' ’ . and -, up to the last that is not one of
// the last four; a % may end it (don't, e-mail, 3.5, 100%). Runs of $ and of ! are words, too. Case is folded by
// lower-casing. Of a word of more than so many characters, only how long it is is kept.
class TokenBag {
  public:
    static constexpr std::size_t kLongestWord = 24, kLongestCode = 24;

    // How the value of a header is read.
    enum class How { name, words, hosts, addresses, message_id, date };

    void add(std::string_view token) {
        token_.assign(token);
        keep(token_.size());
    }

    void add_header(std::string_view name, How how, std::string_view value) {
        begin("header");
        token_ += name;
        keep(token_.size());
        switch (how) {
            case How::name: break;
            case How::words: add_words(name, value); break;
            case How::hosts: add_hosts(name, value); break;
            case How::addresses: add_addresses(name, value); break;
            case How::message_id: {
                const std::size_t at = std::min(value.find('@'), value.size());
                begin(name);
                append_shape(token_, value.substr(0, at), kLongestCode);
                keep(token_.size());
                add_hosts(name, value.substr(at));
                break;
            }
            case How::date: {
                const std::string_view zone = zone_of(value);
                add(name, zone.empty() ? "no-zone" : zone);
            }
        }
    }

    // A link as it is written in a page; browsers pass over line ends and tabs in it.
    void add_link(std::string_view link) {
        link_.clear();
        for (const char c : stripped(link).substr(0, 2 * kLongestLink))
            if (c != '\t' && c != '\n' && c != '\r') link_ += c;
        const LinkParts parts = link_parts(link_);
        if (!parts.scheme.empty()) add("link", parts.scheme);
        add_domains("link", parts.host);
    }

    // A text: where its links lead, and its words.
    void add_text(std::string_view text) {
        each_link(text, [&](std::string_view scheme, std::string_view rest) {
            if (!scheme.empty()) add("link", scheme);
            add_domains("link", link_parts(rest).host);
        });
        add_words("", text);
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
            if (const char* run = letters_from(p, end); run > p) {  // most of most texts
                const std::size_t first = token_.size();
                token_.append(p, run);
                for (std::size_t i = first; i < token_.size(); ++i) token_[i] |= token_[i] >= 'A' && token_[i] <= 'Z' ? 0x20 : 0;
                letters += static_cast<std::size_t>(run - p);
                good = token_.size(), good_letters = letters;
                p = run;
                continue;
            }
            const char* at = p;
            const std::uint32_t c = decoded(p, end);
            const Class kind = class_of(c);
            if (kind == Class::letter || (letters && (kind == Class::dollar || kind == Class::joiner || kind == Class::underscore))) {
                letters += append_lower(token_, c, at, p);
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
    std::string token_;                // the tag and the word that is being read
    std::string host_, link_, rest_;   // the host, the link and what is left of a header
    std::vector<std::size_t> labels_;  // where each label of the host begins

    void begin(std::string_view tag) {
        token_.assign(tag);
        token_ += ':';
    }

    void add(std::string_view tag, std::string_view lowered) {
        begin(tag);
        append_lower(token_, lowered);
        keep(token_.size());
    }

    void add_hosts(std::string_view tag, std::string_view text) {
        each_host(text, [&](std::string_view host) { add_domains(tag, host); });
    }

    void add_addresses(std::string_view tag, std::string_view text) {
        rest_.clear();
        each_address(text, [&](std::string_view between) { (rest_ += between) += ' '; }, [&](const Address& address) {
            begin(tag);
            append_lower(token_, address.user);
            token_ += '@';
            append_lower(token_, address.host);
            keep(token_.size());
            add_domains(tag, address.host);
        });
        add_words(tag, rest_);
    }

    // The host and the domains that it lies in; of an address in numbers, the networks.
    void add_domains(std::string_view tag, std::string_view host) {
        host_.clear();
        append_lower(host_, host);
        labels_.assign(1, 0);
        for (std::size_t at = host_.find('.'); at != host_.npos; at = host_.find('.', at + 1)) labels_.push_back(at + 1);
        const std::size_t n_labels = labels_.size(), last = labels_.back();
        const auto keep_part = [&](std::size_t first, std::size_t end) {
            begin(tag);
            token_.append(host_, first, end - first);
            keep(token_.size());
        };
        if (n_labels == 1) return;
        if (last < host_.size() && std::all_of(host_.begin() + static_cast<std::ptrdiff_t>(last), host_.end(), is_digit)) {
            for (std::size_t n = std::min<std::size_t>(3, n_labels); n > 1; --n) keep_part(0, n < n_labels ? labels_[n] - 1 : host_.size());
            return;
        }
        for (std::size_t n = std::min<std::size_t>(5, n_labels); n > 1; --n) keep_part(labels_[n_labels - n], host_.size());
        keep_part(last - 1, host_.size());
    }

    // The list reads a little beyond the end of a word.
    void keep(std::size_t length) {
        token_.reserve(token_.size() + kRoom);
        words_.place({token_.data(), length});
    }

    static constexpr std::array<Class, 256> kAscii = [] {  // none of the bytes of other characters is a letter by itself
        std::array<Class, 256> table{};
        for (std::size_t c = '0'; c <= '9'; ++c) table[c] = Class::letter;
        for (std::size_t c = 'a'; c <= 'z'; ++c) table[c] = table[c - 32] = Class::letter;
        table['_'] = Class::underscore, table['$'] = Class::dollar, table['%'] = Class::percent, table['!'] = Class::shout;
        table['\''] = table['.'] = table['-'] = Class::joiner;
        return table;
    }();

    static const char* letters_from(const char* p, const char* end) {
        while (p < end && kAscii[static_cast<std::uint8_t>(*p)] == Class::letter) ++p;
        return p;
    }

    static Class class_of(std::uint32_t c) {
        if (c < 128) return kAscii[c];
        return c == 0x2019 ? Class::joiner : !is_surrogate(c) && (character_flags()[c] & kWord) ? Class::letter : Class::other;
    }
};

}  // namespace tb
