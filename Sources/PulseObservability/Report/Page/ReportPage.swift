// SPDX-License-Identifier: MIT

/// The static parts of the page, in their order.
enum ReportPage {
    /// The page may not load anything: its content is untrusted.
    static func head(title: String) -> String {
        """
        <!DOCTYPE html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="color-scheme" content="light dark">
        <meta name="referrer" content="no-referrer">
        <meta http-equiv="Content-Security-Policy" \
        content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; \
        form-action 'none'">
        <title>\(title)</title>
        <style>

        """
    }

    static func body(title: String) -> String {
        """

        </style>
        </head>
        <body>
        <header>
        <h1>\(title)</h1>
        <p id="about"></p>
        </header>
        <noscript><p>This page needs JavaScript to show its content.</p></noscript>
        <main>
        <section id="tiles" aria-label="Totals"></section>
        <section id="charts" aria-label="Charts"></section>
        <section aria-label="Calls">
        <h2>Calls</h2>
        <div id="controls">
        <input id="search" type="search" placeholder="Search URL, route, header, error" aria-label="Search">
        <select id="outcome" aria-label="Outcome"></select>
        <select id="method" aria-label="Method"></select>
        <select id="order" aria-label="Order"></select>
        <output id="shown"></output>
        </div>
        <div id="calls"></div>
        <button id="more" type="button" hidden>Show more</button>
        </section>
        <section aria-label="Events">
        <h2>Events</h2>
        <div id="events"></div>
        </section>
        </main>
        <script id="data" type="application/json">
        """
    }

    static let betweenDataAndScript = "</script>\n<script>\n"

    static let script = "\"use strict\";\n" + tools + charts + details + list + "\nstart();\n"

    static let end = "</script>\n</body>\n</html>\n"

    /// Escapes text for HTML.
    static func escaped(_ text: String) -> String {
        text.unicodeScalars.reduce(into: "") { output, scalar in
            switch scalar {
            case "&": output += "&amp;"
            case "<": output += "&lt;"
            case ">": output += "&gt;"
            case "\"": output += "&quot;"
            case "'": output += "&#39;"
            default: output.unicodeScalars.append(scalar)
            }
        }
    }
}
