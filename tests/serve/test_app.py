"""The service: answers are the library's, errors are 4xx with the library's words, nothing is lost."""

from __future__ import annotations

import asyncio
import io
import json
import os
import shutil
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tallybayes import NaiveBayes, load
from tallybayes.data import datasets
from tallybayes.errors import LabelWarning, TallybayesError

if os.environ.get("CI") != "true":
    for _name in ("fastapi", "orjson", "httpx2"):
        pytest.importorskip(_name, reason="the service needs the extra 'serve'")

from fastapi import Request
from fastapi.exceptions import HTTPException
from starlette.testclient import TestClient

from tallybayes.serve import create_app
from tallybayes.serve.bodies import Counter, Limits
from tallybayes.serve.routes import ROUTES
from tallybayes.serve.store import Entry
from tallybayes.storage import lock
from tests.storage.test_lock import held

TOKEN = "a-token-of-sufficient-length"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
ROW = {"bill_length_mm": 46.1, "island": "Biscoe", "sex": None}


@pytest.fixture(scope="module")
def fitted() -> NaiveBayes:
    return NaiveBayes().fit(datasets.penguins(), target="species")


@pytest.fixture
def path(fitted: NaiveBayes, tmp_path: Path) -> Path:
    fitted.save(tmp_path / "penguins.tally")
    return tmp_path / "penguins.tally"


def client(*paths: Path, **options: Any) -> TestClient:
    return TestClient(create_app(paths, **options), base_url="http://localhost:8000", raise_server_exceptions=False)


def known(fitted: NaiveBayes, row: dict[str, Any]) -> dict[str, Any]:
    return {**dict.fromkeys(fitted.feature_names_in_), **row}


def test_one_row(path: Path, fitted: NaiveBayes) -> None:
    answer = client(path).post("/models/penguins/predict", json={"row": ROW})
    expected = fitted.predict_proba([known(fitted, ROW)])[0]
    assert answer.status_code == 200
    assert answer.json()["prediction"] == fitted.classes_[expected.argmax()]
    np.testing.assert_allclose(list(answer.json()["probabilities"].values()), expected, atol=1e-12)


