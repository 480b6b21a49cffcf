# Naive Bayes by R's e1071: writes e1071_*.csv beside this script.
#
#     Rscript tests/oracles/make_e1071.R src/tallybayes/data/tennis.csv
#
# e1071 divides squares by n - 1. Its missing cells are no evidence, neither in training nor in prediction.

library(e1071)

args <- commandArgs(trailingOnly = FALSE)
here <- dirname(sub("^--file=", "", grep("^--file=", args, value = TRUE)))
tennis_csv <- tail(args, 1)

save_csv <- function(table, name) {
  table <- as.data.frame(table)
  for (column in names(table)) {
    if (is.numeric(table[[column]])) table[[column]] <- sprintf("%.17g", table[[column]])
  }
  write.csv(table, file.path(here, paste0("e1071_", name, ".csv")), row.names = FALSE, quote = FALSE)
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

# The iris flowers as they are, and with every seventh cell missing.
flowers <- iris
holed <- iris
for (j in 1:4) holed[(1:150 + 3 * j) %% 7 == 0, j] <- NA
for (case in c("iris", "iris_missing")) {
  data <- if (case == "iris") flowers else holed
  model <- naiveBayes(Species ~ ., data = data, na.action = na.pass)
  save_csv(tables_of(model), paste0(case, "_tables"))
  save_csv(predict(model, data, type = "raw"), paste0(case, "_posterior"))
}

# Tennis, with and without a pseudocount; zeros are kept out of the posterior, where e1071 puts 0.001 in their place.
tennis <- read.csv(tennis_csv, stringsAsFactors = TRUE)
for (laplace in 0:1) {
  model <- naiveBayes(play ~ ., data = tennis, laplace = laplace)
  save_csv(tables_of(model), paste0("tennis_tables_laplace_", laplace))
}
save_csv(predict(model, tennis, type = "raw"), "tennis_posterior_laplace_1")

writeLines(c(R.version.string, paste("e1071", packageVersion("e1071"))), file.path(here, "e1071_versions.txt"))
