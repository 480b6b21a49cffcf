// Listing text: the different strings of a column, and for each row which of them it holds.
#pragma once

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

// The Arrow C data and stream interfaces: a stable layout that every engine exports without copying.
// https://arrow.apache.org/docs/format/CStreamInterface.html
extern "C" {
struct ArrowSchema {
    const char *format, *name, *metadata;
    std::int64_t flags, n_children;
    ArrowSchema **children, *dictionary;
    void (*release)(ArrowSchema*);
    void* private_data;
};
struct ArrowArray {
    std::int64_t length, null_count, offset, n_buffers, n_children;
    const void** buffers;
    ArrowArray **children, *dictionary;
    void (*release)(ArrowArray*);
    void* private_data;
};
struct ArrowArrayStream {
    int (*get_schema)(ArrowArrayStream*, ArrowSchema*);
    int (*get_next)(ArrowArrayStream*, ArrowArray*);
    const char* (*get_last_error)(ArrowArrayStream*);
    void (*release)(ArrowArrayStream*);
    void* private_data;
};
}

namespace tb {

// What a stream lends is given back when this goes out of scope.
template <class T>
struct Lent : T {
    Lent() : T{} {}
    Lent(Lent&& other) noexcept : T(other) { other.release = nullptr; }
    Lent& operator=(Lent&&) = delete;
    ~Lent() { if (this->release) this->release(this); }
};

inline std::uint64_t mixed(std::uint64_t h) { h *= 0x9E3779B97F4A7C15u; return h ^ (h >> 32); }

template <class T>
std::uint64_t word_at(const char* at) { T value; std::memcpy(&value, at, sizeof value); return value; }

// Eight bytes at a time; the last words overlap, so that nothing is read one byte at a time. Models with a hashed
// vocabulary are kept by it, so it must stay as it is.
inline std::uint64_t hashed(std::string_view text) {
    const char* p = text.data();
    const std::size_t n = text.size();
    std::uint64_t h = mixed(n + 1);
    if (n >= 8) {
        for (std::size_t i = 0; i + 8 < n; i += 8) h = mixed(h ^ word_at<std::uint64_t>(p + i));
        return mixed(mixed(h ^ word_at<std::uint64_t>(p + n - 8)));
    }
    if (n >= 4) h ^= word_at<std::uint32_t>(p) | word_at<std::uint32_t>(p + n - 4) << 32;
    else if (n) h ^= word_at<std::uint8_t>(p) | word_at<std::uint8_t>(p + n / 2) << 8 | word_at<std::uint8_t>(p + n - 1) << 16;
    return mixed(mixed(h));
}

// Strings by the order in which they were first seen. Open addressing, at most half full.
class StringList {
  public:
    std::vector<std::string_view> strings;

    std::int32_t place(std::string_view text) {
        const std::uint64_t hash = hashed(text);
        for (std::size_t slot = hash & mask_;; slot = (slot + 1) & mask_) {
            if (slots_[slot].place < 0) return append(text, hash, slot);
            if (slots_[slot].hash == hash && strings[static_cast<std::size_t>(slots_[slot].place)] == text) return slots_[slot].place;
        }
    }

    bool has(std::string_view text) const {
        const std::uint64_t hash = hashed(text);
        std::size_t slot = hash & mask_;
        while (slots_[slot].place >= 0 && !(slots_[slot].hash == hash && strings[static_cast<std::size_t>(slots_[slot].place)] == text)) slot = (slot + 1) & mask_;
        return slots_[slot].place >= 0;
    }

  private:
    struct Slot { std::uint64_t hash = 0; std::int32_t place = -1; };
    std::vector<Slot> slots_ = std::vector<Slot>(256);
    std::uint64_t mask_ = 255;

    std::int32_t append(std::string_view text, std::uint64_t hash, std::size_t slot) {
        const auto place = static_cast<std::int32_t>(strings.size());
        strings.push_back(text);
        slots_[slot] = {hash, place};
        if (2 * strings.size() > slots_.size()) grow();
        return place;
    }

