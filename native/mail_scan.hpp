// What is looked for in the headers and texts of mail: hosts, addresses, links, time zones. Each is one pass over the
// text that steps back by no more than the longest thing it finds.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tokens.hpp"

namespace tb {

constexpr std::size_t kLongestLabel = 63, kMostLabels = 20, kLongestUser = 64, kLongestLink = 300, kLongestHost = 255;

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }
inline bool is_ascii_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
inline bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r') || (c >= '\x1c' && c <= '\x1f'); }

inline std::string_view stripped(std::string_view text) {
    while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
    while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
    return text;
}

// ---------------------------------------------------------------------------------------------- lower case

inline void append_character(std::string& to, std::uint32_t c) {
    if (c < 0x80) {
        to += static_cast<char>(c);
        return;
    }
    if (c < 0x800) to += static_cast<char>(0xC0 | c >> 6);
    else {
        if (c < 0x10000) to += static_cast<char>(0xE0 | c >> 12);
        else {
            to += static_cast<char>(0xF0 | c >> 18);
            to += static_cast<char>(0x80 | (c >> 12 & 0x3F));
        }
        to += static_cast<char>(0x80 | (c >> 6 & 0x3F));
    }
    to += static_cast<char>(0x80 | (c & 0x3F));
}

// Append a character, the bytes from `at` to `after`, in lower case; answers how many characters that made.
inline std::size_t append_lower(std::string& to, std::uint32_t c, const char* at, const char* after) {
    if (c < 128) {
        to += static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
        return 1;
    }
    if (!(character_flags()[c] & kLowers)) {
        to.append(at, after);
        return 1;
    }
    const Mapping& mapped = mapping(kLower, c);
    std::size_t made = 0;
    for (; made < 3 && mapped.to[made]; ++made) append_character(to, mapped.to[made]);
    return made;
}

inline void append_lower(std::string& to, std::string_view text) {
    for (const char *p = text.data(), *end = p + text.size(); p < end;) {
        const char* at = p;
        const std::uint32_t c = decoded(p, end);
        append_lower(to, c, at, p);
    }
}

// ---------------------------------------------------------------------------------------------- hosts

// Calls found(host) for names and numbers of hosts: labels of letters, digits, - and _, with dots between them. The
// last label has no _, and what is left of a run of such characters after it is no host.
template <class Found>
void each_host(std::string_view text, Found&& found) {
    static const auto kinds = [] {
        std::array<std::uint8_t, 256> table{};  // 1 in a last label, 2 in any label, 3 a dot
        for (int c = 0; c < 256; ++c)
            if (is_digit(static_cast<char>(c)) || is_ascii_letter(static_cast<char>(c)) || c == '-') table[static_cast<std::size_t>(c)] = 1;
        table['_'] = 2, table['.'] = 3;
        return table;
    }();
    const auto kind = [&](std::size_t i) { return i < text.size() ? kinds[static_cast<std::uint8_t>(text[i])] : 0; };
    std::array<std::size_t, kMostLabels + 1> first{};  // where each label begins
    for (std::size_t at = 0; at < text.size();) {
        if (!kind(at)) {
            ++at;
            continue;
        }
        std::size_t labels = 0, p = first[0] = at;
        while (labels < kMostLabels) {
            std::size_t q = p;
            while (kind(q) == 1 || kind(q) == 2) ++q;
            if (q == p || q - p > kLongestLabel || kind(q) != 3) break;
            first[++labels] = p = q + 1;
        }
        for (; labels; --labels) {  // the last label may have to be an earlier one
            std::size_t end = first[labels];
            while (kind(end) == 1 && end - first[labels] < kLongestLabel) ++end;
            if (end == first[labels]) continue;
            found(text.substr(at, end - at));
            break;
        }
        while (kind(at)) ++at;
    }
}

// ---------------------------------------------------------------------------------------------- addresses

struct Address {
    std::string_view user, host;
};

