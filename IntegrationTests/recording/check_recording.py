# SPDX-License-Identifier: MIT
"""Reads the files of the probe like their users.

Usage: check_recording.py <folder> <schemas> [--screenshot <file.png>]

The HAR files are validated with our own schema of the format and with the published one, whose files are in the second
folder, and read by haralyzer. The reports, the demo's too, are opened in a headless Chromium:
no page loads anything or has a problem, rows and charts are there, filter and search work, hostile text is text, in light and
dark, on a desktop and on a phone.
"""
import json
import sys
from pathlib import Path

import jsonschema
from haralyzer import HarParser
from referencing import Registry, Resource

from browser import Browser

FOLDER = Path(sys.argv[1])
PUBLISHED = [json.loads(file.read_text()) for file in Path(sys.argv[2]).glob("*.json")]
HERE = Path(__file__).parent
checks = 0


def expect(condition, *what):
    global checks
    checks += 1
    if not condition:
        raise AssertionError(what)


def har(name):
    document = json.loads((FOLDER / name).read_text())
    schema = json.loads((HERE / "har-1.2.schema.json").read_text())
    formats = jsonschema.Draft7Validator.FORMAT_CHECKER
    resources = [(part["$id"].rstrip("#"), Resource.from_contents(part)) for part in PUBLISHED]
    for checker in (
        jsonschema.Draft7Validator(schema, format_checker=formats),
        jsonschema.Draft6Validator(
            {"$ref": "har.json"}, registry=Registry().with_resources(resources), format_checker=formats),
    ):
        problems = [
            f"{'/'.join(map(str, error.absolute_path))}: {error.message[:200]}"
            for error in checker.iter_errors(document)]
        expect(not problems, name, problems[:5])
    for entry in document["log"]["entries"]:
        timings = entry["timings"]
        total = sum(max(0, timings[key]) for key in ("blocked", "dns", "connect", "send", "wait", "receive"))
        expect(abs(total - entry["time"]) < 0.01, name, entry["time"], timings)
        expect(timings["ssl"] <= max(timings["connect"], -1), name, timings)
    return document


def check_calls():
    document = har("calls.har")
    text = (FOLDER / "calls.har").read_text()
    expect("hunter2" not in text and "***REDACTED***" in text, "secrets")
    # The second program's result; without pages it makes one page of all entries.
    entries = [entry for page in HarParser(document).pages for entry in page.entries]
    expect(len(entries) == len(document["log"]["entries"]), len(entries))
    by_path = {}
    for entry in entries:
        by_path.setdefault(entry.request.url.split("?")[0].split("/", 3)[3], []).append(entry)
    expect(len([path for path in by_path if path.startswith("items/")]) == 40, sorted(by_path))
    expect([entry.response.status for entry in by_path["flaky"]] == [503, 503, 200], by_path["flaky"])
    expect(by_path["old"][0]["response"]["redirectURL"].startswith("/items/9?token=***"), by_path["old"])
    # Three attempts; the first is resent if its connection was stale.
    expect([entry.response.status for entry in by_path["reset"]] in ([0] * 3, [0] * 4), by_path["reset"])
    expect(all(entry["_error"]["kind"] == "transport" for entry in by_path["reset"]), by_path["reset"])
    login = by_path["login"][0]
    expect({"name": "page", "value": "a b&c"} in login["request"]["queryString"], login["request"])
    expect(json.loads(login["request"]["postData"]["text"])["user"] == "ada", login["request"])
    answered = [entry for entry in entries if entry["response"]["status"]]
    expect(all(entry["time"] > 0 and entry["serverIPAddress"] == "127.0.0.1" for entry in answered), "times")
    expect(any(entry["timings"]["connect"] >= 0 for entry in answered), "a connection was made")
    expect(HarParser.match_status_code(by_path["flaky"][2], "2.*"), "status")
    expect(HarParser.match_headers(login, "response", "Content-Type", "application/json"), "header")
    expect(login.request.mimeType == "application/json" and login.request.text, "body")
    expect(by_path["bytes"][0].response.mimeType == "image/png", "type")
    started = [entry.startTime for entry in entries]
    expect(started == sorted(started) and started[0].year > 2000, "order")


