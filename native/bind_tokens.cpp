// Documents: texts lent by Python or Arrow, their tokens and keys.
#include "binding.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "clues.hpp"
#include "keys.hpp"
#include "mail.hpp"
#include "text.hpp"
#include "token_counts.hpp"

namespace {

#define TB_KEY_CLONES(T)                                                                                          \
    TB_CLONES void run_number_keys(const T* x, Index step, Index n, std::uint64_t own, std::uint64_t* total) {    \
        tb::number_keys(x, step, n, own, total);                                                                  \
    }                                                                                                             \
    TB_CLONES void run_place_keys(const T* x, Index step, Index n, double low, double width, std::uint64_t own,   \
                                  std::uint64_t* free, std::uint64_t* exact) {                                    \
        tb::place_keys(x, step, n, low, width, own, free, exact);                                                 \
    }
TB_FLOATS(TB_KEY_CLONES)
TB_INTEGERS(TB_KEY_CLONES)
TB_CLONES void run_sort_out(const std::uint64_t* free, const std::uint64_t* exact, Index n, std::uint64_t bound, std::uint64_t copies, std::uint8_t enough,
                            std::uint8_t* cells, std::uint64_t mask, std::uint8_t* mark) {
    tb::sort_out(free, exact, n, bound, copies, enough, cells, mask, mark);
}

// Documents and the Python objects that own them.
struct Texts {
    tb::Texts texts;
    nb::list owners;
    Texts() = default;
    Texts(const Texts&) = delete;
};

// The counts of a mail filter, from bytes rather than arrays: a delivery does without NumPy.
struct ClueScorer {
    std::string text;
    std::vector<std::int64_t> start;
    std::vector<double> count;
    double weight[2], alpha;
    Index most, alike;

    ClueScorer(const nb::bytes& text, const nb::bytes& start, const nb::bytes& count, double ham, double spam, double alpha, Index most, Index alike)
        : text(text.c_str(), text.size()), start(start.size() / sizeof(std::int64_t)), count(count.size() / sizeof(double)), weight{ham, spam}, alpha(alpha), most(most), alike(alike) {
        require(!this->start.empty() && this->count.size() == 2 * (this->start.size() - 1), "each word has a start and two counts");
        require(most > 0 && alike > 0 && alpha > 0.0 && ham >= 0.0 && spam >= 0.0, "no such clues");
        std::memcpy(this->start.data(), start.c_str(), this->start.size() * sizeof(std::int64_t));
        if (!this->count.empty()) std::memcpy(this->count.data(), count.c_str(), this->count.size() * sizeof(double));
    }

    tb::Scored score(std::string_view document) const {
        return tb::clue_odds({text, start.data(), count.data(), static_cast<Index>(start.size()) - 1}, weight, alpha, most, alike, document);
    }
};

std::string_view utf8_of(const nb::handle& object, nb::list& owners) {
    if (PyBytes_Check(object.ptr())) return {PyBytes_AsString(object.ptr()), static_cast<std::size_t>(PyBytes_Size(object.ptr()))};
    if (!PyUnicode_Check(object.ptr())) throw nb::type_error("a document must be a string");
    if (nb::cast<bool>(object.attr("isascii")())) {  // its bytes are lent as they are; others are encoded, and given back after use
        Py_ssize_t size = 0;
        const char* data = PyUnicode_AsUTF8AndSize(object.ptr(), &size);
        if (!data) throw nb::python_error();
        return {data, static_cast<std::size_t>(size)};
    }
    nb::object bytes = nb::steal(PyUnicode_AsEncodedString(object.ptr(), "utf-8", "surrogatepass"));
    if (!bytes.is_valid()) throw nb::python_error();
    owners.append(bytes);
    return {PyBytes_AsString(bytes.ptr()), static_cast<std::size_t>(PyBytes_Size(bytes.ptr()))};
}

std::unique_ptr<Texts> texts_of_list(const nb::list& documents) {
    auto made = std::make_unique<Texts>();
    made->owners.append(documents);
    made->texts.documents.reserve(documents.size());
    for (const nb::handle each : documents) {
        const std::string_view text = each.is_none() ? std::string_view{} : utf8_of(each, made->owners);
        made->texts.documents.push_back(each.is_none() || text.data() ? text : std::string_view{"", 0});
    }
    return made;
}

std::unique_ptr<Texts> texts_of_stream(const nb::capsule& stream) {
    auto* source = static_cast<ArrowArrayStream*>(PyCapsule_GetPointer(stream.ptr(), "arrow_array_stream"));
    if (!source) throw nb::python_error();
    auto made = std::make_unique<Texts>();
    nb::gil_scoped_release release;
    tb::each_array(*source, made->texts.arrays, [&](const ArrowArray& array, const auto& text) {
        tb::each_text(array, text, [&](std::string_view found) { made->texts.documents.push_back(found); });
    });
    return made;
}

tb::Cut cut_of(const std::string& words, bool lower, std::int32_t least, std::int32_t most, std::int32_t least_chars, std::int32_t most_chars, std::int32_t bits, const nb::list& stop_words, const std::string& separator) {
    require(words == "text" || words == "unicode" || words == "sklearn" || words == "lines" || words == "tags", "there is no such way to cut text");
    require(1 <= least && least <= most && 0 <= least_chars && least_chars <= most_chars && 0 <= bits && bits <= 30, "n-grams or bits are out of range");
    require(separator.size() == 1 && static_cast<unsigned char>(separator[0]) < 128, "a separator is one plain character");
    require(most_chars == 0 || least_chars > 0, "n-grams are out of range");
    tb::Cut cut{words == "text" ? tb::Words::text : words == "unicode" ? tb::Words::unicode : words == "sklearn" ? tb::Words::sklearn : words == "lines" ? tb::Words::lines : tb::Words::tags, lower, least, most, least_chars, most_chars, bits, {}, separator[0]};
    nb::list owners;
    for (const nb::handle each : stop_words) cut.stop_words.emplace_back(utf8_of(each, owners));
    return cut;
}

// A vector as a NumPy array, without copying.
template <class T, class V>
nb::object array_of(V&& values) {
    auto* kept = new V(std::move(values));
    nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<V*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(reinterpret_cast<T*>(kept->data()), {kept->size()}, owner));
}

