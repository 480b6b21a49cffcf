// What the Python faces of the kernels share: they check shapes, labels and row pointers, lend scratch memory, release the GIL.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "counts.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using tb::Index;

template <class T> using Array2 = nb::ndarray<const T, nb::ndim<2>, nb::device::cpu>;
template <class T> using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T> using Table = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T> using OutVector = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Out = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Codes = Vector<std::int32_t>;
using Starts = Vector<std::int64_t>;
using Cube = nb::ndarray<const float, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

inline void require(bool holds, const char* what) {
    if (!holds) throw std::invalid_argument(what);
}

template <class A> Index rows(const A& a) { return static_cast<Index>(a.shape(0)); }
template <class A> Index cols(const A& a) { return static_cast<Index>(a.shape(1)); }

template <class T>
tb::Matrix<T> view(const Array2<T>& x) {
    return {x.data(), rows(x), cols(x), static_cast<Index>(x.stride(0)), static_cast<Index>(x.stride(1))};
}

inline tb::Hard hard(const Codes& codes, const Vector<double>& weight, Index n, Index n_classes) {
    require(rows(codes) == n && rows(weight) == n, "labels and weights must have one entry a row");
    for (Index i = 0; i < n; ++i)
        require(static_cast<std::uint32_t>(codes.data()[i]) < static_cast<std::uint32_t>(n_classes), "a class code is out of range");
    return {codes.data(), weight.data()};
}

inline tb::Soft soft(const Table<double>& weight, Index n, Index n_classes) {
    require(rows(weight) == n && cols(weight) == n_classes, "responsibilities must have the shape (rows, classes)");
    return {weight.data(), n_classes};
}

// The start of each column's cells must climb from 0 to the number of cells.
inline void check_starts(const Starts& start, Index d, Index cells) {
    require(rows(start) == d + 1 && start.data()[0] == 0 && start.data()[d] == cells, "cell starts do not fit the table");
    for (Index j = 0; j < d; ++j) require(start.data()[j] <= start.data()[j + 1], "cell starts must not fall");
}

// A kernel is compiled for several instruction sets (TB_CLONES in simd.hpp). A template cannot be, so the bindings call
// plain functions, one a type.
#define TB_FLOATS(USE) USE(float) USE(double)
#define TB_INTEGERS(USE) USE(std::int8_t) USE(std::int16_t) USE(std::int32_t) USE(std::int64_t) \
    USE(std::uint8_t) USE(std::uint16_t) USE(std::uint32_t) USE(std::uint64_t)

// One file for each group of kernels: native/bind_*.cpp.
void bind_dense(nb::module_& m);
void bind_codes(nb::module_& m);
void bind_sparse(nb::module_& m);
void bind_columns(nb::module_& m);
void bind_fitting(nb::module_& m);
void bind_tokens(nb::module_& m);
void bind_plan(nb::module_& m);
void bind_ledger(nb::module_& m);
