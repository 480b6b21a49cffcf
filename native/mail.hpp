// The tokens of a message: the words of its texts, each with the tag that tells where it was, and each once.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mail_form.hpp"
#include "mail_scan.hpp"
#include "normal_form.hpp"
#include "tokens.hpp"

namespace tb {

// Words are read in the spelling of all texts (`normal_form.hpp`): NFKC, case folded, hidden characters left out. A word
// is a letter or digit and what follows of letters, digits, marks, _ $ ' ’ . and -, up to the last that is not one of
// the last four; a % may end it (don't, e-mail, 3.5, 100%). Runs of $ and of ! are words, too. Scripts without blanks are
// runs of two to four characters. Of a word of more than so many characters, or so many letters, only how long it is is
// kept.
class TokenBag {
  public:
    static constexpr std::size_t kLongestWord = 24, kLongestCompound = 40, kLongestCode = 24, kLongestNumber = 12;

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

    // Count how a text is written, and keep that of all texts that were counted.
    void count_form(std::string_view text, bool is_page) { form_.count(text, is_page); }
    void add_form() {
        form_.each_token([&](std::string_view token) { add(token); });
    }

    // A text: where its links lead, how its numbers are written ($9.99), and its words.
    void add_text(std::string_view text) {
        each_link(text, [&](std::string_view scheme, std::string_view rest) {
            if (!scheme.empty()) add("link", scheme);
            add_domains("link", link_parts(rest).host);
        });
        each_number(text, [&](std::string_view currency, std::string_view number) {
            token_.assign("number:").append(currency);
            for (const char c : number.substr(0, kLongestNumber)) token_ += is_digit(c) ? '9' : c;
            keep(token_.size());
        });
        add_words("", text);
    }

    void add_words(std::string_view tag, std::string_view given) {
        const std::string_view text = normal_.of(given);
        token_.assign(tag);
        if (!tag.empty()) token_ += ':';
        const std::size_t prefix = token_.size();
        const char *p = text.data(), *end = p + text.size();
        std::size_t letters = 0, good = 0, good_letters = 0;  // characters so far; up to the last that may end a word
        edges_.clear();  // of a run without blanks: where its characters begin
        const auto finish = [&] {
            if (!edges_.empty()) {
                grams(prefix);
            } else if (good_letters > kLongestWord && !(good_letters <= kLongestCompound && is_compound(prefix, good))) {
                token_.resize(prefix);
                token_ += "long:" + std::to_string(std::min<std::size_t>(good_letters, 990) / 10) + '0';
                keep(token_.size());
            } else if (letters) {
                if (prefix || !is_link(good)) keep(good);
            }
            token_.resize(prefix);
            letters = good = good_letters = 0;
        };
        while (p < end) {
            if (const char* run = letters_from(p, end); run > p) {  // most of most texts
                if (!edges_.empty()) finish();
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
            if ((kind == Class::unspaced) != !edges_.empty() && !(kind == Class::mark && (letters || !edges_.empty()))) finish();
            if (kind == Class::unspaced || (kind == Class::mark && !edges_.empty())) {
                edges_.push_back(token_.size());
                token_.append(at, p);
            } else if (kind == Class::letter || (kind == Class::mark && letters) || (letters && (kind == Class::dollar || kind == Class::joiner || kind == Class::underscore))) {
                if (c < 128) token_ += static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
                else token_.append(at, p);
                ++letters;
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
    enum class Class : std::uint8_t { other, letter, mark, unspaced, underscore, dollar, joiner, percent, shout };

    WordList words_;
    NormalForm normal_{true, false};
    TextForm form_;
    std::string token_;                // the tag and the word that is being read
    std::string host_, link_, rest_;   // the host, the link and what is left of a header
    std::vector<std::size_t> edges_;   // where the characters of a run begin
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

    // Whether a word is the host of a link, and evidence already.
    bool is_link(std::size_t length) {
        if (token_.find('.') >= length) return false;
        link_.assign("link:").append(token_, 0, length);
        link_.reserve(link_.size() + kRoom);
        return words_.holds(link_);
    }

    // The runs of two to four characters of a script without blanks; a single character is one by itself.
    void grams(std::size_t prefix) {
        const std::string run = token_;
        edges_.push_back(run.size());
        const std::size_t n_characters = edges_.size() - 1;
        for (std::size_t n = std::min(kLeastGram, n_characters); n <= std::min(kMostGram, n_characters); ++n)
            for (std::size_t i = 0; i + n <= n_characters; ++i) {
                token_.resize(prefix);
                token_.append(run, edges_[i], edges_[i + n] - edges_[i]);
                keep(token_.size());
            }
        edges_.clear();
    }

    // Whether a word is of letters alone: a compound rather than a code.
    bool is_compound(std::size_t first, std::size_t last) const {
        return std::all_of(token_.begin() + static_cast<std::ptrdiff_t>(first), token_.begin() + static_cast<std::ptrdiff_t>(last), [](char c) { return (c & 0x80) || is_ascii_letter(c); });
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
        if (c == 0x2019) return Class::joiner;
        if (is_surrogate(c)) return Class::other;
        const std::uint16_t flags = character_flags()[c];
        return flags & kUnspaced ? Class::unspaced : flags & kWord ? Class::letter : flags & kMark ? Class::mark : Class::other;
    }
};

}  // namespace tb
