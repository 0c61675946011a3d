// SPDX-License-Identifier: MIT

extension ReportPage {
    /// One call: its waterfall, its requests and responses.
    static let details = #"""
        const PHASES = [
          ["queued", "queued"], ["nameResolution", "name resolution"], ["connecting", "connecting"], ["securing", "TLS"],
          ["sending", "sending"], ["waiting", "waiting"], ["receiving", "receiving"],
        ];

        // A socket may stay open for hours after its handshake, which would have no width beside them.
        const SOCKET = ["socketStateChanged", "socketDisconnected"];

        // A request that the transport did not measure is one wait.
        function phasesOf(line) {
          return line.phases.length
            ? line.phases : [{ kind: "waiting", start: line.start, end: line.end, time: line.time }];
        }

        function phaseBars(svg, line, x, y, height) {
          for (const phase of phasesOf(line)) {
            const begin = x(phase.start);
            const bar = draw(svg, "rect", {
              class: "phase", x: begin.toFixed(2), y: y, width: Math.max(1, x(phase.end) - begin).toFixed(2),
              height: height, fill: "var(--" + phase.kind + ")",
            });
            draw(bar, "title", {}, phase.kind + " " + time(phase.time));
          }
        }

        function requestLines(call) {
          return call.chart.lines.filter((line) => line.kind === "request");
        }

        function strip(parent, call) {
          const box = add(parent, "span", { class: "strip" });
          const svg = draw(box, "svg", { viewBox: "0 0 150 12", preserveAspectRatio: "none", "aria-hidden": "true" });
          for (const line of requestLines(call)) phaseBars(svg, line, (share) => 150 * share, 0, 12);
        }

        const MARK_NAMES = {
          retrying: "waits for a retry", retryGivenUp: "retry given up", redirected: "redirected", rateLimited: "rate limit",
          authRefreshStarted: "refreshing the token", authRefreshSucceeded: "token refreshed",
          authRefreshFailed: "refresh failed", sessionExpired: "session expired", cacheHit: "from the cache",
          cacheMiss: "not in the cache", cacheRevalidated: "revalidated by the server", cacheStored: "stored in the cache",
        };

        function waterfall(parent, call) {
          const total = call.chart.duration;
          const lines = call.chart.lines.filter((line) => line.kind !== "call" && !SOCKET.includes(line.title));
          if (lines.length === 0) return;
          const svg = draw(add(parent, "div", { class: "scroll" }), "svg", {
            class: "waterfall", viewBox: "0 0 860 " + (lines.length * 24 + 22), role: "img", "aria-label": "Waterfall",
          });
          const x = (share) => 210 + 560 * share;
          for (const share of [0, 0.25, 0.5, 0.75, 1]) {
            draw(svg, "line", { class: "axis", x1: x(share), x2: x(share), y1: 0, y2: lines.length * 24 });
            draw(svg, "text", { x: x(share), y: lines.length * 24 + 14, "text-anchor": "middle" }, time(total * share));
          }
          lines.forEach((line, row) => {
            const y = row * 24 + 4;
            const isMark = line.kind === "mark";
            const name = isMark ? MARK_NAMES[line.title] || line.title : line.title + ": " + line.detail;
            draw(svg, "text", { x: 200, y: y + 12, "text-anchor": "end" }, short(name, 34));
            if (!isMark) {
              phaseBars(svg, line, x, y, 16);
              draw(svg, "text", { x: x(line.end) + 6, y: y + 12 }, time(line.time));
              return;
            }
            const width = Math.max(2, x(line.end) - x(line.start));
            const bar = draw(svg, "rect", { x: x(line.start), y: y + 5, width: width, height: 6, fill: "var(--idle)" });
            draw(bar, "title", {}, time(line.time) + (line.detail ? ": " + short(line.detail, 300) : ""));
            const wait = total * (line.end - line.start);
            if (wait > 0) draw(svg, "text", { x: x(line.end) + 6, y: y + 12 }, time(wait));
          });
          const kinds = requestLines(call).flatMap((line) => phasesOf(line).map((phase) => phase.kind));
          legend(parent, PHASES.filter(([kind]) => kinds.includes(kind)).map(([kind, name]) => [name, kind]));
        }