tb::Sorted words_of(const Vector<std::uint8_t>& text, const Starts& start) {
    require(rows(start) > 0 && start.data()[0] == 0 && start.data()[rows(start) - 1] == rows(text), "word starts do not fit the text");
    for (Index i = 0; i + 1 < rows(start); ++i) require(start.data()[i] <= start.data()[i + 1], "word starts must not fall");
    return {text.data(), start.data(), rows(start) - 1};
}

template <class I>
void check_row_starts(const Vector<I>& start, Index entries) {
    require(rows(start) > 0 && start.data()[0] == 0 && start.data()[rows(start) - 1] == entries, "row pointers do not fit the counts");
    for (Index i = 0; i + 1 < rows(start); ++i) require(start.data()[i] <= start.data()[i + 1], "row pointers must not fall");
}

template <class T>
void bind_number_keys(nb::module_& m) {
    m.def("number_keys", [](const nb::ndarray<const T, nb::ndim<1>, nb::device::cpu>& x, std::uint64_t own, const OutVector<std::uint64_t>& total) {
        require(rows(x) == rows(total), "there must be one key a row");
        run_number_keys(x.data(), static_cast<Index>(x.stride(0)), rows(x), own, total.data());
    }, "x"_a.noconvert(), "own"_a, "total"_a.noconvert(), nb::call_guard<nb::gil_scoped_release>());
    m.def("place_keys", [](const nb::ndarray<const T, nb::ndim<1>, nb::device::cpu>& x, double low, double high, std::uint64_t own, const OutVector<std::uint64_t>& free,
                           const OutVector<std::uint64_t>& exact) {
        require(rows(x) == rows(free) && rows(x) == rows(exact), "there must be one key a row");
        run_place_keys(x.data(), static_cast<Index>(x.stride(0)), rows(x), low, high > low ? high - low : 1.0, own, free.data(), exact.data());
    }, "x"_a.noconvert(), "low"_a, "high"_a, "own"_a, "free"_a.noconvert(), "exact"_a.noconvert(), nb::call_guard<nb::gil_scoped_release>());
}

