// The compiled part of tallybayes: groups of kernels, and what is done to scores.
#include "binding.hpp"
#include "leave_one_out.hpp"

NB_MODULE(_native, m) {
    // A model that is still in use when the interpreter ends is no leak: nobody wants to read a page on that.
    nanobind::set_leak_warnings(false);
    using Release = nb::call_guard<nb::gil_scoped_release>;
    bind_dense(m);
    bind_codes(m);
    bind_sparse(m);
    bind_columns(m);
    bind_fitting(m);
    bind_tokens(m);
    bind_plan(m);
    bind_ledger(m);
    m.def("best_class", [](const Table<double>& evidence, const Vector<double>& log_prior, const Vector<double>& fallback, const OutVector<std::int64_t>& best) {
        const Index n = rows(evidence), k = cols(evidence);
        require(k > 0 && rows(log_prior) == k && rows(fallback) == k && rows(best) == n, "scores do not fit the prior");
        return tb::best_class(evidence.data(), n, k, log_prior.data(), fallback.data(), best.data());
    }, "evidence"_a.noconvert(), "log_prior"_a.noconvert(), "fallback"_a.noconvert(), "best"_a.noconvert(), Release());
    m.def("normalise", [](const Out& evidence, const Vector<double>& log_prior, const Vector<double>& fallback, bool logs) {
        const Index n = rows(evidence), k = cols(evidence);
        require(k > 0 && rows(log_prior) == k && rows(fallback) == k, "scores do not fit the prior");
        return tb::normalise(evidence.data(), n, k, log_prior.data(), fallback.data(), logs);
    }, "evidence"_a.noconvert(), "log_prior"_a.noconvert(), "fallback"_a.noconvert(), "logs"_a, Release());
    m.def("responsibilities", [](const Out& joint, const Vector<double>& fallback, const Codes& group, const Codes& codes, const Vector<double>& weight) {
        const Index n = rows(joint), k = cols(joint);
        require(k > 0 && rows(fallback) == k && rows(group) == k, "scores do not fit the components");
        require(rows(codes) == n && rows(weight) == n, "labels and weights must have one entry a row");
        return tb::responsibilities(joint.data(), n, k, fallback.data(), group.data(), codes.data(), weight.data());
    }, "joint"_a.noconvert(), "fallback"_a.noconvert(), "group"_a.noconvert(), "codes"_a.noconvert(), "weight"_a.noconvert(), Release());
    m.def("normalise_without", [](const Out& evidence, const Vector<double>& log_prior, const Codes& codes, const Vector<double>& own_log_prior) {
        const Index n = rows(evidence), k = cols(evidence);
        require(k > 0 && rows(log_prior) == k, "scores do not fit the prior");
        const auto own = hard(codes, own_log_prior, n, k);
        std::vector<double> scratch(static_cast<std::size_t>(2 * k));
        return tb::normalise_without(evidence.data(), n, k, log_prior.data(), own.codes, own.weight, scratch.data());
    }, "evidence"_a.noconvert(), "log_prior"_a.noconvert(), "codes"_a.noconvert(), "own_log_prior"_a.noconvert(), Release());
}
