"""Draw what `tallybayes demo` prints as docs/images/demo.svg."""

from __future__ import annotations

import io
import re
from pathlib import Path

from rich.console import Console

from tallybayes.cli.demo import DAY, learn_tennis, show
from tallybayes.inspection.explain import worked

if __name__ == "__main__":
    console = Console(record=True, width=80, file=io.StringIO(), highlight=False)
    model = learn_tennis(alpha=0.0)
    show(model, worked(model, DAY), console)
    drawn = console.export_svg(title="tallybayes demo", unique_id="demo")
    # No font is fetched from anywhere: any monospaced one does.
    drawn = re.sub(r"@font-face \{.*?\}\n", "", drawn, flags=re.DOTALL).replace("Fira Code, ", "")
    Path("docs/images/demo.svg").write_text(re.sub(r"[ \t]+$", "", drawn, flags=re.MULTILINE), encoding="utf-8")