COUNT = "document.querySelectorAll({!r}).length"


def choose(browser, name, value, event):
    browser.evaluate(f"(() => {{ const n = document.getElementById({name!r}); n.value = {value!r}; "
                     f"n.dispatchEvent(new Event({event!r})); }})()")


def check_page(browser, name, calls=None):
    """Without a number of calls: all calls."""
    browser.open(FOLDER / name)
    expect(browser.problems == [], name, browser.problems)
    expect(browser.requests == ["file://" + str((FOLDER / name).resolve())], name, browser.requests)
    rows = browser.evaluate(COUNT.format(".call"))
    expect(rows == calls if calls else rows > 0, name, rows)
    expect(browser.evaluate(COUNT.format(".tile")) == 8, name)
    check_fit(browser, name)
    for chart in ("histogram", "percentiles", "statuses", "errors", "timeline"):
        shapes = browser.evaluate(COUNT.format(f"#{chart} svg :is(rect, circle, polyline)"))
        expect(shapes > 0, name, chart)
    expect(browser.evaluate(COUNT.format(".strip rect")) >= (calls or 2) - 1, name, "bars")


def check_fit(browser, name):
    """No status and no number is cut."""
    cut = browser.evaluate("Array.from(document.querySelectorAll('.call > summary > .status, .tile b, .call .number'))"
                           ".filter((node) => node.scrollWidth > node.clientWidth).map((node) => node.textContent)")
    expect(cut == [], name, cut)


def check_reports(browser, screenshot):
    browser.size(1180, 1400)
    check_page(browser, "calls.html", 50)
    rows = COUNT.format(".call")
    choose(browser, "search", "FLAKY", "input")
    expect(browser.evaluate(rows) == 1, "search")
    browser.evaluate("document.querySelector('.call').open = true")
    browser.evaluate("new Promise((done) => setTimeout(done, 50))")
    expect(browser.evaluate(COUNT.format(".waterfall .phase")) >= 3, "waterfall")
    colors = browser.evaluate(
        "Array.from(document.querySelectorAll('.phase')).map((bar) => getComputedStyle(bar).fill)")
    # An unknown color name is black.
    expect(colors and not any(color == "rgb(0, 0, 0)" for color in colors), colors)
    expect(browser.evaluate(COUNT.format(".exchange")) == 3, "exchanges")
    if screenshot:
        browser.size(900, 1280)
        browser.screenshot(screenshot)
        browser.size(1180, 1400)
    choose(browser, "search", "no such call", "input")
    expect(browser.evaluate(rows) == 0, "nothing is found")
    choose(browser, "search", "items /39", "input")
    expect(browser.evaluate(rows) == 1, "two words")
    choose(browser, "search", "", "input")
    choose(browser, "outcome", "bad", "change")
    expect(browser.evaluate(rows) == 5, "failed", browser.evaluate(rows))
    choose(browser, "outcome", "warn", "change")
    expect(browser.evaluate(rows) == 1, "4xx", browser.evaluate(rows))
    choose(browser, "outcome", "", "change")
    choose(browser, "method", "POST", "change")
    expect(browser.evaluate(rows) == 1, "method")
    choose(browser, "method", "", "change")
    choose(browser, "order", "slowest", "change")
    expect(browser.evaluate(rows) == 50, "order")
    expect("hunter2" not in browser.evaluate("document.documentElement.outerHTML"), "secrets")
    look(browser, "calls.html")

    check_page(browser, "hostile.html", 4)
    browser.evaluate("document.querySelectorAll('.call').forEach((call) => { call.open = true; })")
    browser.evaluate("new Promise((done) => setTimeout(done, 200))")
    browser.evaluate("document.querySelectorAll('.exchange').forEach((box) => { box.open = true; })")
    expect(browser.evaluate("window.pwned === undefined"), "something ran")
    expect(browser.evaluate(COUNT.format("img, b > b, script:not(#data)")) == 1, "something became an element")
    expect(browser.evaluate("document.title").startswith("</title><script>"), browser.evaluate("document.title"))
    shown = browser.evaluate("document.body.innerText")
    for text in ("</script><script>window.pwned=1</script>", "<img src=x onerror=\"window.pwned=1\">'\"`${window.pwned=1}"):
        expect(text in shown, "it is not shown", text)
    look(browser, "hostile.html")
    expect(browser.problems == [], "hostile.html", browser.problems)