        function pairs(parent, entries) {
          const list = add(parent, "dl");
          for (const [name, value] of entries) {
            if (value === null || value === undefined || value === "") continue;
            add(list, "dt", {}, short(String(name), 200));
            add(list, "dd", {}, String(value));
          }
        }

        function block(parent, title, text, note) {
          if (!text && !note) return;
          add(parent, "h4", {}, title + (note ? " (" + note + ")" : ""));
          if (text) add(parent, "pre", {}, pretty(text));
        }

        // For display only. Large numbers in JSON would lose digits, so such texts are left unchanged.
        function pretty(text) {
          if (text.length > 100000 || !/^\s*[[{]/.test(text) || /\d{16}/.test(text)) return text;
          try {
            return JSON.stringify(JSON.parse(text), null, 2);
          } catch (error) {
            return text;
          }
        }

        function exchangeDetail(parent, exchange, index, isOpen) {
          const box = add(parent, "details", { class: "exchange" });
          if (isOpen) box.open = true;
          const summary = add(box, "summary");
          add(summary, "b", {}, (index + 1) + ". ");
          const status = exchange.status || (exchange.error ? kindName(exchange.error.kind) : "no response yet");
          add(summary, "span", { class: "status " + (exchange.status ? toneOf(exchange.status) : "bad") }, String(status));
          summary.appendChild(document.createTextNode(" " + exchange.method + " " + short(exchange.url, 300)));
          pairs(box, [
            ["URL", exchange.url], ["Attempt", exchange.attempt], ["Redirect", exchange.hop || null],
            ["Began after", time(exchange.offset)], ["Took", exchange.duration === null ? null : time(exchange.duration)],
            ["Error", exchange.error ? exchange.error.kind + ": " + exchange.error.message : null],
            ["Came from", exchange.origin], ["Protocol", exchange.version], ["Address", exchange.address],
            ["Connection", exchange.isReused === null || exchange.isReused === undefined ? null
              : exchange.isReused ? "reused" : "new"],
          ]);
          if (exchange.requestHeaders.length) {
            add(box, "h4", {}, "Request headers");
            pairs(box, exchange.requestHeaders);
          }
          block(box, "Request body", exchange.requestBody.text, exchange.requestBody.note);
          if (exchange.responseHeaders.length) {
            add(box, "h4", {}, "Response headers");
            pairs(box, exchange.responseHeaders);
          }
          if (exchange.responseBody) block(box, "Response body", exchange.responseBody.text, exchange.responseBody.note);
          block(box, "curl", exchange.curl);
        }

        function socketStates(parent, call) {
          const marks = call.marks.filter((mark) => SOCKET.includes(mark.kind));
          if (marks.length === 0) return;
          add(parent, "h4", {}, "Socket");
          pairs(parent, marks.map((mark) => ["+" + time(mark.offset), mark.detail]));
        }

        function detail(parent, call) {
          const box = add(parent, "div", { class: "detail" });
          pairs(box, [
            ["Route", call.route], ["Host", call.host], ["Started", clock(call.start, true)],
            [hasVerdict(call) ? "Error" : "Ended", call.error ? call.error.kind + ": " + call.error.message : null],
            ["Came from", call.origin],
            ["Trace", call.trace], ["Call", call.id],
          ]);
          add(box, "h4", {}, call.isVirtual ? "Waterfall, in virtual time" : "Waterfall");
          waterfall(box, call);
          socketStates(box, call);
          call.exchanges.forEach((exchange, index) => {
            exchangeDetail(box, exchange, index, index === call.exchanges.length - 1);
          });
          if (call.omitted) add(box, "p", { class: "dim" }, count(call.omitted, "request") + " more, not kept.");
        }

        """#
}