// Letters and digits of all scripts, and _.
inline bool is_word(std::uint32_t c) { return c == '_' || (!is_surrogate(c) && c < 0x110000 && (character_flags()[c] & kWord)); }

inline std::size_t user_begin(std::string_view text, std::size_t least, std::size_t at) {
    std::size_t first = at;
    for (std::size_t n = 0; n < kLongestUser && first > least; ++n) {
        std::size_t p = first - 1;
        while (p > least && first - p < 4 && (static_cast<std::uint8_t>(text[p]) & 0xC0) == 0x80) --p;
        const char *from = text.data() + p, *end = text.data() + first;
        const std::uint32_t c = decoded(from, end);
        if (from != end || !(is_word(c) || c == '.' || c == '+' || c == '=' || c == '-')) break;
        first = p;
    }
    return first;
}

inline std::size_t host_end(std::string_view text, std::size_t at) {
    const char *p = text.data() + at, *const end = text.data() + text.size();
    const auto label_end = [&](const char* from) {
        for (std::size_t n = 0; n < kLongestLabel && from < end; ++n) {
            const char* next = from;
            const std::uint32_t c = decoded(next, end);
            if (!is_word(c) && c != '-') break;
            from = next;
        }
        return from;
    };
    p = label_end(p);
    if (p == text.data() + at) return at;
    for (std::size_t n = 0; n < kMostLabels && p < end && *p == '.'; ++n) {
        const char* next = label_end(p + 1);
        if (next == p + 1) break;
        p = next;
    }
    return static_cast<std::size_t>(p - text.data());
}

// Calls between(text) for what lies between addresses and found(address) for each of them.
template <class Between, class Found>
void each_address(std::string_view text, Between&& between, Found&& found) {
    std::size_t done = 0;
    for (std::size_t at = text.find('@'); at != text.npos; at = text.find('@', at + 1)) {
        const std::size_t first = user_begin(text, done, at), last = host_end(text, at + 1);
        if (first == at || last == at + 1) continue;
        between(text.substr(done, first - done));
        found(Address{text.substr(first, at - first), text.substr(at + 1, last - at - 1)});
        done = last;
    }
    between(text.substr(done));
}

// ---------------------------------------------------------------------------------------------- links

inline bool ends_with(std::string_view text, std::string_view lower) {
    return text.size() >= lower.size() && std::equal(lower.begin(), lower.end(), text.end() - static_cast<std::ptrdiff_t>(lower.size()), [](char a, char b) {
        return a == (is_ascii_letter(b) ? static_cast<char>(b | 0x20) : b);
    });
}