    void grow() {
        std::vector<Slot> old(4 * slots_.size());
        old.swap(slots_);
        mask_ = slots_.size() - 1;
        for (const Slot& entry : old)
            if (entry.place >= 0) {
                std::size_t slot = entry.hash & mask_;
                while (slots_[slot].place >= 0) slot = (slot + 1) & mask_;
                slots_[slot] = entry;
            }
    }
};

// The string of a row in the three layouts of Arrow text: 32-bit offsets, 64-bit offsets, views.
template <class Offset>
struct OffsetText {
    const Offset* offset;
    const char* data;
    explicit OffsetText(const ArrowArray& a)
        : offset(static_cast<const Offset*>(a.buffers[1])), data(static_cast<const char*>(a.buffers[2])) {}
    std::string_view operator()(std::int64_t i) const {
        return {data + offset[i], static_cast<std::size_t>(offset[i + 1] - offset[i])};
    }
};

struct ViewText {
    const char* views;
    const void** data;
    explicit ViewText(const ArrowArray& a) : views(static_cast<const char*>(a.buffers[1])), data(a.buffers + 2) {}
    std::string_view operator()(std::int64_t i) const {
        std::int32_t part[4];  // length, and then the text itself or: prefix, buffer, offset
        const char* view = views + 16 * i;
        std::memcpy(part, view, 16);
        const auto length = static_cast<std::size_t>(part[0]);
        return length <= 12 ? std::string_view{view + 4, length}
                            : std::string_view{static_cast<const char*>(data[part[2]]) + part[3], length};
    }
};

// Runs over all arrays of a stream of text: ``run`` gets each array and how its strings are read. What it takes from the
// arrays points into them; the caller keeps them for as long.
template <class Run>
void each_array(ArrowArrayStream& stream, std::vector<Lent<ArrowArray>>& arrays, Run&& run) {
    const auto check = [&](int status) {
        if (status == 0) return;
        const char* why = stream.get_last_error(&stream);
        throw std::runtime_error(why ? why : "the column could not be read");
    };
    Lent<ArrowSchema> schema;
    check(stream.get_schema(&stream, &schema));
    const std::string_view format = schema.format;
    if ((format != "u" && format != "U" && format != "vu") || schema.dictionary) throw std::invalid_argument("the column is not text but has the Arrow format " + std::string(format));
    for (;;) {
        Lent<ArrowArray> array;
        check(stream.get_next(&stream, &array));
        if (!array.release) break;
        arrays.push_back(std::move(array));
        const ArrowArray& last = arrays.back();
        if (last.length == 0) continue;  // its buffers may be null
        if (format == "u") run(last, OffsetText<std::int32_t>(last));
        else if (format == "U") run(last, OffsetText<std::int64_t>(last));
        else run(last, ViewText(last));
    }
}

// The string of every row, in order; a null pointer where there is none.
template <class Text, class Each>
void each_text(const ArrowArray& array, const Text& text, Each&& each) {
    const auto* valid = static_cast<const std::uint8_t*>(array.null_count == 0 ? nullptr : array.buffers[0]);
    for (std::int64_t i = array.offset; i < array.offset + array.length; ++i) {
        if (valid && !(valid[i >> 3] >> (i & 7) & 1)) each(std::string_view{});
        else if (const std::string_view found = text(i); found.empty()) each(std::string_view{"", 0});
        else each(found);
    }
}

inline void list_text(ArrowArrayStream& stream, std::vector<Lent<ArrowArray>>& arrays, StringList& list,
                      std::int32_t* places, std::int64_t n) {
    each_array(stream, arrays, [&](const ArrowArray& array, const auto& text) {
        if (array.length > n) throw std::invalid_argument("the column has more rows than places");
        each_text(array, text, [&](std::string_view found) { *places++ = found.data() ? list.place(found) : -1; });
        n -= array.length;
    });
    if (n) throw std::invalid_argument("the column has fewer rows than places");
}

}  // namespace tb