void bind_keys(nb::module_& m) {
    using Release = nb::call_guard<nb::gil_scoped_release>;
    bind_number_keys<double>(m);
    bind_number_keys<float>(m);
    bind_number_keys<std::int64_t>(m);
    bind_number_keys<std::int32_t>(m);
    bind_number_keys<std::int16_t>(m);
    bind_number_keys<std::int8_t>(m);
    bind_number_keys<std::uint8_t>(m);
    bind_number_keys<std::uint16_t>(m);
    bind_number_keys<std::uint32_t>(m);
    bind_number_keys<std::uint64_t>(m);
    m.def("code_keys", [](const Codes& codes, const Vector<std::uint64_t>& table, const OutVector<std::uint64_t>& total) {
        const Index n = rows(codes), missing = rows(table) - 1;
        require(n == rows(total) && missing >= 0, "there must be one key a row, and one for missing values");
        for (Index i = 0; i < n; ++i) {
            const Index code = codes.data()[i];
            require(code <= missing, "a code is out of range");
            total.data()[i] += table.data()[code < 0 ? missing : code];
        }
    }, "codes"_a.noconvert(), "table"_a.noconvert(), "total"_a.noconvert(), Release());
    m.def("text_keys", [](const Texts& t, std::size_t first, std::uint64_t own, const OutVector<std::uint64_t>& total) {
        const auto n = static_cast<std::size_t>(rows(total));
        require(first + n <= t.texts.documents.size(), "there must be one key a row");
        for (std::size_t i = 0; i < n; ++i) {
            const std::string_view text = t.texts.documents[first + i];
            total.data()[i] += tb::spread((text.data() ? tb::text_key(text) : tb::kMissingKey) + own);
        }
    }, "texts"_a, "first"_a, "own"_a, "total"_a.noconvert(), Release());
    m.def("sort_out", [](const Vector<std::uint64_t>& free, const Vector<std::uint64_t>& exact, std::uint64_t bound, std::uint64_t copies, std::uint8_t enough,
                         const OutVector<std::uint8_t>& cells, const OutVector<std::uint8_t>& mark) {
        const Index n = rows(free), size = rows(cells);
        require(rows(exact) == n && rows(mark) == n, "there must be one mark a row");
        require(size > 0 && (size & (size - 1)) == 0, "the number of cells must be a power of two");
        run_sort_out(free.data(), exact.data(), n, bound, copies, enough, cells.data(), static_cast<std::uint64_t>(size) - 1, mark.data());
    }, "free"_a.noconvert(), "exact"_a.noconvert(), "bound"_a, "copies"_a, "enough"_a, "cells"_a.noconvert(), "mark"_a.noconvert(), Release());
    m.def("reach", [](const Vector<std::uint64_t>& free, std::uint64_t bound, std::uint64_t first, const Vector<std::uint64_t>& last, const OutVector<std::uint8_t>& mark) {
        require(rows(last) == rows(free) && rows(mark) == rows(free), "there must be one mark a row");
        for (Index i = 0; i < rows(free); ++i) mark.data()[i] = tb::reaches(free.data()[i], bound, first, last.data()[i]);
    }, "free"_a.noconvert(), "bound"_a, "first"_a, "last"_a.noconvert(), "mark"_a.noconvert(), Release());
    m.def("text_key", [](const nb::bytes& text) { return tb::text_key({text.c_str(), text.size()}); }, "text"_a);
}