// Spaces of all scripts: hard ones end a link in many pages.
inline bool is_space(std::uint32_t c) {
    return c < 128 ? is_blank(static_cast<char>(c)) : c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

// The beginning of a text up to a space or one of these characters, of no more than so many bytes and one character.
inline std::string_view until(std::string_view text, std::string_view stops, std::size_t most) {
    const char *p = text.data(), *const end = p + text.size();
    while (p < end && static_cast<std::size_t>(p - text.data()) < most) {
        const char* next = p;
        const std::uint32_t c = decoded(next, end);
        if (is_space(c) || (c < 128 && stops.find(static_cast<char>(c)) != stops.npos)) break;
        p = next;
    }
    return text.substr(0, static_cast<std::size_t>(p - text.data()));
}

inline std::string_view link_at(std::string_view text, std::size_t first) { return until(text.substr(first), "<>\"')]", kLongestLink); }

inline std::string_view host_of(std::string_view link) { return until(link, "/?#:", kLongestHost); }

// Calls found(scheme, rest) for the addresses of pages in a text.
template <class Found>
void each_link(std::string_view text, Found&& found) {
    for (std::size_t at = text.find("://"); at != text.npos; at = text.find("://", at + 3)) {
        const std::string_view before = text.substr(0, at);
        const bool page = ends_with(before, "http") || ends_with(before, "https");
        if (page || ends_with(before, "ftp"))
            if (const auto rest = link_at(text, at + 3); !rest.empty()) found(std::string_view(page ? "http" : "ftp"), rest);
    }
    for (std::size_t at = text.find('.'); at != text.npos; at = text.find('.', at + 1)) {
        if (!ends_with(text.substr(0, at), "www")) continue;
        const std::string_view link = link_at(text, at - 3);
        if (link.size() <= 4) continue;
        found(std::string_view(), link);
        at += std::max<std::size_t>(host_of(link).size(), 4) - 4;  // a host has no other within it: www.www.www. is one
    }
}

struct LinkParts {
    std::string_view scheme, host;
};

// scheme://user@host/… less what follows the host; each of them may be missing.
inline LinkParts link_parts(std::string_view link) {
    std::string_view scheme;
    std::size_t n = 0;
    while (n < link.size() && n < 12 && is_ascii_letter(link[n])) ++n;
    if (n && n < link.size() && link[n] == ':') scheme = link.substr(0, n), link.remove_prefix(n + 1);
    if (link.starts_with("//")) link.remove_prefix(2);
    const std::size_t user = link.find_first_of("/@");
    if (user <= 100 && user < link.size() && link[user] == '@') link.remove_prefix(user + 1);
    return {scheme, host_of(link)};
}

// ---------------------------------------------------------------------------------------------- codes

// The sign of a currency that a text ends with, or nothing.
inline std::string_view currency_before(std::string_view text) {
    for (const std::string_view sign : {"$", "\xE2\x82\xAC", "\xC2\xA3"})  // dollar, euro, pound
        if (text.ends_with(sign)) return sign;
    return {};
}

// Calls found(currency, number) for the numbers in a text, those in words, too: digits with , . : / or - between them,
// and a %. A digit by itself is none.
template <class Found>
void each_number(std::string_view text, Found&& found) {
    const auto goes_on = [](char c) { return is_digit(c) || c == ',' || c == '.' || c == ':' || c == '/' || c == '-'; };
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (!is_digit(text[at])) continue;
        const std::size_t first = at;
        while (at < text.size() && goes_on(text[at])) ++at;
        std::size_t end = at;
        while (!is_digit(text[end - 1])) --end;
        end += end < text.size() && text[end] == '%';
        const std::string_view currency = currency_before(text.substr(0, first)), number = text.substr(first, end - first);
        if (number.size() + currency.size() > 1) found(currency, number);
    }
}

// The zone at the end of a date, as in "+0200" or "-0700 (PDT)"; empty where there is none.
inline std::string_view zone_of(std::string_view date) {
    date = stripped(date);
    if (!date.empty() && date.back() == ')') {
        const std::size_t open = date.substr(0, date.size() - 1).find_last_of("()");
        if (open == date.npos || date[open] == ')') return {};
        date = stripped(date.substr(0, open));
    }
    if (date.size() < 5) return {};
    const std::string_view zone = date.substr(date.size() - 5);
    return (zone[0] == '+' || zone[0] == '-') && std::all_of(zone.begin() + 1, zone.end(), is_digit) ? zone : std::string_view();
}

// How a code is written: runs of digits are 9, of letters A or a, and all else is itself.
inline void append_shape(std::string& to, std::string_view code, std::size_t most) {
    char last = 0;
    std::size_t n = 0;
    for (const char *p = code.data(), *end = p + code.size(); p < end;) {
        const char* at = p;
        decoded(p, end);
        const char sign = is_digit(*at) ? '9' : *at >= 'a' && *at <= 'z' ? 'a' : *at >= 'A' && *at <= 'Z' ? 'A' : 0;
        if (sign && sign == last) continue;
        if (n++ == most) return;
        if (sign) to += sign;
        else to.append(at, p);
        last = sign;
    }
}

}  // namespace tb
