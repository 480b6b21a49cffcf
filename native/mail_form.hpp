// How the texts of a message are written, whatever their words: capitals, exclamation marks, quoted lines, signature.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <string>
#include <string_view>

#include "mail_scan.hpp"

namespace tb {

class TextForm {
  public:
    // Count a text; of a page what lies outside its tags, and no lines: a reader does not see them.
    void count(std::string_view text, bool is_page) {
        bool inside = false;
        for (const char c : text) {
            if (is_page && (c == '<' || c == '>')) inside = c == '<';
            if (inside) continue;
            capitals_ += c >= 'A' && c <= 'Z';
            small_ += c >= 'a' && c <= 'z';
            exclamations_ += c == '!';
        }
        if (!is_page) count_lines(text);
    }

    // Calls found(token) for what was counted, in coarse steps; nothing of a message without letters.
    template <class Found>
    void each_token(Found&& found) const {
        const std::size_t letters = capitals_ + small_;
        if (!letters) return;
        if (letters > kFewLetters) found("text:capitals-" + std::to_string(std::min<std::size_t>(20 * capitals_ / letters, 9)));
        found("text:exclamations-" + std::to_string(std::min<std::size_t>(std::bit_width(exclamations_), 9)));
        found(quoted_ ? "text:quoted-" + std::to_string(4 * quoted_ / lines_) : "text:not-quoted");
        if (signature_) found("text:signature");
        if (reply_) found("text:reply");
    }

  private:
    static constexpr std::size_t kFewLetters = 20, kLongestReply = 100;
    std::size_t capitals_ = 0, small_ = 0, exclamations_ = 0, lines_ = 0, quoted_ = 0;
    bool signature_ = false, reply_ = false;

    void count_lines(std::string_view text) {
        while (!text.empty()) {
            const std::size_t end = std::min(text.find('\n'), text.size());
            std::string_view line = text.substr(0, end);
            if (line.ends_with('\r')) line.remove_suffix(1);
            ++lines_;
            quoted_ += line.starts_with('>');
            signature_ |= line == "-- " || line == "--";
            reply_ |= is_reply(line);
            text.remove_prefix(std::min(end + 1, text.size()));
        }
    }

    // The line before a quotation: "Ann wrote:", "On Monday, Ann said:".
    static bool is_reply(std::string_view line) {
        line = stripped(line);
        if (!line.ends_with(':')) return false;
        return line.ends_with("wrote:") || line.ends_with("writes:") || (line.starts_with("On ") && line.size() <= kLongestReply);
    }
};

}  // namespace tb