void bind_counting(nb::module_& m) {
    using Release = nb::call_guard<nb::gil_scoped_release>;
    nb::class_<tb::Cut>(m, "Cut");
    m.def("cut", cut_of, "words"_a, "lower"_a, "least"_a, "most"_a, "least_chars"_a, "most_chars"_a, "bits"_a, "stop_words"_a, "separator"_a = "|");
    nb::class_<Texts>(m, "Texts").def("__len__", [](const Texts& t) { return t.texts.documents.size(); });
    m.def("texts_of_list", [](const nb::list& documents) { return texts_of_list(documents); }, "documents"_a);
    m.def("texts_of_stream", [](const nb::capsule& stream) { return texts_of_stream(stream); }, "stream"_a);
    m.def("missing_texts", [](const Texts& t, const OutVector<std::uint8_t>& missing) {
        require(rows(missing) == static_cast<Index>(t.texts.documents.size()), "one flag for each document");
        for (std::size_t i = 0; i < t.texts.documents.size(); ++i) missing.data()[i] = t.texts.documents[i].data() == nullptr;
    }, "texts"_a, "missing"_a.noconvert(), Release());
    m.def("count_tokens", [](const Texts& t, std::size_t first, std::size_t last, const tb::Cut& cut) {
        require(first <= last && last <= t.texts.documents.size(), "there are fewer documents");
        tb::Counted counted;
        {
            nb::gil_scoped_release release;
            counted = tb::count_tokens(t.texts, first, last, cut);
        }
        return nb::make_tuple(array_of<float>(std::move(counted.data)), array_of<std::int32_t>(std::move(counted.column)), array_of<std::int64_t>(std::move(counted.start)),
                              array_of<std::uint8_t>(std::move(counted.text)), array_of<std::int64_t>(std::move(counted.word_start)));
    }, "texts"_a, "first"_a, "last"_a, "cut"_a);
    const auto weigh = [&]<class I>(I) {
        m.def("weigh_counts", [](const Vector<float>& count, const Vector<I>& start, bool damped, bool scaled, const OutVector<double>& out) {
            check_row_starts(start, rows(count));
            require(rows(out) == rows(count), "one weight for each count");
            tb::weigh_counts(count.data(), start.data(), rows(start) - 1, damped, scaled, out.data());
        }, "count"_a.noconvert(), "start"_a.noconvert(), "damped"_a, "scaled"_a, "out"_a.noconvert(), Release());
    };
    weigh(std::int32_t{});
    weigh(std::int64_t{});
    m.def("list_tokens", [](const Texts& t, std::size_t number, const tb::Cut& cut) {
        require(number < t.texts.documents.size(), "there are fewer documents");
        tb::Listing listing;
        if (t.texts.documents[number].data()) tb::Cutter<tb::Listing>(cut, listing).document(t.texts.documents[number]);
        nb::list found;
        for (std::size_t i = 0; i < listing.tokens.size(); ++i)
            found.append(nb::make_tuple(nb::bytes(listing.tokens[i].data(), listing.tokens[i].size()), listing.spans[i].first, listing.spans[i].last, listing.lengths[i]));
        return found;
    }, "texts"_a, "number"_a, "cut"_a);
    m.def("strongest", [](const Table<double>& said, const Starts& start, Index most, Index alike, const OutVector<std::uint8_t>& chosen) {
        check_row_starts(start, rows(said));
        require(rows(chosen) == rows(said), "one flag for each entry");
        tb::strongest(said.data(), start.data(), rows(start) - 1, cols(said), most, alike, chosen.data());
    }, "said"_a.noconvert(), "start"_a.noconvert(), "most"_a, "alike"_a, "chosen"_a.noconvert(), Release());
    m.def("said_without", [](const Table<double>& count, const Vector<double>& weight, double alpha, const Starts& start, const Vector<std::int32_t>& word, const Codes& codes, const Vector<double>& weights,
                             const Out& said) {
        check_row_starts(start, rows(word));
        require(rows(weight) == cols(count) && rows(said) == rows(word) && cols(said) == cols(count), "shapes do not fit");
        require(rows(codes) == rows(start) - 1 && rows(weights) == rows(codes), "one label and weight for each row");
        require(std::all_of(word.data(), word.data() + rows(word), [&](std::int32_t w) { return 0 <= w && w < rows(count); }), "a word is out of range");
        require(std::all_of(codes.data(), codes.data() + rows(codes), [&](std::int32_t c) { return 0 <= c && c < cols(count); }), "a class is out of range");
        return tb::said_without(count.data(), weight.data(), cols(count), alpha, start.data(), word.data(), rows(codes), codes.data(), weights.data(), said.data());
    }, "count"_a.noconvert(), "weight"_a.noconvert(), "alpha"_a, "start"_a.noconvert(), "word"_a.noconvert(), "codes"_a.noconvert(), "weights"_a.noconvert(), "said"_a.noconvert(), Release());
    nb::class_<ClueScorer>(m, "ClueScorer")
        .def(nb::init<const nb::bytes&, const nb::bytes&, const nb::bytes&, double, double, double, Index, Index>(), "text"_a, "start"_a, "count"_a, "ham"_a, "spam"_a, "alpha"_a, "most"_a, "alike"_a)
        .def("log_odds", [](const ClueScorer& scorer, const nb::str& document) {
            nb::list owners;
            const tb::Scored scored = scorer.score(utf8_of(document, owners));
            return nb::make_tuple(scored.log_odds, scored.known);
        }, "document"_a);
    nb::class_<tb::TokenBag>(m, "TokenBag")
        .def(nb::init<>())
        .def("add", [](tb::TokenBag& bag, const nb::list& tokens) {
            nb::list owners;
            for (const nb::handle token : tokens) bag.add(utf8_of(token, owners));
        }, "tokens"_a)
        .def("add_words", [](tb::TokenBag& bag, const nb::str& tag, const nb::str& text) {
            nb::list owners;
            bag.add_words(utf8_of(tag, owners), utf8_of(text, owners));
        }, "tag"_a, "text"_a)
        .def("add_header", [](tb::TokenBag& bag, const nb::str& name, int how, const nb::str& value) {
            require(0 <= how && how <= static_cast<int>(tb::TokenBag::How::date), "no such way to read a header");
            nb::list owners;
            bag.add_header(utf8_of(name, owners), static_cast<tb::TokenBag::How>(how), utf8_of(value, owners));
        }, "name"_a, "how"_a, "value"_a)
        .def("add_text", [](tb::TokenBag& bag, const nb::str& text, const nb::list& links) {
            nb::list owners;
            for (const nb::handle link : links) bag.add_link(utf8_of(link, owners));
            bag.add_text(utf8_of(text, owners));
        }, "text"_a, "links"_a)
        .def("count_form", [](tb::TokenBag& bag, const nb::str& text, bool is_page) {
            nb::list owners;
            bag.count_form(utf8_of(text, owners), is_page);
        }, "text"_a, "is_page"_a)
        .def("add_form", &tb::TokenBag::add_form)
        .def("document", [](const tb::TokenBag& bag) {
            const std::string lines = bag.document();
            return nb::steal<nb::str>(PyUnicode_DecodeUTF8(lines.data(), static_cast<Py_ssize_t>(lines.size()), "replace"));
        });
    m.def("hash_token", [](const nb::bytes& token, std::int32_t bits) {
        require(1 <= bits && bits <= 30, "bits are out of range");
        return tb::hashed({token.c_str(), token.size()}) >> (64 - bits);
    }, "token"_a, "bits"_a);
    m.def("with_rare_words", [](const Vector<std::uint8_t>& text, const Starts& start, const Vector<bool>& rare, const OutVector<bool>& found) {
        const auto words = words_of(text, start);
        require(rows(rare) == words.size && rows(found) == words.size, "one flag for each word");
        tb::with_rare_words(words, rare.data(), found.data());
    }, "text"_a.noconvert(), "start"_a.noconvert(), "rare"_a.noconvert(), "found"_a.noconvert(), Release());
    m.def("words_in", [](const Vector<std::uint8_t>& text, const Starts& start, const Vector<std::uint8_t>& other_text, const Starts& other_start, const OutVector<std::int32_t>& places) {
        const auto words = words_of(text, start);
        require(rows(places) == words.size, "one place for each word");
        tb::places_in(words, words_of(other_text, other_start), places.data());
    }, "text"_a.noconvert(), "start"_a.noconvert(), "other_text"_a.noconvert(), "other_start"_a.noconvert(), "places"_a.noconvert(), Release());
    m.def("unite_words", [](const Vector<std::uint8_t>& text, const Starts& start, const Vector<std::uint8_t>& other_text, const Starts& other_start, const OutVector<std::int32_t>& mine, const OutVector<std::int32_t>& theirs) {
        const auto words = words_of(text, start), others = words_of(other_text, other_start);
        require(rows(mine) == words.size && rows(theirs) == others.size, "one place for each word");
        std::vector<char> joined;
        std::vector<std::int64_t> joined_start;
        {
            nb::gil_scoped_release release;
            tb::united(words, others, joined, joined_start, mine.data(), theirs.data());
        }
        return nb::make_tuple(array_of<std::uint8_t>(std::move(joined)), array_of<std::int64_t>(std::move(joined_start)));
    }, "text"_a.noconvert(), "start"_a.noconvert(), "other_text"_a.noconvert(), "other_start"_a.noconvert(), "mine"_a.noconvert(), "theirs"_a.noconvert());
    m.def("are_sorted", [](const Vector<std::uint8_t>& text, const Starts& start) {
        const auto words = words_of(text, start);
        for (std::int64_t i = 1; i < words.size; ++i)
            if (!(words[i - 1] < words[i])) return false;
        return true;
    }, "text"_a.noconvert(), "start"_a.noconvert(), Release());
}

}  // namespace

void bind_tokens(nb::module_& m) {
    bind_keys(m);
    bind_counting(m);
    m.def("list_text", [](const nb::capsule& stream, const OutVector<std::int32_t>& places) {
        auto* source = static_cast<ArrowArrayStream*>(PyCapsule_GetPointer(stream.ptr(), "arrow_array_stream"));
        if (!source) throw nb::python_error();
        std::vector<tb::Lent<ArrowArray>> arrays;
        tb::StringList list;
        {
            nb::gil_scoped_release release;
            tb::list_text(*source, arrays, list, places.data(), rows(places));
        }
        nb::list strings;
        for (const auto& text : list.strings) strings.append(nb::str(text.data(), text.size()));
        return strings;
    }, "stream"_a, "places"_a.noconvert());
}
