// SPDX-License-Identifier: MIT

extension ReportPage {
    /// The totals and the charts over all calls.
    static let charts = #"""
        function tiles(report) {
          const box = document.getElementById("tiles");
          const done = report.calls.filter(hasVerdict);
          const failed = done.filter((call) => call.error).length;
          const latencies = timed(report).map((call) => call.latency).sort(ascending);
          const exchanges = report.calls.reduce((sum, call) => sum + call.exchanges.length + call.omitted, 0);
          const retries = report.calls.reduce(
            (sum, call) => sum + call.exchanges.filter((exchange) => exchange.attempt > 1).length, 0);
          const rate = done.length ? (100 * (done.length - failed) / done.length).toFixed(1) + " %" : "–";
          const values = [
            [report.calls.length, "calls"], [exchanges, "requests"], [retries, "retries"], [rate, "without failure"],
            [time(percentile(latencies, 0.5)), "p50"], [time(percentile(latencies, 0.95)), "p95"],
            [time(percentile(latencies, 0.99)), "p99"], [time(percentile(latencies, 1)), "slowest"],
          ];
          for (const [value, name] of values) {
            const tile = add(box, "div", { class: "tile" });
            add(tile, "b", {}, String(value));
            add(tile, "span", {}, name);
          }
        }

        function chart(id, title, width, height, isWide) {
          const box = document.getElementById("charts");
          const card = add(box, "div", { class: isWide ? "chart wide" : "chart", id: id });
          add(card, "h3", {}, title);
          if (!width) return { card: card };
          const svg = draw(isWide ? add(card, "div", { class: "scroll" }) : card, "svg", { viewBox: "0 0 " + width + " " + height, role: "img", "aria-label": title });
          return { card: card, svg: svg, width: width, height: height };
        }

        function markScale(target, scale) {
          if (scale.isLogarithmic) add(target.card.querySelector("h3"), "small", {}, ", logarithmic");
        }

        function nothing(card) {
          add(card, "div", { class: "empty" }, "Nothing recorded.");
        }

        // Steps of 1, 2 and 5, so that the range of a bar is readable.
        function steps(low, high) {
          const edges = [];
          let power = Math.floor(Math.log10(low));
          while (edges.length < 40) {
            for (const digit of [1, 2, 5]) edges.push(digit * Math.pow(10, power));
            power += 1;
            if (Math.pow(10, power) > high * 10) break;
          }
          let first = 0;
          while (first + 1 < edges.length && edges[first + 1] <= low) first += 1;
          let last = first + 1;
          while (last < edges.length - 1 && edges[last] <= high) last += 1;
          return edges.slice(first, last + 1);
        }

        function histogram(report) {
          const target = chart("histogram", "Latency", 420, 190);
          const values = timed(report).map((call) => Math.max(0.01, call.latency)).sort(ascending);
          if (values.length === 0) return nothing(target.card);
          const edges = steps(values[0], values[values.length - 1]);
          const counts = edges.slice(1).map(() => 0);
          for (const value of values) {
            let index = 0;
            while (index + 2 < edges.length && value >= edges[index + 1]) index += 1;
            counts[index] += 1;
          }
          const heights = scale(counts);
          markScale(target, heights);
          const width = 400 / counts.length;
          counts.forEach((number, index) => {
            const height = number ? Math.max(2, 140 * heights.share(number)) : 0;
            const bar = draw(target.svg, "rect", {
              class: "bar", x: 10 + index * width + 1, y: 160 - height, width: Math.max(1, width - 2), height: height,
              rx: 2, fill: "var(--accent)",
            });
            draw(bar, "title", {}, time(edges[index]) + " to " + time(edges[index + 1]) + ": " + count(number, "call"));
            if (number && width >= 18) {
              draw(target.svg, "text", { x: 10 + (index + 0.5) * width, y: 155 - height, "text-anchor": "middle" }, number);
            }
          });
          draw(target.svg, "line", { class: "axis", x1: 10, x2: 410, y1: 160.5, y2: 160.5 });
          const every = Math.ceil(edges.length / 6);
          edges.forEach((edge, index) => {
            if (index % every) return;
            const anchor = index === 0 ? "start" : index === edges.length - 1 ? "end" : "middle";
            draw(target.svg, "text", { x: 10 + index * width, y: 178, "text-anchor": anchor }, time(edge));
          });
        }

