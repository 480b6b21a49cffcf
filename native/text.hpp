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

  private:
    struct Slot { std::uint64_t hash = 0; std::int32_t place = -1; };
    std::vector<Slot> slots_ = std::vector<Slot>(256);
    std::uint64_t mask_ = 255;

    static std::uint64_t mixed(std::uint64_t h) { h *= 0x9E3779B97F4A7C15u; return h ^ (h >> 32); }

    template <class T>
    static std::uint64_t word(const char* at) { T value; std::memcpy(&value, at, sizeof value); return value; }

    // Eight bytes at a time; the last words overlap, so that nothing is read one byte at a time.
    static std::uint64_t hashed(std::string_view text) {
        const char* p = text.data();
        const std::size_t n = text.size();
        std::uint64_t h = mixed(n + 1);
        if (n >= 8) {
            for (std::size_t i = 0; i + 8 < n; i += 8) h = mixed(h ^ word<std::uint64_t>(p + i));
            return mixed(mixed(h ^ word<std::uint64_t>(p + n - 8)));
        }
        if (n >= 4) h ^= word<std::uint32_t>(p) | word<std::uint32_t>(p + n - 4) << 32;
        else if (n) h ^= word<std::uint8_t>(p) | word<std::uint8_t>(p + n / 2) << 8 | word<std::uint8_t>(p + n - 1) << 16;
        return mixed(mixed(h));
    }

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

template <class Text>
void list_array(const ArrowArray& array, StringList& list, std::int32_t* places) {
    if (array.length == 0) return;  // its buffers may be null
    const Text text(array);
    const auto* valid = static_cast<const std::uint8_t*>(array.null_count == 0 ? nullptr : array.buffers[0]);
    for (std::int64_t i = 0; i < array.length; ++i) {
        const std::int64_t at = array.offset + i;
        places[i] = valid && !(valid[at >> 3] >> (at & 7) & 1) ? -1 : list.place(text(at));
    }
}

// Lists all arrays of a stream of text. The strings point into the arrays, which the caller keeps for as long.
inline void list_text(ArrowArrayStream& stream, std::vector<Lent<ArrowArray>>& arrays, StringList& list,
                      std::int32_t* places, std::int64_t n) {
    const auto check = [&](int status) {
        if (status == 0) return;
        const char* why = stream.get_last_error(&stream);
        throw std::runtime_error(why ? why : "the column could not be read");
    };
    Lent<ArrowSchema> schema;
    check(stream.get_schema(&stream, &schema));
    const std::string_view format = schema.format;
    const auto run = format == "u" ? list_array<OffsetText<std::int32_t>> : format == "U" ? list_array<OffsetText<std::int64_t>>
                   : format == "vu" ? list_array<ViewText> : nullptr;
    if (!run || schema.dictionary) throw std::invalid_argument("the column is not text but has the Arrow format " + std::string(format));
    for (;;) {
        Lent<ArrowArray> array;
        check(stream.get_next(&stream, &array));
        if (!array.release) break;
        if (array.length > n) throw std::invalid_argument("the column has more rows than places");
        arrays.push_back(std::move(array));
        run(arrays.back(), list, places);
        places += arrays.back().length, n -= arrays.back().length;
    }
    if (n) throw std::invalid_argument("the column has fewer rows than places");
}

}  // namespace tb