def test_many_rows_in_either_form(path: Path, fitted: NaiveBayes) -> None:
    table = datasets.penguins()
    del table["species"]
    rows = [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
    expected, http = fitted.predict_proba(table), client(path)
    for body in ({"rows": rows}, {"columns": table}):
        answer = http.post("/models/penguins/predict", json=body).json()
        np.testing.assert_allclose(answer["probabilities"], expected, atol=1e-12)
        assert answer["predictions"] == fitted.predict(table).tolist()


def test_a_row_of_which_nothing_is_known(path: Path, fitted: NaiveBayes) -> None:
    answer = client(path).post("/models/penguins/predict", json={"row": {}})
    expected = fitted.predict_proba([known(fitted, {})])[0]
    np.testing.assert_allclose(list(answer.json()["probabilities"].values()), expected, atol=1e-12)


def test_explain_and_evaluate(path: Path, fitted: NaiveBayes) -> None:
    http = client(path)
    explained = http.post("/models/penguins/explain", json={"row": ROW}).json()
    assert explained["total"] == pytest.approx(fitted.explain(known(fitted, ROW)).total)
    assert explained["work"][0]["what"] == "P(class)"
    table = datasets.penguins()
    species = table.pop("species")
    evaluation = http.post("/models/penguins/evaluate", json={"columns": table, "labels": species}).json()
    assert evaluation["method"] == fitted.evaluation_.method  # all rows that were learned: the stored figures
    assert evaluation["accuracy"]["value"] == fitted.evaluation_.accuracy.value
    half = {name: values[::2] for name, values in table.items()}
    evaluation = http.post("/models/penguins/evaluate", json={"columns": half, "labels": species[::2]}).json()
    assert evaluation["method"] == "test"
    assert evaluation["accuracy"]["value"] == pytest.approx(fitted.score(half, species[::2]))


def test_the_figures_of_training_are_shown(path: Path, fitted: NaiveBayes) -> None:
    http = client(path, learn=True, token=TOKEN)
    shown = http.get("/models/penguins/schema").json()
    assert shown["evaluation"] == json.loads(json.dumps(fitted.evaluation_.as_dict()))
    assert shown["n_learned"] == shown["evaluation"]["n_learned"] == 344
    row, label = ROW | {"sex": "male"}, "Gentoo"
    assert http.post("/models/penguins/update", json={"row": row, "label": label}, headers=BEARER).status_code == 200
    shown = http.get("/models/penguins/schema").json()
    assert (shown["n_learned"], shown["evaluation"]["n_learned"]) == (345, 344)


def test_rows_that_would_need_models_learned_anew_are_refused(tmp_path: Path, fitted: NaiveBayes) -> None:
    table = datasets.penguins()
    species = table.pop("species")
    first = {name: values[:300] for name, values in table.items()}
    more = {name: values[300:] for name, values in table.items()}
    model = NaiveBayes().fit(first, species[:300]).partial_fit(more, species[300:])
    model.save(tmp_path / "grown.tally")
    answer = client(tmp_path / "grown.tally").post("/models/grown/evaluate", json={"columns": table, "labels": species})
    assert answer.status_code == 422
    assert "tallybayes evaluate" in answer.json()["detail"]


def test_a_csv_comes_back_with_predictions(path: Path, fitted: NaiveBayes) -> None:
    import pandas as pd

    table = pd.DataFrame(datasets.penguins()).drop(columns="species")
    text = table.to_csv(index=False)
    answer = client(path).post("/models/penguins/predict", content=text, headers={"Content-Type": "text/csv"})
    assert answer.status_code == 200, answer.text
    assert answer.headers["x-rows"] == "344"
    found = pd.read_csv(io.StringIO(answer.text))
    np.testing.assert_allclose(found[["p_Adelie", "p_Chinstrap", "p_Gentoo"]], fitted.predict_proba(table), atol=1e-9)


def test_what_is_served(path: Path) -> None:
    http = client(path)
    assert http.get("/health").json() == {"status": "ok", "version": http.app.version, "troubles": {}}
    (model,) = http.get("/models").json()["models"]
    assert model["rows"] == 344
    assert model["classes"] == ["Adelie", "Chinstrap", "Gentoo"]
    columns = http.get("/models/penguins/schema").json()["columns"]
    sex = next(column for column in columns if column["name"] == "sex")
    assert (sex["kind"], sex["levels"]) == ("category", ["female", "male"])
    assert "What if" in http.get("/").text
    assert "What if" in http.get("/models/penguins/what-if").text
    assert "/models/{name}/predict" in http.get("/docs").text
    assert "/models/{name}/predict" in http.get("/openapi.json").json()["paths"]


@pytest.mark.parametrize("learn", [False, True])
def test_the_application_and_its_documentation_have_the_routes_of_the_table(path: Path, learn: bool) -> None:
    http = client(path, learn=learn, token=TOKEN)
    described, docs = http.get("/openapi.json").json()["paths"], http.get("/docs").text
    for route in ROUTES:
        is_on = (learn or not route.changes) and not route.counts  # rows are not counted unless asked for
        in_api = not route.is_page and is_on
        assert (route.method.lower() in described.get(route.path, {})) == in_api
        assert (f"{route.method} {route.path}</code>" in docs) == in_api
        assert route.handler.__doc__
        if in_api:
            assert described[route.path][route.method.lower()]["description"] == route.handler.__doc__
        found = http.request(route.method, route.path.replace("{name}", "penguins"))
        assert (found.status_code == 404) == (not is_on)
    shown = [route for route in ROUTES if not route.is_page and not route.counts and (learn or not route.changes)]
    assert len(described) == len(shown)


BAD = {
    "no JSON": (400, b"{", "not valid JSON"),
    "NaN": (400, b'{"row": {"bill_length_mm": NaN}}', "not valid JSON"),
    "a list": (422, b"[1]", "the body must be"),
    "nothing": (422, b"{}", "the body must be"),
    "two forms": (422, b'{"row": {}, "rows": []}', "the body must be"),
    "no rows": (422, b'{"rows": []}', "no row"),
    "an unknown field": (422, b'{"row": {}, "path": "/etc/passwd"}', "unknown field 'path'"),
    "an unknown column": (422, b'{"row": {"wingspan": 3}}', "the model was not trained with column 'wingspan'"),
    "text for a number": (422, b'{"row": {"body_mass_g": "heavy"}}', "was learned as numbers, but holds text"),
    "a list in a cell": (422, b'{"row": {"body_mass_g": [1]}}', "column 'body_mass_g' holds a list"),
    "rows that are no objects": (422, b'{"rows": [1, 2]}', "a list of objects"),
    "rows that are no list": (422, b'{"rows": true}', "a list of objects"),
    "columns of different lengths": (422, b'{"columns": {"sex": ["male"], "year": []}}', "differ in length"),
    "columns that are no lists": (422, b'{"columns": {"sex": "male"}}', "an object of lists"),
    "an endless number": (422, b'{"row": {"body_mass_g": 1e400}}', ""),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_bodies(name: str, path: Path) -> None:
    status, body, message = BAD[name]
    answer = client(path).post("/models/penguins/predict", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code in (400, 422) if name == "an endless number" else answer.status_code == status
    assert message in answer.json()["detail"]


def test_what_is_not_there_and_what_is_too_much(path: Path) -> None:
    http = client(path, max_bytes=2000, max_rows=5)
    assert http.post("/models/../../etc/passwd/predict", json={"row": {}}).status_code == 404
    assert "there is no model 'emus'" in http.post("/models/emus/predict", json={"row": {}}).json()["detail"]
    assert http.post("/models/penguins/predict", json={"rows": [{}] * 6}).status_code == 422
    assert http.post("/models/penguins/predict", json={"rows": [ROW] * 90}).status_code == 413
    stream = (b'{"row": {' + b" " * 500 for _ in range(10))  # without a length
    sent = http.post("/models/penguins/predict", content=stream, headers={"Content-Type": "application/json"})
    assert sent.status_code == 413
    assert http.post("/models/penguins/predict", data={"row": "x"}).status_code == 415
    csv = {"Content-Type": "text/csv"}
    assert http.post("/models/penguins/predict", content="year\n" + "1\n" * 9, headers=csv).status_code == 413
    wrong = http.post("/models/penguins/predict", content="emus\n1\n", headers=csv)
    assert wrong.status_code == 422
    assert "none of the columns" in wrong.json()["detail"]
    assert "/tmp" not in wrong.json()["detail"]


def test_headers(path: Path) -> None:
    http = client(path)
    for address in ("/", "/models", "/nowhere", "/docs"):
        headers = http.get(address).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert headers["content-security-policy"].startswith("default-src 'none'")
        assert "server" not in headers
    assert "connect-src 'self'" in http.get("/").headers["content-security-policy"]
    assert http.get("/models", headers={"Host": "evil.example"}).status_code == 421


@pytest.mark.parametrize(("host", "status"), [
    ("localhost", 200), ("LOCALHOST:8000", 200), ("127.0.0.1:1", 200), ("[::1]:8000", 200), ("[::1]", 200),
    ("[::1].evil.com", 421), ("[::1]evil.com", 421), ("localhost.evil.com", 421), ("127.0.0.1:1@evil.com", 421),
    ("localhost:80:80", 421), ("", 421), ("evil.com:localhost", 421),
])  # fmt: skip
def test_the_host_is_compared_as_a_whole(host: str, status: int, path: Path) -> None:
    assert client(path).get("/models", headers={"Host": host}).status_code == status


def test_requests_that_cost_more_than_their_bytes_are_refused(path: Path) -> None:
    http = client(path)

    def post(content: bytes, what: str = "predict", kind: str = "application/json") -> Any:
        return http.post(f"/models/penguins/{what}", content=content, headers={"Content-Type": kind})

    unknown = post(b'{"rows": [' + b",".join(b'{"%d": 1}' % i for i in range(6000)) + b"]}")
    assert unknown.status_code == 422
    assert "and 5995 more" in unknown.json()["detail"]
    assert post(b'{"row": {' + b",".join(b'"%d": 1' % i for i in range(50_000)) + b"}}").status_code == 413
    assert post(b'{"row": {"island": "' + b"x" * 1_000_000 + b'"}}').status_code == 413
    assert post(b'{"row": {"island": "' + b"x" * 200_000 + b'"}}').status_code == 200
    assert post(b'{"row": {"island": "' + b"x" * 200_000 + b'"}}', "explain").status_code == 413
    assert post(b'{"rows": [' + b"{}," * 200_000 + b"{}]}").status_code == 413
    assert post(b'{"columns": {"year": [' + b"0," * 2_000_000 + b"0]}}").status_code == 413
    assert post(b"x" * 5_000_001).status_code == 413  # a tenth of what a CSV may have
    for end in (b"\n", b"\r", b"\r\n"):
        assert post(b"year" + end + (b"2007" + end) * 100_002, kind="text/csv").status_code == 413


def test_many_large_bodies_do_not_fit(path: Path) -> None:
    limits = Limits(bytes=1_000_000)
    limits.room.taken = 2_000_000  # what other requests hold

    async def send(size: int) -> int:
        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": b"a" * size, "more_body": False}

        request = Request({"type": "http", "headers": [(b"content-type", b"text/csv")]}, receive)
        async with limits.room.body(request, Counter(limits, 3, "text/csv", limits.bytes)) as content:
            return len(content)

    assert asyncio.run(send(1000)) == 1000  # small ones always do
    with pytest.raises(HTTPException, match="too many large requests"):
        asyncio.run(send(100_000))
    assert limits.room.taken == 2_000_000


@pytest.mark.filterwarnings("ignore::tallybayes.errors.ColumnWarning")
def test_formulas_in_a_csv(path: Path) -> None:
    for safe in (False, True):
        answer = client(path, safe_csv=safe).post(
            "/models/penguins/predict", content="island,note\nDream,=1+1\n", headers={"Content-Type": "text/csv"}
        )
        assert (",'=1+1," in answer.text) == safe


def test_health_shows_a_bad_file_at_once(path: Path) -> None:
    http = client(path)
    assert http.get("/health").json()["status"] == "ok"
    whole = path.read_bytes()
    for bad in (b"", whole[:-1], whole[:100], b"x" * 1000):
        path.write_bytes(bad)
        assert http.get("/health").json()["status"] == "stale"
        assert http.post("/models/penguins/predict", json={"row": ROW}).status_code == 200
    path.write_bytes(whole)
    assert http.get("/health").json()["status"] == "ok"


def test_others_need_a_token(path: Path) -> None:
    with pytest.raises(TallybayesError, match="set a token"):
        create_app([path], open_to="0.0.0.0")
    http = client(path, open_to="0.0.0.0", token=TOKEN)
    assert http.get("/health").status_code == 200
    refused = http.get("/models")
    assert refused.status_code == 401
    assert "Basic" in refused.headers["www-authenticate"]
    assert http.get("/models", headers={"Authorization": "Bearer wrong"}).status_code == 401
    assert http.get("/models", headers={"Authorization": "Basic %%%"}).status_code == 401
    assert http.get("/models", headers=BEARER).status_code == 200
    assert http.get("/models", auth=("anybody", TOKEN)).status_code == 200


def test_learning_needs_the_token_and_is_off_by_default(path: Path) -> None:
    with pytest.raises(TallybayesError, match="needs a token"):
        create_app([path], learn=True)
    body = {"row": ROW, "label": "Gentoo"}
    assert client(path).post("/models/penguins/update", json=body, headers=BEARER).status_code in (404, 405)
    assert client(path, learn=True, token=TOKEN).post("/models/penguins/update", json=body).status_code == 401


def test_what_is_learned_is_on_the_disk_and_can_be_taken_back(path: Path, fitted: NaiveBayes) -> None:
    http = client(path, learn=True, token=TOKEN)
    body = {"rows": [ROW, ROW], "labels": ["Gentoo", "Emperor"]}
    answer = http.post("/models/penguins/update", json=body, headers=BEARER)
    assert answer.json()["rows"] == 2
    again = load(path)
    assert again.classes_.tolist() == ["Adelie", "Chinstrap", "Emperor", "Gentoo"]
    assert again.class_count_.sum() == 346
    assert "Emperor" in http.post("/models/penguins/predict", json={"row": ROW}).json()["probabilities"]
    taken = http.post("/models/penguins/unlearn", json=body, headers=BEARER)
    assert taken.json()["Emperor"]["rows"] == 1
    np.testing.assert_allclose(load(path).class_count_, [152, 68, 124])  # the class left with its only row
    never = http.post("/models/penguins/unlearn", json={"row": ROW, "label": "Emperor"}, headers=BEARER)
    assert never.status_code == 409  # a label that the model does not know
    assert load(path).class_count_.sum() == 344
    invalid = http.post(
        "/models/penguins/update", json={"row": {"body_mass_g": "x"}, "label": "Gentoo"}, headers=BEARER
    )
    assert invalid.status_code == 422
    assert load(path).class_count_.sum() == 344


def test_what_is_lost_or_new_is_in_the_answer(path: Path) -> None:
    http = client(path, learn=True, token=TOKEN)
    assert "warnings" not in http.post("/models/penguins/predict", json={"row": ROW}).json()
    for body in ({"row": {**ROW, "island": "Mars"}}, {"rows": [{**ROW, "island": "Mars"}] * 3}):
        (told,) = http.post("/models/penguins/predict", json=body).json()["warnings"]
        assert told.startswith(
            "no value of column 'island' was seen in training, so it is no evidence: it holds 'Mars'"
        )
    with pytest.warns(LabelWarning):
        answer = http.post("/models/penguins/update", json={"row": ROW, "label": "gentoo"}, headers=BEARER)
    assert answer.json()["warnings"] == ["the label 'gentoo' is new to the model; did you mean 'Gentoo'?"]


def test_a_file_that_others_change_for_too_long(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    http = client(path, learn=True, token=TOKEN)
    monkeypatch.setattr("tallybayes.serve.store.locked", lambda name: lock.locked(name, wait=0.05))
    with held(path):
        refused = http.post("/models/penguins/update", json={"row": ROW, "label": "Gentoo"}, headers=BEARER)
        assert http.post("/models/penguins/predict", json={"row": ROW}).status_code == 200
    assert refused.status_code == 503
    assert "nothing was changed" in refused.json()["detail"]
    assert load(path).class_count_.sum() == 344


def bag() -> NaiveBayes:
    table = {"bread": [3, 0, 2, 1], "salt": [0, 4, 1, 3]}
    return NaiveBayes(family={"bread": "multinomial", "salt": "multinomial"}, classical=True).fit(table, list("abab"))


def penguins() -> NaiveBayes:
    return NaiveBayes(classical=True).fit(datasets.penguins(), target="species")


REFUSED = {
    "a level that was never learned": (penguins, "unlearn", {"island": "Nowhere"}, "Adelie"),
    "a class that was never learned": (penguins, "unlearn", {"island": "Dream"}, "Emperor"),
    "more rows than were learned": (penguins, "unlearn", {"year": 1850.0}, "Adelie"),
    "text for a number": (penguins, "update", {"body_mass_g": "heavy"}, "Adelie"),
    "a bag without one of its columns": (bag, "update", {"bread": 1}, "a"),
    "a negative count in a bag": (bag, "update", {"bread": -1, "salt": 1}, "a"),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", REFUSED)
def test_the_service_refuses_with_the_words_of_the_library(name: str, tmp_path: Path) -> None:
    make, verb, row, label = REFUSED[name]
    model = make()
    model.save(tmp_path / "model.tally")
    whole = row if make is bag else known(model, row)
    with pytest.raises(TallybayesError) as refused:
        (model.partial_fit if verb == "update" else model.unlearn)([whole], [label])
    http = client(tmp_path / "model.tally", learn=True, token=TOKEN)
    answer = http.post(f"/models/model/{verb}", json={"row": row, "label": label}, headers=BEARER)
    assert answer.status_code in (409, 422)
    assert answer.json()["detail"] == " ".join(str(refused.value).split())


def test_writers_take_turns(path: Path) -> None:
    http = client(path, learn=True, token=TOKEN)
    answers: list[int] = []

    def learn() -> None:
        for _ in range(5):
            body = {"row": ROW, "label": "Gentoo"}
            answers.append(http.post("/models/penguins/update", json=body, headers=BEARER).status_code)

    threads = [threading.Thread(target=learn) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [200] * 20
    assert load(path).class_count_.sum() == 364


def test_a_model_is_read_again_and_a_broken_one_is_not(
    path: Path, fitted: NaiveBayes, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tallybayes.serve.store.CHECK", 0.0)
    http = client(path)
    before = http.post("/models/penguins/predict", json={"row": ROW}).json()
    fitted.with_prior({"Adelie": 0.98, "Chinstrap": 0.01, "Gentoo": 0.01}).save(tmp_path / "other.tally")
    os.replace(tmp_path / "other.tally", path)
    after = http.post("/models/penguins/predict", json={"row": ROW}).json()
    assert after["probabilities"]["Adelie"] > before["probabilities"]["Adelie"]
    path.write_bytes(b"nothing like a model")
    assert http.post("/models/penguins/predict", json={"row": ROW}).json() == after
    assert http.get("/health").json()["status"] == "stale"
    assert "cannot be read as a model" in http.get("/health").json()["troubles"]["penguins"]
    path.unlink()
    assert http.post("/models/penguins/predict", json={"row": ROW}).json() == after
    fitted.save(path)
    assert http.post("/models/penguins/predict", json={"row": ROW}).json() == before
    assert http.get("/health").json()["status"] == "ok"


def test_requests_during_a_reload_get_one_model_or_the_other(path: Path, fitted: NaiveBayes, tmp_path: Path) -> None:
    entry = Entry("penguins", path, __import__("tallybayes.serve.store", fromlist=["_read"])._read(path))
    seen, stop = set(), threading.Event()

    def ask() -> None:
        while not stop.is_set():
            entry.checked = 0.0
            seen.add(float(entry.current().model.tally.class_weight.sum()))

    thread = threading.Thread(target=ask)
    thread.start()
    for _ in range(5):
        shutil.copy(path, tmp_path / "copy.tally")
        os.replace(tmp_path / "copy.tally", path)
    stop.set()
    thread.join()
    assert seen == {344.0}


def test_names(path: Path, tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    shutil.copy(path, tmp_path / "more" / "penguins.tally")
    with pytest.raises(TallybayesError, match="two models have the name 'penguins'"):
        create_app([path, tmp_path / "more" / "penguins.tally"])
    shutil.copy(path, tmp_path / "<b>&x.tally")
    http = client(path, tmp_path / "<b>&x.tally")
    index = http.get("/").text
    assert "<b>&x" not in index
    assert http.get("/models/%3Cb%3E%26x/schema").status_code == 200


def test_a_body_that_never_comes_is_not_waited_for(path: Path) -> None:
    answers: list[Any] = []

    async def never() -> dict[str, Any]:
        await asyncio.sleep(60)
        return {"type": "http.disconnect"}

    async def keep(message: Any) -> None:
        answers.append(message)

    scope = {
        "type": "http", "method": "POST", "path": "/models/penguins/predict", "raw_path": b"", "query_string": b"",
        "headers": [(b"host", b"localhost"), (b"content-type", b"application/json")], "http_version": "1.1",
        "scheme": "http", "server": ("localhost", 8000), "client": ("127.0.0.1", 1), "root_path": "",
    }  # fmt: skip
    asyncio.run(create_app([path], body_seconds=0.05)(scope, never, keep))
    assert answers[0]["status"] == 408
