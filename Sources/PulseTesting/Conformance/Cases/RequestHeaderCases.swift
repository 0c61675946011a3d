// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting

extension TransportConformance.Case {
    static let requestHeaders: [Self] = [
        .arriving(
            "header values arrive unchanged",
            [
                "X-Spaces": "two  spaces, \ta tab", "X-Quotes": #""quoted \" and 'single'""#,
                "X-Signs": "a=b;c=%20&<>{}|\\^`~",
                "User-Agent": "App/1.0 Test", "Accept": "text/plain;q=0.5, */*;q=0.1", "Accept-Language": "de",
                "Authorization": "Bearer a.b.c", "Cookie": "a=1; b=2",
            ]),
        .arriving("header values in UTF-8 arrive unchanged", ["X-Text": "Grüße, 世界 🌍"]),
        .arriving("an empty header value arrives empty", ["X-Empty": ""]),
        .arriving(
            "a header value of 32 KB arrives whole", ["X-Long": String(repeating: "0123456789abcdef", count: 2048)]),
        .arriving(
            "200 header fields arrive",
            Dictionary(uniqueKeysWithValues: (0..<200).map { ("X-Field-\($0)", "value \($0)") })),
        .semantics("the request target keeps its encoding") { _ in
            .status(200)
        } verify: { stage in
            let target = "/a%2Fb/%E4%B8%96/c+d/e;f=g/?q=%26%3D%20+&empty=&flag&q=2"
            _ = try await stage.get(target + "#fragment")
            try Check.equal(stage.onlyRequest().target, target, "the target that arrived")
        },
        .semantics("no header field is added that the client decides about") { _ in
            .status(200)
        } verify: { stage in
            _ = try await stage.get()
            let headers = try stage.onlyRequest().headers
            for name in [
                "Cookie", "Authorization", "Cache-Control", "Pragma", "If-None-Match", "If-Modified-Since",
                "Content-Type", "Referer", "Origin", "Expect", "Range",
            ] {
                try Check.equal(headers[name], nil, "the \(name) that arrived")
            }
        },
    ]

    private static func arriving(_ name: String, _ headers: [String: String]) -> Self {
        .semantics(name) { _ in
            .status(200)
        } verify: { stage in
            _ = try await stage.send(stage.request(headers: headers))
            let arrived = try stage.onlyRequest().headers
            for (name, value) in headers {
                try Check.equal(arrived.values(for: name), [value], "the \(name) that arrived")
            }
        }
    }
}
