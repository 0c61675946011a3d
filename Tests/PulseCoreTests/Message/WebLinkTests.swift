// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@Suite(.throttled)
struct WebLinkTests {
    private func link(_ fields: [String], _ relation: String = "next") throws -> String? {
        var headers = HTTPHeaders()
        for field in fields { headers.add(name: "Link", value: field) }
        let request = try request(.get, "https://api.example.com/v1/items?page=1#top")
        return PulseResponse(statusCode: 200, headers: headers, request: request).link(relation)?.absoluteString
    }

    private static let cases: [(fields: [String], expected: String?)] = [
        (
            [#"<https://api.example.com/items?page=2>; rel="next", <https://x.example/9>; rel="last""#],
            "https://api.example.com/items?page=2"
        ),
        ([#"</items?page=2>; rel=next"#], "https://api.example.com/items?page=2"),
        ([#"<?page=2>;rel="next""#], "https://api.example.com/v1/items?page=2"),
        ([#"<other/../b>; rel="next""#], "https://api.example.com/v1/b"),
        ([#"<//cdn.example/b>; rel="next""#], "https://cdn.example/b"),
        ([#"</a,b;c>; rel="next""#], "https://api.example.com/a,b;c"),
        ([#"</a>; title="x, </b>; rel=\"next\""; rel="prev", </c>; rel="next""#], "https://api.example.com/c"),
        ([#"</a>; rel="prev next""#], "https://api.example.com/a"),
        ([#"</a>; REL="NEXT""#], "https://api.example.com/a"),
        ([#"</a>; rel=prev; rel=next"#], nil),
        ([#"</a>; anchor="/other"; rel=next"#], nil),
        ([#"</a>; rel=prev"#, #"</b>; rel=next"#], "https://api.example.com/b"),
        ([#"  ,, </a> ; rel = "next" ; x"#], "https://api.example.com/a"),
        ([#"</a b>; rel=next"#], "https://api.example.com/a%20b"),
        ([#"<https://user:secret@api.example.com/a>; rel=next"#], "https://api.example.com/a"),
        ([#"</a>; rel="next"#], "https://api.example.com/a"),
        ([#"</a"#], nil), ([""], nil), ([], nil), (["<>; rel=next"], nil), (["garbage, </a>; rel=next"], nil),
        ([#"</a>; rel="nextest""#], nil), ([#"</a> rel=next, </b>; rel=next"#], "https://api.example.com/b"),
    ]

    @Test(arguments: cases.indices)
    func findsTheLink(index: Int) throws {
        #expect(try link(Self.cases[index].fields) == Self.cases[index].expected, "\(Self.cases[index].fields)")
    }

    @Test func randomFieldsDoNotTrap() throws {
        var random = SplitMix64(seed: 9)
        let pieces = [
            "<", ">", "</a>", ";", ",", "=", "\"", "\\", "rel", "rel=next", " ", "anchor", "é", "%", "#", ":", "/",
        ]
        .map { Array($0.utf8) }
        for _ in 0..<5_000 {
            let text = String(decoding: Splits.input(pieces, upTo: 40, &random), as: UTF8.self)
            _ = try link([text])
        }
    }
}
