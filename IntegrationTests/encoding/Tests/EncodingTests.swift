// SPDX-License-Identifier: MIT

import PulseKit
import PulseTesting
import Testing

/// Run by `IntegrationTests/encoding/run`; skipped without its server.
@Suite(.enabled(if: EncodingServer.url != nil), .timeLimit(.minutes(5)))
struct EncodingTests {
    static let hostile = [
        "plain", "", " ", "a b+c", "&=?#;/", "%", "%20%zz%41", "\"quoted\"", "'", "\\", "\r\n", "\u{0}", "\u{7F}\t",
        "caf\u{E9} \u{1F600} e\u{301}", "[k][]", "..", "=?utf-8?q?x?=", String(repeating: "n\u{E9}+&", count: 1_200),
    ]

    @Test
    func aQueryIsParsedToTheEncodedValues() async throws {
        let items = Self.hostile.map { URLQueryItem(name: "n" + $0, value: $0) }
        // Not in one URL: request line and header fields have at most 64,000 bytes.
        for item in items {
            let response = try await EncodingServer.send(Request(.post, "/query").query([item, item]))
            for understood in response.both {
                #expect(understood.query == [[item.name, item.value ?? ""], [item.name, item.value ?? ""]])
            }
        }
    }

    @Test
    func aFormIsParsedToTheEncodedValues() async throws {
        let items = Self.hostile.map { URLQueryItem(name: "n" + $0, value: $0) }
        let response = try await EncodingServer.send(Request(.post, "/form").body(.formURLEncoded(items)))
        for understood in response.both {
            #expect(understood.form == items.map { [$0.name, $0.value ?? ""] })
        }
    }

    @Test
    func anEncodableFormIsParsedToTheEncodedValues() async throws {
        struct Order: Encodable, Sendable {
            var note = "50% & more+"
            var tags = ["b c", "a"]
            var address = ["street": "M\u{FC}hlweg 1"]
            var isGift = true
        }
        let response = try await EncodingServer.send(Request(.post, "/form").body(.formURLEncoded(Order())))
        for understood in response.both {
            #expect(
                understood.form == [
                    ["address[street]", "M\u{FC}hlweg 1"], ["isGift", "true"], ["note", "50% & more+"],
                    ["tags", "b c"], ["tags", "a"],
                ])
        }
    }

    @Test(arguments: hostile.filter { !["", ".."].contains($0) })
    func aTemplateValueIsParsedAsOneSegment(value: String) async throws {
        let response = try await EncodingServer.send(Request(.post, "/a/{value}/b", path: ["value": value]))
        #expect(response.standardLibrary.segments == ["", "a", value, "b"])
        // WSGI delivers the path decoded, so an encoded slash looks like any other.
        #expect(response.werkzeug.segments.joined(separator: "/") == "/a/\(value)/b")
    }

    @Test(arguments: hostile.filter { !$0.contains("\u{0}") && $0 != "\\" && !$0.hasPrefix("=?") })
    func multipartNamesAreParsedLikeABrowsers(name: String) async throws {
        let data = Data("\r\n--x\u{0}".utf8) + [0xFF]
        let form = MultipartFormData(parts: [
            .init(name: name, data: data, filename: name, mimeType: "a/b"), .init(name: name, data: Data("text".utf8)),
        ])
        let response = try await EncodingServer.send(Request(.post, "/multipart").body(.multipart(form)))
        // Browsers escape three characters; Werkzeug unescapes one of them.
        let escaped = name.replacingOccurrences(of: "\r\n", with: "%0D%0A")
        let quoted = escaped.replacingOccurrences(of: "\"", with: "%22")
        let file = Understood.Part(name: quoted, filename: quoted, type: "a/b", data: data)
        let field = Understood.Part(name: quoted, filename: nil, type: nil, data: Data("text".utf8))
        #expect(response.standardLibrary.parts == [file, field])
        let werkzeug = [
            Understood.Part(name: escaped, filename: nil, type: nil, data: Data("text".utf8)),
            Understood.Part(name: escaped, filename: escaped, type: "a/b", data: data),
        ]
        #expect(response.werkzeug.parts == werkzeug)
    }

    @Test
    func filesAreReadByteByByte() async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID())-\u{E9}.png")
        let content = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })
        try content.write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let form = MultipartFormData(parts: [
            .init(name: "before", data: Data("1".utf8)), .init(name: "file", file: file),
            .init(name: "empty", data: Data()), .init(name: "again", file: file, filename: "x.txt"),
        ])
        let response = try await EncodingServer.send(
            Self.collected(Request(.post, "/multipart").body(.multipart(form))))
        let expected: Set = [
            Understood.Part(name: "before", filename: nil, type: nil, data: Data("1".utf8)),
            Understood.Part(name: "file", filename: file.lastPathComponent, type: "image/png", data: content),
            Understood.Part(name: "empty", filename: nil, type: nil, data: Data()),
            Understood.Part(name: "again", filename: "x.txt", type: "text/plain", data: content),
        ]
        for understood in response.both {
            #expect(Set(understood.parts) == expected && understood.parts.count == 4)
        }
    }

    /// The request with its stream body collected, for a transport without streams.
    private static func collected(_ request: Request<Data>) async throws -> Request<EchoedRequest> {
        let mock = MockTransport { PulseResponse(statusCode: 200, request: $0) }
        let configuration = PulseConfiguration().with(\.baseURL, value: URL(string: "http://localhost"))
        _ = try await PulseClient(configuration: configuration, transport: mock).request(request)
        let sent = try #require(mock.transportRequests.first)
        guard case .stream(let stream) = sent.body else { throw PulseError.emptyBody }
        let data = try await stream.make().collect(upTo: 16 << 20)
        #expect(stream.length == Int64(data.count))
        let type = try #require(sent.urlRequest.value(forHTTPHeaderField: "Content-Type"))
        return Request(.post, "/multipart").body(.data(data, contentType: type))
    }
}
