// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting
import TestSupport
import Testing

@Suite(.throttled)
struct ResponseScriptTests {
    typealias Response = MockServer.Response

    /// The bytes as text, other steps as `<name>`.
    private static func text(of response: Response, to method: HTTPMethod = .get, closing: Bool = false) -> String {
        let script = ResponseScript(response, to: method, closing: closing, isBodyUnread: false)
        let steps = script.steps.map { step in
            switch step.action {
            case .bytes(let bytes): String(decoding: bytes, as: UTF8.self)
            case .repeating(let bytes, let times):
                "<\(times.map(String.init) ?? "∞") x \(String(decoding: bytes, as: UTF8.self))>"
            case .stream(_, let isChunked): isChunked ? "<chunked stream>" : "<stream>"
            case .delay(let seconds): "<\(seconds)>"
            case .stall: "<stall>"
            case .halfClose: "<half>"
            case .close: "<close>"
            case .truncate: "<truncate>"
            case .unencrypted: "<unencrypted>"
            case .reset: "<reset>"
            case .converse: "<converse>"
            }
        }
        return steps.joined() + (script.keepsAlive ? "" : "<end>")
    }

    private static let plain = Response(body: .data(Data("0123456789".utf8)))

    @Test(arguments: [
        (Response.Framing.contentLength, "Content-Length: 10\r\n\r\n0123456789"),
        (.claimedLength(99), "Content-Length: 99\r\nConnection: close\r\n\r\n0123456789<end>"),
        (.claimedLength(3), "Content-Length: 3\r\n\r\n0123456789"),
        (
            .conflictingLengths(3, 5),
            "Content-Length: 3\r\nContent-Length: 5\r\nConnection: close\r\n\r\n0123456789<end>"
        ),
        (.chunked(), "Transfer-Encoding: chunked\r\n\r\na\r\n0123456789\r\n0\r\n\r\n"),
        (
            .chunked(sizes: [1, 4], trailers: ["A": "b"]),
            "Transfer-Encoding: chunked\r\nTrailer: A\r\n\r\n"
                + "1\r\n0\r\n4\r\n1234\r\n4\r\n5678\r\n1\r\n9\r\n0\r\nA: b\r\n\r\n"
        ),
        (.untilClose, "Connection: close\r\n\r\n0123456789<end>"),
        (.asGiven, "\r\n0123456789"),
    ])
    func framesABody(_ framing: Response.Framing, expected: String) {
        #expect(Self.text(of: Self.plain.framed(framing)) == "HTTP/1.1 200 OK\r\n" + expected)
    }

