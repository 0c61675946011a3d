// SPDX-License-Identifier: MIT

import PulseConformance
import PulseCore
import PulseTesting
import TestSupport
import Testing

@Suite(.throttled)
struct ConformanceDocumentTests {
    private static let document = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("Docs/Conformance.md")

    private static let marker = "<!-- Written by ConformanceDocumentTests with PULSE_WRITE_DOCS=1. -->\n\n"

    // The exclusions of Foundation's Linux implementation are in the table.
    #if os(Linux)
    @Test func theConformanceDocumentMatchesTheSuite() throws {
        let text = try String(contentsOf: Self.document, encoding: .utf8)
        let beginning = try #require(text.range(of: Self.marker))
        let table = TransportConformance.table(of: [
            .standardTransport, .socketTransportOverTLS, .socketTransportOverHTTP2, .urlSessionTransport,
            .mockTransport,
        ])
        if ProcessInfo.processInfo.environment["PULSE_WRITE_DOCS"] != nil {
            try (text[..<beginning.upperBound] + table).write(to: Self.document, atomically: true, encoding: .utf8)
        } else {
            #expect(text[beginning.upperBound...] == table)
        }
    }
    #endif
}
