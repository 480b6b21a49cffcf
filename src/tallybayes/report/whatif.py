"""The markup of the what-if form and of the form for files; the scripts fill them."""

from __future__ import annotations

from html import escape

from tallybayes.report.tips import tip

WHAT_IF = f"""
<noscript><p>This part needs JavaScript; everything else does not.</p></noscript>
<p class="screen">Set the values of a row to see its prediction. Values that are not set are missing. The address of
this page keeps what you set.</p>
<div class="pager screen">
<label for="typical">typical row of class</label><select id="typical"><option value="">…</option></select>
<button type="button" id="clear">clear all</button>
<button type="button" id="keep">keep to compare</button>
<button type="button" id="unkeep" hidden>stop comparing</button>
</div>
<div class="whatif">
<div class="controls">
<p class="screen"><label for="find">find a column</label> <input id="find" type="search" autocomplete="off"></p>
<div id="controls-box"></div><div class="pager" id="controls-pager"></div>
</div>
<div class="result">
<div class="answer"><p class="verdict" id="verdict" aria-live="polite"></p><p class="small" id="runner-up"></p></div>
<div class="reasons">
<table class="probs"><caption class="skip">probability of each class</caption><tbody id="probs"></tbody></table>
<div id="kept" hidden><h3>Compared with the kept row</h3>
<table class="odds kept"><caption class="skip">what differs from the kept row</caption>
<colgroup><col class="what"><col class="number"><col></colgroup><tbody id="differences"></tbody></table></div>
<h3>Evidence: <span id="compared"></span>{tip("log odds")}</h3>
<table class="odds"><caption class="skip">evidence of each column</caption>
<colgroup><col class="what"><col class="number"><col></colgroup><tbody id="reasons"></tbody></table>
<p class="screen small compare"><label for="label">compare</label> <select id="label"></select>
<label for="against">with</label> <select id="against"></select></p>
</div>
</div>
</div>
"""


def drop(service: str, target: str | None) -> str:
    """The form for a file to score."""
    named = "" if target is None else f' data-target="{escape(target, quote=True)}"'
    return (
        f'<div class="drop" id="drop" data-to="{escape(service, quote=True)}"{named}><p><label for="drop-file">Drop a '
        "CSV file here, or choose one; you get it back with a prediction for each row.</label></p>"
        '<input type="file" id="drop-file" accept=".csv,text/csv"><p id="drop-status" role="status"></p></div>'
        '<div id="drop-found"></div>'
    )