    @Test func omitsTheBodyOfAResponseToHeadAndKeepsItsLength() {
        #expect(Self.text(of: Self.plain, to: .head) == "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n")
        #expect(
            Self.text(of: Self.plain.framed(.chunked()), to: .head)
                == "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    }

    @Test(arguments: [(204, "No Content"), (304, "Not Modified")])
    func sendsNeitherBodyNorLengthWithABodilessStatus(_ status: Int, reason: String) {
        var response = Self.plain
        response.status = status
        #expect(Self.text(of: response) == "HTTP/1.1 \(status) \(reason)\r\n\r\n")
    }

    @Test func sendsALengthForAnEmptyBody() {
        #expect(Self.text(of: .status(200)) == "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    }

    @Test func prefersTheFramingInTheHeaders() {
        #expect(
            Self.text(of: Self.plain.header("content-length", "4"))
                == "HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\n0123456789")
    }

    @Test(
        arguments: [
            (nil, "Transfer-Encoding: chunked\r\n\r\n<chunked stream>0\r\n\r\n"),
            (("Content-Length", "10"), "Content-Length: 10\r\n\r\n<stream>"),
            (
                ("transfer-encoding", "chunked"),
                "transfer-encoding: chunked\r\n\r\n<chunked stream>0\r\n\r\n"
            ),
        ] as [((String, String)?, String)])
    func sendsABodyOfUnknownLengthAccordingToTheHeaders(_ header: (String, String)?, expected: String) {
        let (stream, source) = AsyncStream<Data>.makeStream()
        source.finish()
        var response = Response(body: .stream(stream))
        if let (name, value) = header { response = response.header(name, value) }
        #expect(Self.text(of: response) == "HTTP/1.1 200 OK\r\n" + expected)
    }

    @Test func keepsHeadersInTheirOrderAndSendsAnUnknownStatus() {
        let response = Response(status: 799, headers: ["B": "1", "A": "2", "B": "3"])
        #expect(Self.text(of: response) == "HTTP/1.1 799 \r\nB: 1\r\nA: 2\r\nB: 3\r\nContent-Length: 0\r\n\r\n")
    }

    @Test func sendsInformationalResponsesFirst() {
        var response = Response.status(200)
        response.informational = [.init(status: 103, headers: ["Link": "</a>"]), .init(status: 102)]
        #expect(
            Self.text(of: response)
                == "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n"
                + "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    }

    @Test func honorsAConnectionHeaderOfTheResponse() {
        #expect(Self.text(of: Response.status(200).header("Connection", "close")).hasSuffix("\r\n\r\n<end>"))
    }

    @Test(arguments: [
        (Response.Point.start, "<reset>HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0123456789"),
        (.head(0), "<reset>HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0123456789"),
        (.head(4), "HTTP<reset>/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0123456789"),
        (.head(999), "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n<reset>0123456789"),
        (.body(0), "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n<reset>0123456789"),
        (.body(4), "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0123<reset>456789"),
        (.body(999), "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0123456789<reset>"),
        (.body(-1), "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n<reset>0123456789"),
        (.end, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0123456789<reset>"),
    ])
    func putsAFaultAtTheRequestedPoint(_ point: Response.Point, expected: String) {
        #expect(Self.text(of: Self.plain.fault(.reset, at: point)) == expected)
    }

    @Test(arguments: [
        (0, "<close>4\r\n0123\r\n4\r\n4567\r\n2\r\n89\r\n0\r\n\r\n"),
        (2, "4\r\n01<close>23\r\n4\r\n4567\r\n2\r\n89\r\n0\r\n\r\n"),
        (4, "4\r\n0123\r\n<close>4\r\n4567\r\n2\r\n89\r\n0\r\n\r\n"),
        (9, "4\r\n0123\r\n4\r\n4567\r\n2\r\n8<close>9\r\n0\r\n\r\n"),
        (10, "4\r\n0123\r\n4\r\n4567\r\n2\r\n89\r\n<close>0\r\n\r\n"),
    ])
    func truncatesAChunkedBodyWithinOrBetweenChunks(_ offset: Int, expected: String) {
        let text = Self.text(of: Self.plain.framed(.chunked(sizes: [4])).truncated(after: offset))
        #expect(text == "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + expected)
    }

    @Test func keepsFaultsAtOnePointInTheirOrder() {
        let response = Self.plain.fault(.reset, at: .body(4)).fault(.delay(1), at: .body(2)).fault(
            .delay(2), at: .body(2))
        #expect(Self.text(of: response).hasSuffix("\r\n\r\n01<1.0><2.0>23<reset>456789"))
    }

    @Test(
        arguments: [
            (Response.Framing.contentLength, 3, [], "Content-Length: 6\r\n\r\n<3 x ab>"),
            (.contentLength, 3, [2], "Content-Length: 6\r\n\r\n<1 x ab><stall>ab<1 x ab>"),
            (.contentLength, 3, [3, 3], "Content-Length: 6\r\n\r\n<1 x ab>a<stall><stall>b<1 x ab>"),
            (.contentLength, 3, [9], "Content-Length: 6\r\n\r\n<3 x ab><stall>"),
            (.chunked(), 3, [1], "Transfer-Encoding: chunked\r\n\r\n2\r\na<stall>b\r\n<2 x 2\r\nab\r\n>0\r\n\r\n"),
            (
                .contentLength, nil, [5],
                "Transfer-Encoding: chunked\r\n\r\n<2 x 2\r\nab\r\n>"
                    + "2\r\na<stall>b\r\n<∞ x 2\r\nab\r\n>0\r\n\r\n"
            ),
            (.untilClose, nil, [], "Connection: close\r\n\r\n<∞ x ab><end>"),
        ] as [(Response.Framing, Int?, [Int], String)])
    func repeatsABodyWithoutHoldingItAll(_ framing: Response.Framing, times: Int?, faults: [Int], expected: String) {
        var response = Response(body: .repeating(Data("ab".utf8), times: times), framing: framing)
        for offset in faults { response = response.fault(.stall, at: .body(offset)) }
        #expect(Self.text(of: response) == "HTTP/1.1 200 OK\r\n" + expected)
    }

    @Test func sendsARawScriptUnchanged() {
        #expect(Self.text(of: .raw([.text("SSH-2.0\r\n"), .delay(1), .reset])) == "SSH-2.0\r\n<1.0><reset>")
        #expect(Self.text(of: .disconnect) == "<close>")
    }
}