        // The highest first, so that of equal values the lowest is drawn on top.
        const QUANTILES = [["p99", 0.99, "bad"], ["p95", 0.95, "warn"], ["p50", 0.5, "good"]];

        function percentiles(report) {
          const target = chart("percentiles", "Percentiles over time", 420, 190);
          const calls = timed(report);
          if (calls.length === 0) return nothing(target.card);
          const [from, to] = span(calls.map((call) => call.start));
          const buckets = Math.max(1, Math.min(24, Math.ceil(calls.length / 5)));
          const groups = Array.from({ length: buckets }, () => []);
          for (const call of calls) {
            const index = Math.floor((call.start - from) / (to - from) * buckets);
            groups[Math.max(0, Math.min(buckets - 1, index))].push(call.latency);
          }
          groups.forEach((group) => group.sort(ascending));
          const heights = scale(groups.flatMap((group) => QUANTILES.map(([, share]) => percentile(group, share) || 0)));
          markScale(target, heights);
          const level = (value) => 160 - 140 * Math.max(0, heights.share(value));
          for (const tick of heights.ticks) {
            draw(target.svg, "line", { class: "axis", x1: 50, x2: 410, y1: level(tick) + 0.5, y2: level(tick) + 0.5 });
            // The largest value has its own label.
            if (level(tick) < 34) continue;
            draw(target.svg, "text", { x: 46, y: level(tick) + 3, "text-anchor": "end" }, tick ? time(tick) : "0");
          }
          for (const [name, share, color] of QUANTILES) {
            const points = [];
            groups.forEach((group, index) => {
              const value = percentile(group, share);
              if (value === null) return;
              const x = 50 + (index + 0.5) / buckets * 360;
              points.push([x, level(value), value, index]);
            });
            draw(target.svg, "polyline", {
              class: "curve", points: points.map((point) => point[0].toFixed(1) + "," + point[1].toFixed(1)).join(" "),
              fill: "none", stroke: "var(--" + color + ")", "stroke-width": 2, "stroke-linejoin": "round",
            });
            for (const [x, y, value, index] of points) {
              const dot = draw(target.svg, "circle", { cx: x, cy: y, r: 3, fill: "var(--" + color + ")" });
              const begin = clock(from + (to - from) * index / buckets);
              draw(dot, "title", {}, name + " " + time(value) + ", from " + begin);
            }
          }
          draw(target.svg, "line", { class: "axis", x1: 50, x2: 410, y1: 160.5, y2: 160.5 });
          draw(target.svg, "text", { x: 46, y: 24, "text-anchor": "end" }, time(heights.most));
          draw(target.svg, "text", { x: 50, y: 178 }, clock(from));
          draw(target.svg, "text", { x: 410, y: 178, "text-anchor": "end" }, clock(to));
          legend(target.card, QUANTILES.map(([name, , color]) => [name, color]));
        }

        function span(dates) {
          const from = dates.reduce((least, date) => Math.min(least, date), Infinity);
          const to = dates.reduce((most, date) => Math.max(most, date), -Infinity);
          return [from, Math.max(to, from + 1)];
        }

        function bars(id, title, entries) {
          const rows = entries.slice(0, 10);
          const target = chart(id, title, 420, Math.max(1, rows.length) * 26 + 6);
          if (rows.length === 0) {
            target.svg.remove();
            return nothing(target.card);
          }
          const lengths = scale(rows.map((row) => row[1]));
          markScale(target, lengths);
          rows.forEach(([name, number, color], index) => {
            const y = index * 26 + 4;
            const length = Math.max(2, 230 * lengths.share(number));
            draw(target.svg, "text", { x: 130, y: y + 14, "text-anchor": "end" }, short(name, 22));
            const bar = draw(target.svg, "rect", {
              class: "bar", x: 138, y: y, width: length, height: 18, rx: 3,
              fill: "var(--" + color + ")",
            });
            draw(bar, "title", {}, name + ": " + number);
            draw(target.svg, "text", { x: 144 + length, y: y + 14 }, number);
          });
          rest(target.card, entries.length - rows.length, "more kind");
        }

