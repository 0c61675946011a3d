// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting
import Testing

/// A fault on the wire during a request, and its position.
struct WireFault: Sendable, CustomTestStringConvertible {
    let testDescription: String
    var reading = MockServer.Reading.whole
    var response = MockServer.Response.text("made")
    /// Done to the connection before anything is read; on a reused connection, after its last response.
    var beforeRequest: [MockServer.Step] = []
    /// The client's idle timeout in seconds.
    var idleTimeout: TimeInterval = 1
    /// A head that ends halfway, which crashes the process with Foundation on Linux.
    var cutsTheHead = false

    init(_ name: String) {
        testDescription = name
    }

    static let all = beforeTheRequest + withinTheRequest + beforeTheResponse + withinTheHead + withinTheBody + verdicts

    private static let steps: [(name: String, step: MockServer.Step, stalls: Bool)] = [
        ("close", .close, false), ("reset", .reset, false), ("half-close", .halfClose, false), ("stall", .stall, true),
    ]

    private static func each(_ place: String, _ change: (inout WireFault, MockServer.Step) -> Void) -> [WireFault] {
        steps.map { name, step, stalls in
            var fault = WireFault("\(name) \(place)")
            if stalls { fault.idleTimeout = 0.3 }
            change(&fault, step)
            return fault
        }
    }

    private static let beforeTheRequest =
        each("before the request") { $0.beforeRequest = [$1] }
        + [
            garbage("before the request") { $0.beforeRequest = [.text("220 mail.test ESMTP\r\n"), .close] }
        ]

    private static let withinTheRequest =
        each("after the head of the request") { $0.reading = .interrupted(after: 0, $1) }
        + each("within the body of the request") { $0.reading = .interrupted(after: 3, $1) }
        + [
            garbage("within the body of the request") {
                $0.reading = .interrupted(after: 3, .text("\u{1}\u{2}garbage\r\n\r\n"), .close)
            }
        ]

    private static let beforeTheResponse =
        each("before the response") { $0.response = .raw([$1]) }
        + each("after an interim response") { fault, step in
            fault.response = .raw([.text("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"), step])
            fault.cutsTheHead = true
        }
        + [
            garbage("instead of a response") { $0.response = .raw([.text("\u{1}\u{2}garbage\r\n\r\n"), .close]) }
        ]

    private static let withinTheHead = each("within the head of the response") { fault, step in
        fault.response = .text("made").fault(step, at: .head(20))
        fault.cutsTheHead = true
    }

    private static let withinTheBody =
        each("within the body of the response") { $0.response = .text("made of more").fault($1, at: .body(4)) }
        + each("after the response") { $0.response = .text("made").fault($1, at: .end) }
        + [
            garbage("as a chunk") {
                $0.response = .raw([
                    .text("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\nabc\r\n"), .close,
                ])
            },
            of("a body shorter than its length") { $0.response = .text("made").framed(.claimedLength(1000)) },
            of("two lengths") { $0.response = .text("made").framed(.conflictingLengths(2, 4)) },
            of("slow bytes") { $0.response = .text("made").dripping(1, every: 0.001) },
        ]

    private static let verdicts = [408, 425, 429, 500, 502, 503, 504].flatMap { status in
        [
            of("status \(status)") { $0.response = .status(status, headers: ["Retry-After": "0"]) },
            of("status \(status), the body unread, and the end of the connection") {
                $0.reading = .headOnly
                $0.response = .status(status, headers: ["Connection": "close"])
            },
        ]
    }

    private static func garbage(_ place: String, _ change: (inout WireFault) -> Void) -> WireFault {
        of("garbage \(place)", change)
    }

    private static func of(_ name: String, _ change: (inout WireFault) -> Void) -> WireFault {
        var fault = WireFault(name)
        change(&fault)
        return fault
    }
}
