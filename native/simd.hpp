// What every kernel shares: compiler switches, a strided matrix view and the two ways a row can be labelled.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#if defined(__GNUC__) || defined(__clang__)
#define TB_INLINE inline __attribute__((always_inline))
#define TB_RESTRICT __restrict__
#define TB_PREFETCH(address) __builtin_prefetch(reinterpret_cast<const void*>(address))
// Lets a loop that sums up be worked out side by side, in another order than it is written.
#define TB_PRAGMA(text) _Pragma(#text)
#define TB_SIMD(clauses) TB_PRAGMA(omp simd clauses)
#else
#define TB_SIMD(clauses)
#define TB_INLINE __forceinline
#define TB_RESTRICT __restrict
#define TB_PREFETCH(address) ((void)(address))
#endif

// One source, three machine codes: the loader picks AVX-512, AVX2 or plain x86-64 when the library is loaded.
// Needs ifunc (glibc); elsewhere the compiler's baseline is used, which on arm64 already has NEON.
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__GLIBC__) && !defined(TB_NO_CLONES)
#define TB_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define TB_CLONES
#endif

namespace tb {

using Index = std::ptrdiff_t;

constexpr Index kNone = -1;  // "no bad cell": kernels answer with the flat position row * d + column otherwise

// So many numbers side by side. Arrays of them that live through a loop stay in registers only under this name.
#if defined(__GNUC__) || defined(__clang__)
template <Index N, class T> struct LanesOf {
    typedef T Wide __attribute__((vector_size(N * sizeof(T))));
    typedef Wide Type __attribute__((aligned(sizeof(T)), may_alias));
};
template <Index N, class T = float> using Lanes = typename LanesOf<N, T>::Type;
#else
template <Index N, class T = float> struct Lanes {
    T lane[N];
    T operator[](Index v) const { return lane[v]; }
    Lanes& operator+=(const Lanes& other) {
        for (Index v = 0; v < N; ++v) lane[v] += other.lane[v];
        return *this;
    }
    friend Lanes operator-(Lanes lanes, const Lanes& other) {
        for (Index v = 0; v < N; ++v) lanes.lane[v] -= other.lane[v];
        return lanes;
    }
    friend Lanes operator*(T by, Lanes lanes) {
        for (T& each : lanes.lane) each *= by;
        return lanes;
    }
};
#endif

template <class T>
struct Matrix {  // strides in elements, so C order, Fortran order and slices are read in place
    const T* data;
    Index n, d;
    Index row_stride, col_stride;
    TB_INLINE const T& at(Index i, Index j) const { return data[i * row_stride + j * col_stride]; }
};

struct Hard {  // one class and one weight a row
    const std::int32_t* codes;
    const double* weight;
    template <class F>
    TB_INLINE void each(Index i, F&& use) const { use(static_cast<Index>(codes[i]), weight[i]); }
};

struct Soft {  // a weight for every class (EM's responsibilities)
    const double* weight;
    Index n_classes;
    template <class F>
    TB_INLINE void each(Index i, F&& use) const {
        for (Index k = 0; k < n_classes; ++k)
            if (weight[i * n_classes + k] != 0.0) use(k, weight[i * n_classes + k]);
    }
};

// What remains of a count when a row is taken out; what rounding leaves of nothing is zero.
TB_INLINE double left_of(double have, double taken) { return have - taken > 1e-12 * have ? have - taken : 0.0; }

}  // namespace tb
