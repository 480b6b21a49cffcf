// Records of a ledger: rows of a database as they are, with the flags and the bytes of each.
#include "binding.hpp"
#include "ledger.hpp"

namespace {

tb::Bytes bytes_of(PyObject* tuple, Py_ssize_t place) {
    PyObject* item = PyTuple_GET_ITEM(tuple, place);
    tb::sound(PyBytes_Check(item));
    return {PyBytes_AS_STRING(item), static_cast<Index>(PyBytes_GET_SIZE(item))};
}

// The rows must outlive what is returned: it points into them.
std::vector<tb::Record> records_of(const nb::list& given, bool keyed, Index n_owners) {
    std::vector<tb::Record> found;
    found.reserve(given.size());
    for (nb::handle row : given) {
        tb::sound(PyTuple_Check(row.ptr()) && PyTuple_GET_SIZE(row.ptr()) >= 6 && PyLong_Check(PyTuple_GET_ITEM(row.ptr(), 0)));
        const long flags = PyLong_AsLong(PyTuple_GET_ITEM(row.ptr(), 0));
        if (flags < 0) PyErr_Clear();  // or a number that is too large
        PyObject* t = row.ptr();
        found.push_back({flags < 0 || flags > 31 ? 32u : static_cast<unsigned>(flags), bytes_of(t, 1), bytes_of(t, 2), bytes_of(t, 3), bytes_of(t, 4), bytes_of(t, 5), keyed});
        tb::check_record(found.back(), n_owners);
    }
    return found;
}

template <class T>
nb::object given_away(std::vector<T>&& values, std::initializer_list<std::size_t> shape) {
    auto* kept = new std::vector<T>(std::move(values));
    nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, T>(kept->data(), shape, owner));
}

nb::tuple unpack_records(const nb::list& given, bool keyed, Index n_owners, Index n_cells) {
    const auto records = records_of(given, keyed, n_owners);
    tb::Cells out;
    {
        nb::gil_scoped_release release;
        out = tb::unpack_records(records, n_cells);
    }
    const std::size_t n = out.amount.size(), m = out.centred_cell.size();
    return nb::make_tuple(given_away(std::move(out.record), {n}), given_away(std::move(out.owner), {n}), given_away(std::move(out.cell), {n}),
                          given_away(std::move(out.amount), {n}), given_away(std::move(out.centred_record), {m}), given_away(std::move(out.centred_owner), {m}),
                          given_away(std::move(out.centred_cell), {m}), given_away(std::move(out.centred), {m, 3}));
}

void sum_records(const nb::list& given, const Table<bool>& wanted, const Codes& group, const Starts& mate, const Out& amounts, const Out& centred) {
    const Index n_cells = rows(mate), n_groups = rows(amounts);
    require(cols(amounts) == n_cells && rows(centred) == n_groups * n_cells && cols(centred) == 3, "sums do not fit the cells");
    require(rows(wanted) == static_cast<Index>(given.size()) && cols(wanted) > 0, "there is a list of keys for each record");
    for (Index i = 0; i < rows(group); ++i) require(group.data()[i] >= -1 && group.data()[i] < n_groups, "there is no such group");
    for (Index i = 0; i < n_cells; ++i) require(mate.data()[i] >= 0 && mate.data()[i] < n_cells, "there is no such cell");
    const auto records = records_of(given, true, cols(wanted) * rows(group));
    nb::gil_scoped_release release;
    tb::sum_records(records, {wanted.data(), cols(wanted), group.data(), rows(group)}, mate.data(), n_cells, n_groups, amounts.data(), centred.data());
}

}  // namespace

void bind_ledger(nb::module_& m) {
    m.def("unpack_records", &unpack_records, "rows"_a, "keyed"_a, "n_owners"_a, "n_cells"_a);
    m.def("sum_records", &sum_records, "rows"_a, "wanted"_a.noconvert(), "group"_a.noconvert(), "mate"_a.noconvert(), "amounts"_a.noconvert(), "centred"_a.noconvert());
}
