// SPDX-License-Identifier: MIT

#if os(Linux)
import PulseCore
import TestSupport
import Testing

@testable import PulseTesting

@Suite(.throttled)
struct BackendResponseTests {
    /// The parts as texts, with adjacent pieces of a body in one.
    private static func parts(_ text: String, toHEAD: Bool = false, step: Int, ends: Bool = false) -> [String] {
        var response = BackendResponse(toHEAD: toHEAD)
        var seen: [String] = []
        var body = ""
        func take(_ response: inout BackendResponse) {
            while let part = response.next() {
                if case .body(let bytes) = part {
                    body += String(decoding: bytes, as: UTF8.self)
                    continue
                }
                if !body.isEmpty { seen.append(body) }
                body = ""
                switch part {
                case .interim(let fields): seen.append("interim " + shown(fields))
                case .head(let fields, let hasBody): seen.append((hasBody ? "head " : "all ") + shown(fields))
                case .body: break
                case .end(let trailers): seen.append("end " + shown(trailers))
                case .malformed: seen.append("malformed")
                }
            }
        }
        let bytes = Data(text.utf8)
        for start in stride(from: 0, to: bytes.count, by: step) {
            response.append(Data(bytes.dropFirst(start).prefix(step)))
            take(&response)
        }
        if ends {
            response.finish()
            take(&response)
        }
        return body.isEmpty ? seen : seen + [body]
    }

    private static func shown(_ fields: [HTTP2FrontField]) -> String {
        fields.map { "\(String(decoding: $0.name, as: UTF8.self))=\($0.text)" }.joined(separator: ";")
    }

    struct Sample: Sendable {
        let text: String
        var toHEAD = false
        var ends = false
        let parts: [String]
    }

    private static let samples = [
        Sample(
            text: "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nX-A:  b \r\n\r\nbody",
            parts: ["head :status=200;content-length=4;x-a=b", "body", "end "]),
        Sample(
            text: "HTTP/1.1 103 Early\r\nLink: a\r\n\r\nHTTP/1.1 204 No\r\n\r\n",
            parts: ["interim :status=103;link=a", "all :status=204", "end "]),
        Sample(
            text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
                + "2;a=b\r\nbo\r\n02\r\ndy\r\n0\r\nX-T: u\r\n\r\n",
            parts: ["head :status=200", "body", "end x-t=u"]),
        Sample(text: "HTTP/1.0 200 OK\r\n\r\nall of it", ends: true, parts: ["head :status=200", "all of it", "end "]),
        Sample(
            text: "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", toHEAD: true,
            parts: ["all :status=200;content-length=9", "end "]),
        Sample(
            text: "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nbody", ends: true,
            parts: ["head :status=200;content-length=9", "body", "malformed"]),
        Sample(
            text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n", ends: true,
            parts: ["head :status=200", "body", "malformed"]),
        Sample(text: "HTTP/1.1 200 OK\r\nContent-Le", ends: true, parts: ["malformed"]),
        Sample(text: "220 mail.test ready\r\n\r\n", parts: ["malformed"]),
        Sample(
            text: "HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\nrest", ends: true,
            parts: ["head :status=101", "rest", "end "]),
        Sample(text: "", ends: true, parts: ["malformed"]),
    ]

    @Test(arguments: samples, [1, 3, 1000])
    private func aResponseHasTheSamePartsInPiecesOfAnySize(sample: Sample, step: Int) {
        let parts = Self.parts(sample.text, toHEAD: sample.toHEAD, step: step, ends: sample.ends)
        #expect(parts == sample.parts)
    }

    @Test func aRequestIsOneOfHTTP1WithAllItsCookies() {
        let fields = [
            HTTP2FrontField(":method", "PUT"), HTTP2FrontField(":path", "/a?b"),
            HTTP2FrontField(":authority", "host:1"),
            HTTP2FrontField("cookie", "a=1"), HTTP2FrontField("x-a", ""), HTTP2FrontField("cookie", "b=2"),
        ]
        let chunked = BackendRequest(fields, isEnd: false)
        #expect(
            String(decoding: chunked.head, as: UTF8.self) == "PUT /a?b HTTP/1.1\r\nHost: host:1\r\nx-a: \r\n"
                + "Cookie: a=1; b=2\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n")
        #expect(chunked.isChunked && !chunked.isHEAD)
        #expect(!BackendRequest(fields, isEnd: true).isChunked)
        #expect(!BackendRequest(fields + [HTTP2FrontField("content-length", "3")], isEnd: false).isChunked)
    }
}
#endif