def check_crowd(browser):
    """Totals equal to those of the metrics, and a note wherever data is omitted."""
    browser.open(FOLDER / "crowd.html")
    expect(browser.problems == [], "crowd.html", browser.problems)

    def texts(selector):
        return browser.evaluate(
            f"Array.from(document.querySelectorAll({selector!r})).map((node) => node.textContent)")

    # An accepted 404 is not a failure; a cancelled or queued call is not one either, and has no latency.
    tiles = texts(".tile b")
    expect(tiles == ["26", "0", "0", "50.0 %", "10 ms", "30 ms", "30 ms", "30 ms"], tiles)
    expect(texts("#statuses .rest") == ["6 more kinds"], texts("#statuses .rest"))
    expect(texts("#errors .rest") == ["2 more kinds"], texts("#errors .rest"))
    expect(texts("#timeline .rest") == ["5 more breakers"], texts("#timeline .rest"))
    lanes = texts("#timeline svg text > title")
    expect(lanes[:3] == ["offline queue", "connection, warnings", "breaker 0"] and len(lanes) == 12, lanes)
    left = texts("#events .rest")
    expect(left == ["116 older events not shown", "84 older events not kept"], left)
    expect(browser.evaluate(COUNT.format(".event")) == 500, "events")
    check_fit(browser, "crowd.html")


def check_output():
    """A line for each step of the demo and the totals, or the events of each step."""
    summary, story = [(FOLDER / name).read_text() for name in ("demo.txt", "story.txt")]
    steps = [line for line in summary.splitlines() if line.startswith("ok ")]
    expect(len(steps) > 20 and f"\n{len(steps)} of {len(steps)} steps did what they say, in " in summary, "steps", summary)
    expect("·" not in summary and len(summary.splitlines()) < len(steps) + 8, "a story", summary)
    expect("retrying   attempt 2" in story and story.count("   ok  ") == len(steps), "no story", story)


def check_demo(browser):
    """Virtual time is shown as such, and is in no chart; a queued call is no error; no value flattens the others."""
    check_page(browser, "demo.html")
    virtual = browser.evaluate(
        "JSON.parse(document.getElementById('data').textContent).calls.filter((call) => call.isVirtual).length")
    expect(virtual > 10, "virtual calls", virtual)
    expect(browser.evaluate(COUNT.format(".call .number small")) == virtual, "rows in virtual time")
    about = browser.evaluate("document.getElementById('about').textContent")
    expect(f"{virtual} calls in virtual time" in about, about)
    drawn = browser.evaluate("Array.from(document.querySelectorAll('#histogram title'))"
                             ".map((node) => Number(node.textContent.match(/: (\\d+) call/)[1]))")
    expect(sum(drawn) < browser.evaluate(COUNT.format(".call")) - virtual, "histogram", drawn)
    heights = browser.evaluate("Array.from(document.querySelectorAll('#statuses rect'))"
                               ".map((node) => node.width.baseVal.value)")
    expect(min(heights) >= 20, "statuses", heights)
    errors = browser.evaluate("document.getElementById('errors').textContent")
    expect("queued" not in errors and "circuit open" in errors, errors)


def look(browser, name):
    """Light and dark differ, and a phone needs no horizontal scrolling."""
    colors = set()
    for scheme in ("light", "dark"):
        browser.media(scheme)
        colors.add(browser.evaluate("getComputedStyle(document.body).backgroundColor"))
    expect(len(colors) == 2, name, colors)
    browser.size(360, 740, mobile=True)
    widths = browser.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
    expect(widths[0] <= 360 and widths[1] <= 360, name, widths)
    browser.size(1180, 1400)
    browser.media("light")


check_calls()
check_output()
har("hostile.har")
with Browser() as page:
    check_demo(page)
    check_crowd(page)
    check_reports(page, sys.argv[sys.argv.index("--screenshot") + 1] if "--screenshot" in sys.argv else None)
print(f"recording: {checks} checks hold")