        function tally(names) {
          const counts = new Map();
          for (const [name, color] of names) {
            const known = counts.get(name);
            if (known) known[1] += 1; else counts.set(name, [name, 1, color]);
          }
          return Array.from(counts.values()).sort((left, right) => right[1] - left[1]);
        }

        function breakdowns(report) {
          const done = report.calls.filter(isDone);
          bars("statuses", "How calls ended", tally(done.map((call) => [outcome(call), tone(call)])));
          const failed = done.filter((call) => hasVerdict(call) && call.error);
          bars("errors", "Errors", tally(failed.map((call) => [kindName(call.error.kind), tone(call)])));
        }

        const BREAKER = { breakerOpened: "bad", breakerHalfOpened: "warn", breakerClosed: "good" };
        const MARKS = {
          queueEnqueued: "note", queueDraining: "idle", queueDelivered: "good", queueFailed: "warn", queueExpired: "warn",
          queueDeadLettered: "bad", connectivity: "note", pinningFailed: "bad", warning: "warn",
        };

        // The queue and the connection come first, so that many breakers cannot displace them. Each breaker has
        // a lane in the color of its state.
        function lanes(report) {
          const names = new Map([["offline queue", []], ["connection, warnings", []]]);
          for (const event of report.events) {
            const name = BREAKER[event.kind] ? "breaker " + event.subject
              : event.kind.startsWith("queue") ? "offline queue" : "connection, warnings";
            if (!names.has(name)) names.set(name, []);
            names.get(name).push(event);
          }
          const found = Array.from(names.entries()).filter(([, events]) => events.length);
          const rows = found.slice(0, 12);
          const target = chart("timeline", "Breakers and queue", 860, Math.max(1, rows.length) * 28 + 24, true);
          if (rows.length === 0) {
            target.svg.remove();
            return nothing(target.card);
          }
          const dates = report.events.map((event) => event.date).concat(report.calls.map((call) => call.start));
          const [from, to] = span(dates);
          const x = (date) => 200 + 650 * (date - from) / (to - from);
          rows.forEach(([name, events], row) => {
            const y = row * 28 + 6;
            draw(draw(target.svg, "text", { x: 192, y: y + 12, "text-anchor": "end" }, short(name, 30)), "title", {}, name);
            draw(target.svg, "line", { class: "axis", x1: 200, x2: 850, y1: y + 8, y2: y + 8 });
            events.forEach((event, index) => {
              const color = BREAKER[event.kind] || MARKS[event.kind] || "idle";
              const text = clock(event.date) + " " + event.kind + " " + short(event.subject, 200);
              if (BREAKER[event.kind]) {
                const until = index + 1 < events.length ? events[index + 1].date : to;
                const bar = draw(target.svg, "rect", {
                  class: "lane", x: x(event.date), y: y, width: Math.max(3, x(until) - x(event.date)), height: 16, rx: 2,
                  fill: "var(--" + color + ")",
                });
                draw(bar, "title", {}, text);
              } else {
                const dot = draw(target.svg, "circle", {
                  class: "lane", cx: x(event.date), cy: y + 8, r: 5, fill: "var(--" + color + ")",
                });
                draw(dot, "title", {}, text);
              }
            });
          });
          const bottom = rows.length * 28 + 18;
          draw(target.svg, "text", { x: 200, y: bottom }, clock(from));
          draw(target.svg, "text", { x: 850, y: bottom, "text-anchor": "end" }, clock(to));
          legend(target.card, [["open, failed", "bad"], ["half open, expired", "warn"], ["closed, delivered", "good"]]);
          rest(target.card, found.length - rows.length, "more breaker");
        }

        """#
}
