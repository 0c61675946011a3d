// SPDX-License-Identifier: MIT

extension ReportPage {
    /// The functions that all parts of the script share. Only they create nodes; texts are set as text, never as HTML.
    static let tools = #"""
        const SVG = "http://www.w3.org/2000/svg";

        function add(parent, name, attributes, text) {
          const node = document.createElement(name);
          for (const key in attributes || {}) node.setAttribute(key, attributes[key]);
          if (text !== undefined && text !== null) node.textContent = text;
          parent.appendChild(node);
          return node;
        }

        function draw(parent, name, attributes, text) {
          const node = document.createElementNS(SVG, name);
          for (const key in attributes || {}) node.setAttribute(key, attributes[key]);
          if (text !== undefined && text !== null) node.textContent = text;
          parent.appendChild(node);
          return node;
        }

        function clear(node) {
          while (node.firstChild) node.removeChild(node.firstChild);
        }

        function time(milliseconds) {
          if (milliseconds === null || milliseconds === undefined) return "…";
          if (milliseconds >= 3600000) return (milliseconds / 3600000).toFixed(1) + " h";
          if (milliseconds >= 60000) return (milliseconds / 60000).toFixed(1) + " min";
          if (milliseconds >= 1000) return (milliseconds / 1000).toFixed(2) + " s";
          if (milliseconds >= 10) return Math.round(milliseconds) + " ms";
          return milliseconds.toFixed(milliseconds >= 1 ? 1 : 2) + " ms";
        }

        function clock(date, withDate) {
          const value = new Date(date);
          if (isNaN(value)) return "?";
          const text = value.toISOString();
          return withDate ? text.slice(0, 10) + " " + text.slice(11, 19) + " UTC" : text.slice(11, 23);
        }

        function short(text, length) {
          return text.length > length ? text.slice(0, length) + "…" : text;
        }

        function count(number, noun) {
          return number + " " + noun + (number === 1 ? "" : "s");
        }

        function percentile(sorted, share) {
          if (sorted.length === 0) return null;
          return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(share * sorted.length) - 1))];
        }

        function ascending(left, right) {
          return left - right;
        }

        function isDone(call) {
          return call.latency !== null && call.latency !== undefined;
        }

        // As in the metrics: these calls count neither as failures nor in latencies.
        const NO_VERDICT = ["cancelled", "queuedOffline"];

        function hasVerdict(call) {
          return isDone(call) && !(call.error && NO_VERDICT.includes(call.error.kind));
        }

        // The calls whose durations are comparable: the measured ones. In a recording of a test's clock alone, all.
        function timed(report) {
          const done = report.calls.filter(hasVerdict);
          const measured = done.filter((call) => !call.isVirtual);
          return measured.length ? measured : done;
        }

        // Sizes as shares of the largest value. The scale is logarithmic where that value would flatten the others.
        function scale(values) {
          const sorted = values.filter((value) => value > 0).sort(ascending);
          const most = sorted.length ? sorted[sorted.length - 1] : 1;
          const isLogarithmic = sorted.length > 0 && most > 20 * percentile(sorted, 0.25);
          const low = isLogarithmic ? Math.log10(sorted[0] / 2) : 0;
          const high = Math.log10(most);
          const share = (value) => value <= 0 ? 0 : isLogarithmic ? (Math.log10(value) - low) / (high - low) : value / most;
          const ticks = [];
          const step = Math.max(1, Math.ceil((high - low) / 6));
          for (let power = Math.ceil(low); isLogarithmic && power < high; power += step) ticks.push(Math.pow(10, power));
          return { most: most, isLogarithmic: isLogarithmic, share: share, ticks: isLogarithmic ? ticks : [0] };
        }

        // Reports how many items are not shown.
        function rest(parent, number, noun, what) {
          if (number > 0) add(parent, "p", { class: "dim rest" }, count(number, noun) + (what || ""));
        }

        function tone(call) {
          if (!hasVerdict(call)) return "idle";
          // The color of an error with a status is that of the status.
          if (call.error && !(call.status >= 400)) return "bad";
          return toneOf(call.status);
        }

        function toneOf(status) {
          if (status === null || status === undefined) return "bad";
          if (status < 200) return "note";
          if (status < 300) return "good";
          if (status < 400) return "note";
          return status < 500 ? "warn" : "bad";
        }

        function outcome(call) {
          if (!isDone(call)) return "under way";
          if (call.status) return String(call.status);
          return call.error ? kindName(call.error.kind) : "done";
        }

        const KINDS = { queuedOffline: "queued", sslPinningFailed: "pinning failed", graphQL: "GraphQL", http: "HTTP status" };

        // "deadlineExceeded" as "deadline exceeded".
        function kindName(kind) {
          return KINDS[kind] || kind.replace(/[a-z](?=[A-Z])/g, "$& ").replace(/[A-Z](?=[a-z])/g, (letter) => letter.toLowerCase());
        }

        function legend(parent, entries) {
          const box = add(parent, "div", { class: "legend" });
          for (const [name, color] of entries) {
            const item = add(box, "span");
            const mark = add(item, "i");
            mark.style.background = "var(--" + color + ")";
            item.appendChild(document.createTextNode(name));
          }
        }

        """#
}
