// Scores of plain columns by tables.
#include "binding.hpp"
#include "plan.hpp"

namespace {

TB_CLONES Index run_plan_2(const tb::Plan& p, const tb::Matrix<double>& x, const tb::Matrix<std::int32_t>& levels, tb::PlanMemory& m, Index k, double* out) {
    return tb::plan_scores<2>(p, x, levels, m, k, out);
}
TB_CLONES Index run_plan_4(const tb::Plan& p, const tb::Matrix<double>& x, const tb::Matrix<std::int32_t>& levels, tb::PlanMemory& m, Index k, double* out) {
    return tb::plan_scores<4>(p, x, levels, m, k, out);
}
TB_CLONES Index run_plan_8(const tb::Plan& p, const tb::Matrix<double>& x, const tb::Matrix<std::int32_t>& levels, tb::PlanMemory& m, Index k, double* out) {
    return tb::plan_scores<8>(p, x, levels, m, k, out);
}
TB_CLONES Index run_plan(const tb::Plan& p, const tb::Matrix<double>& x, const tb::Matrix<std::int32_t>& levels, tb::PlanMemory& m, Index k, double* out) {
    return tb::plan_scores<0>(p, x, levels, m, k, out);
}

// The arrays of a plan, checked once and kept.
class Plan {
  public:
    Plan(Starts column, Starts edge_start, Vector<double> edges, Starts source, Starts map_start, Codes map, Starts left, Starts right, Starts n_right, Starts start,
         Table<double> table)
        : column_(std::move(column)), edge_start_(std::move(edge_start)), source_(std::move(source)), map_start_(std::move(map_start)), left_(std::move(left)),
          right_(std::move(right)), n_right_(std::move(n_right)), start_(std::move(start)), edges_(std::move(edges)), map_(std::move(map)), table_(std::move(table)) {
        const Index s = rows(column_), f = rows(source_), t = rows(left_);
        plan_ = {column_.data(), edge_start_.data(), edges_.data(), source_.data(), map_start_.data(), map_.data(), left_.data(),
                 right_.data(), n_right_.data(), start_.data(), table_.data(), s, f, t, cols(table_)};
        check_starts(edge_start_, s, rows(edges_));
        check_starts(start_, t, rows(table_) - 1);
        require(rows(map_start_) == f && rows(right_) == t && rows(n_right_) == t, "the parts of a plan do not fit");
        require(rows(table_) < (Index{1} << 31), "the tables of a plan are too large");
        for (Index j = 0; j < s; ++j) numbers_ = std::max<Index>(numbers_, column_.data()[j] + 1), require(column_.data()[j] >= 0, "a plan reads no such number");
        for (Index j = 0; j < f; ++j) check_feature(j);
        for (Index j = 0; j < t; ++j) {
            require(left_.data()[j] >= 0 && left_.data()[j] < f && right_.data()[j] < f, "a term has no such feature");
            require(start_.data()[j] < start_.data()[j + 1], "a term has no cell");
        }
    }

    Index scores(const Array2<double>& x, const Array2<std::int32_t>& levels, const Out& out) const {
        require(rows(x) == rows(out) && rows(levels) == rows(out) && cols(x) >= numbers_ && cols(levels) >= levels_, "the columns do not fit the plan");
        require(cols(out) <= plan_.width, "the scores do not fit the plan");
        tb::PlanMemory memory(plan_);
        const auto run = plan_.width == 2 ? run_plan_2 : plan_.width == 4 ? run_plan_4 : plan_.width == 8 ? run_plan_8 : run_plan;
        return run(plan_, view(x), view(levels), memory, cols(out), out.data());
    }

  private:
    Starts column_, edge_start_, source_, map_start_, left_, right_, n_right_, start_;
    Vector<double> edges_;
    Codes map_;
    Table<double> table_;
    tb::Plan plan_;
    Index numbers_ = 0, levels_ = 0;  // columns that there must be

    void check_feature(Index j) {
        const Index from = source_.data()[j], s = plan_.n_searched;
        require(from >= 0, "a feature has no source");
        if (from >= s) {
            levels_ = std::max(levels_, from - s + 1);
            return;
        }
        const Index first = map_start_.data()[j], bins = edge_start_.data()[from + 1] - edge_start_.data()[from] + 1;
        require(first >= 0 && first + 1 + bins <= rows(map_), "the map of a feature is too short");
    }
};

}  // namespace

void bind_plan(nb::module_& m) {
    nb::class_<Plan>(m, "Plan")
        .def(nb::init<Starts, Starts, Vector<double>, Starts, Starts, Codes, Starts, Starts, Starts, Starts, Table<double>>(),
             "column"_a.noconvert(), "edge_start"_a.noconvert(), "edges"_a.noconvert(), "source"_a.noconvert(), "map_start"_a.noconvert(), "map"_a.noconvert(),
             "left"_a.noconvert(), "right"_a.noconvert(), "n_right"_a.noconvert(), "start"_a.noconvert(), "table"_a.noconvert())
        .def("scores", &Plan::scores, "x"_a.noconvert(), "levels"_a.noconvert(), "out"_a.noconvert(), nb::call_guard<nb::gil_scoped_release>());
}
