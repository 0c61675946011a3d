// SPDX-License-Identifier: MIT

extension ReportPage {
    /// The list of calls with its filters, the list of events, and the entry point.
    static let list = #"""
        const PAGE = 200;

        const OUTCOMES = [
          ["", "All"], ["good", "2xx"], ["note", "1xx, 3xx"], ["warn", "4xx"], ["bad", "Failed, 5xx"],
          ["idle", "Cancelled, queued, under way"],
        ];
        const ORDERS = {
          newest: (left, right) => right.start - left.start,
          oldest: (left, right) => left.start - right.start,
          slowest: (left, right) => left.isVirtual - right.isVirtual || (right.latency || 0) - (left.latency || 0),
        };

        function searchText(call) {
          const parts = [call.method, call.path, call.route, call.host, call.status, call.id, call.trace];
          if (call.error) parts.push(call.error.kind, call.error.message);
          for (const exchange of call.exchanges) {
            parts.push(exchange.url, exchange.status);
            for (const [name, value] of exchange.requestHeaders) parts.push(name, value);
            for (const [name, value] of exchange.responseHeaders) parts.push(name, value);
          }
          return parts.filter((part) => part !== null && part !== undefined).join("\n").toLowerCase();
        }

        function row(parent, call) {
          const item = add(parent, "details", { class: "call", "data-outcome": tone(call) });
          const summary = add(item, "summary");
          add(summary, "b", { class: "method" }, short(call.method, 10));
          add(summary, "span", { class: "status " + tone(call) }, outcome(call));
          const path = add(summary, "span", { class: "path" }, short(call.path || "/", 300));
          add(path, "small", {}, short(call.host, 100));
          const requests = call.exchanges.length + call.omitted;
          add(summary, "span", { class: "requests dim number" }, requests ? count(requests, "request") : "no request");
          const latency = add(summary, "span", { class: "number" }, isDone(call) ? time(call.latency) : "…");
          if (call.isVirtual) add(latency, "small", { title: "The time of a clock that a program advances." }, "virtual");
          strip(summary, call);
          item.addEventListener("toggle", () => {
            if (item.open && item.childElementCount === 1) detail(item, call);
          });
        }

        function callList(report) {
          const box = document.getElementById("calls");
          const more = document.getElementById("more");
          const search = document.getElementById("search");
          const selects = ["outcome", "method", "order"].map((id) => document.getElementById(id));
          const texts = new Map();
          const methods = Array.from(new Set(report.calls.map((call) => call.method))).sort();
          fill(selects[0], OUTCOMES);
          fill(selects[1], [["", "All methods"]].concat(methods.map((method) => [method, short(method, 20)])));
          fill(selects[2], Object.keys(ORDERS).map((name) => [name, name]));
          let found = [];
          let shown = 0;
          function showMore() {
            for (const call of found.slice(shown, shown + PAGE)) row(box, call);
            shown = Math.min(found.length, shown + PAGE);
            more.hidden = shown >= found.length;
          }
          function update() {
            const words = search.value.toLowerCase().split(/\s+/).filter((word) => word);
            const [wanted, method, order] = selects.map((select) => select.value);
            found = report.calls.filter((call) => {
              if (wanted && tone(call) !== wanted) return false;
              if (method && call.method !== method) return false;
              if (words.length === 0) return true;
              if (!texts.has(call)) texts.set(call, searchText(call));
              return words.every((word) => texts.get(call).includes(word));
            }).sort(ORDERS[order]);
            clear(box);
            shown = 0;
            showMore();
            document.getElementById("shown").textContent = found.length + " of " + count(report.calls.length, "call");
            if (found.length === 0) add(box, "div", { class: "empty" }, "No matching calls.");
          }
          search.addEventListener("input", update);
          selects.forEach((select) => select.addEventListener("change", update));
          more.addEventListener("click", showMore);
          update();
        }

        function fill(select, options) {
          for (const [value, name] of options) add(select, "option", { value: value }, name);
        }

        function eventList(report) {
          const box = document.getElementById("events");
          const newest = report.events.slice(-500).reverse();
          for (const event of newest) {
            const line = add(box, "div", { class: "event" });
            add(line, "span", { class: "dim number" }, clock(event.date));
            const color = BREAKER[event.kind] || MARKS[event.kind] || "idle";
            add(line, "span", { class: color }, event.kind);
            add(line, "span", { class: "subject" }, short(event.subject, 2000));
          }
          if (newest.length === 0) add(box, "div", { class: "empty" }, "Nothing recorded.");
          rest(box, report.events.length - newest.length, "older event", " not shown");
          rest(box, report.recordedEvents - report.events.length, "older event", " not kept");
        }

        function start() {
          const report = JSON.parse(document.getElementById("data").textContent);
          const about = document.getElementById("about");
          if (!report) {
            about.textContent = "The recording could not be written.";
            return;
          }
          const starts = report.calls.map((call) => call.start);
          const gone = report.recordedCalls - report.calls.length;
          const virtual = report.calls.filter((call) => call.isVirtual).length;
          about.textContent = (starts.length ? span(starts).map((date) => clock(date, true)).join(" to ") : "No call yet")
            + (gone > 0 ? "; " + count(gone, "older call") + " not kept" : "")
            + (virtual === 0 ? "" : timed(report).some((call) => !call.isVirtual)
              ? "; " + count(virtual, "call") + " in virtual time, left out of the latencies" : "; in virtual time");
          tiles(report);
          histogram(report);
          percentiles(report);
          breakdowns(report);
          lanes(report);
          callList(report);
          eventList(report);
        }

        """#
}
