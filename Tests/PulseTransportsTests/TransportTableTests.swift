// SPDX-License-Identifier: MIT

import Foundation
import PulseCore
import PulseTesting
import TestSupport
import Testing

@testable import PulseTransports

/// Compares the table of settings in Docs/Transports.md with the transports.
@Suite(.throttled)
struct TransportTableTests {
    private static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    private static func text(_ path: String) throws -> String {
        try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
    }

    /// The section about settings.
    private static func section() throws -> String {
        let document = try text("Docs/Transports.md")
        let parts = document.components(separatedBy: "\n## ")
        return try #require(parts.first { $0.hasPrefix("Settings\n") })
    }

    private static func cells(_ line: Substring) -> [String] {
        line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
    }

    private static func rows() throws -> [[String]] {
        try section().split(separator: "\n").filter { $0.hasPrefix("|") }.map(cells)
    }

    private static let apple = URLSessionTransport(
        1, appliesBackpressure: true, makeChannel: nil,
        security: SessionSecurity(
            evaluateTrust: { _, _ in throw CancellationError() }, identity: { _ in throw CancellationError() },
            countReadable: { $0.count }))

    private static let policies: [String: TransportCapabilities] = [
        "`sslPinningPolicy`": .pinning, "`tls`": .tls, "`proxy`": .proxy,
        "`httpVersions`": .httpVersions,
    ]

    private static let timesAndLimits: Set = [
        "`timeout`", "`connectTimeout`", "`poolTimeout`", "`maxConnectionsPerHost`",
    ]

    #if os(Linux)
    @Test func eachPolicyIsWhatTheCapabilitiesSay() throws {
        let rows = try Self.rows()
        #expect(
            rows.first == [
                "Setting", "`SocketTransport`, Linux", "`URLSessionTransport`, Apple platforms",
                "`URLSessionTransport`, Linux", "`MockTransport`",
            ])
        let transports: [any Transport] = [
            SocketTransport(), Self.apple, URLSessionTransport(), MockTransport(stubs: []),
        ]
        var seen = TransportCapabilities()
        for row in rows.dropFirst(2) {
            let name = row[0].components(separatedBy: ":")[0]
            guard let policy = Self.policies[name] else {
                #expect(Self.timesAndLimits.contains(name), "\(name)")
                continue
            }
            // Every transport goes by the proxy of its environment, a capability or not.
            if row[0].hasSuffix("`.environment`") { continue }
            seen.formUnion(policy)
            try #require(row.count == transports.count + 1)
            for (cell, transport) in zip(row.dropFirst(), transports) {
                let capabilities = transport.capabilities
                #expect(cell.hasPrefix("`.unsupported`") == capabilities.isDisjoint(with: [policy, .simulated]))
                #expect((cell == "simulated") == capabilities.contains(.simulated))
                if transport is URLSessionTransport, !cell.hasPrefix("`") { #expect(cell.hasPrefix("type-checked")) }
            }
        }
        #expect(seen == [.pinning, .tls, .proxy, .httpVersions])
    }
    #endif

    @Test func everySettingHasItsPlace() throws {
        let source = try Self.text("Sources/PulseCore/Configuration/PulseConfiguration.swift")
        let settings = source.components(separatedBy: "    public var ").dropFirst().map { text in
            String(text.prefix { $0.isLetter || $0.isNumber })
        }
        #expect(settings.count > 20)
        let section = try Self.section()
        for setting in settings { #expect(section.contains("`\(setting)`"), "\(setting)") }
    }
}
