"""``python -m benchmarks NAME``: run the benchmark of that name and print a line for each piece of work."""

import argparse
import sys
from importlib import import_module

from benchmarks._timing import Bench

NAMES = (
    "core",
    "tables",
    "files",
    "default",
    "accuracy",
    "honest",
    "sets",
    "intervals",
    "scorecard",
    "identifiers",
    "em",
    "text",
    "mail",
    "serve",
    "scale",
    "ledger",
)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("name", choices=NAMES)
    parser.add_argument("sections", nargs="*", help="only these parts of it; all if none is named")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each work, of which the best counts (3)")
    parser.add_argument("--quick", action="store_true", help="small sizes: shows that it runs, not how fast")
    if sys.argv[1:2] in (
        ["accuracy"],
        ["honest"],
        ["sets"],
        ["intervals"],
        ["scorecard"],
        ["identifiers"],
        ["serve"],
    ):  # they have options and a table of their own
        import_module(f"benchmarks.{sys.argv[1]}").run(sys.argv[2:])
        return
    options = parser.parse_args()
    benchmark = import_module(f"benchmarks.{options.name}")
    sections = benchmark.SECTIONS
    unknown = [name for name in options.sections if name not in sections]
    if unknown:
        parser.error(f"no section {', '.join(unknown)}; there are {', '.join(sections)}")
    Bench(options.repeat, options.quick).run([sections[name] for name in options.sections or sections])


if __name__ == "__main__":
    main()
