# A mixed table with missing values by R's e1071: writes e1071_penguins_*.csv beside this script.
#
#     Rscript tests/oracles/make_e1071_penguins.R src/tallybayes/data/penguins.csv
#
# e1071 divides squares by n - 1. Missing cells are no evidence, neither in training nor in prediction. Where a table
# has a zero, its predictions put 0.001 in its place: without a pseudocount the posteriors are those of the columns
# that have none, all but the island.

library(e1071)

args <- commandArgs(trailingOnly = FALSE)
here <- dirname(sub("^--file=", "", grep("^--file=", args, value = TRUE)))
penguins <- read.csv(tail(args, 1), stringsAsFactors = TRUE, na.strings = "")

save_csv <- function(table, name) {
  table <- as.data.frame(table)
  for (column in names(table)) {
    if (is.numeric(table[[column]])) table[[column]] <- sprintf("%.17g", table[[column]])
  }
  write.csv(table, file.path(here, paste0("e1071_penguins_", name, ".csv")), row.names = FALSE, quote = FALSE)
}

tables_of <- function(model) {
  parts <- lapply(names(model$tables), function(column) {
    table <- unclass(model$tables[[column]])
    names <- if (is.null(colnames(table))) c("mean", "sd") else colnames(table)
    data.frame(
      column = column,
      class = rep(rownames(table), times = ncol(table)),
      entry = rep(names, each = nrow(table)),
      value = as.vector(table)
    )
  })
  do.call(rbind, parts)
}

for (laplace in 0:1) {
  model <- naiveBayes(species ~ ., data = penguins, laplace = laplace, na.action = na.pass)
  save_csv(tables_of(model), paste0("tables_laplace_", laplace))
  if (laplace == 0) model <- naiveBayes(species ~ . - island, data = penguins, na.action = na.pass)
  save_csv(predict(model, penguins, type = "raw"), paste0("posterior_laplace_", laplace))
}
