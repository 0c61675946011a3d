// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting

/// The failure that the caller must see.
struct ExpectedFailure: Sendable {
    let kind: PulseError.Kind
    /// The code of a ``PulseError/transport(_:underlying:)``.
    let code: URLError.Code?
    /// The phases that the error may name; empty if the kind alone decides.
    let phases: Set<PulseError.Phase>
    /// Whether the error must report a stale connection; nil if both are accepted.
    var isStale: Bool?

    static func kind(_ kind: PulseError.Kind) -> Self { Self(kind: kind, code: nil, phases: []) }

    static func transport(_ code: URLError.Code, _ phases: PulseError.Phase...) -> Self {
        Self(kind: .transport, code: code, phases: Set(phases))
    }

    /// The failure for an unreadable response to a request that the server received. Whether broken header fields count
    /// as the beginning of a response is not specified: the request must not be resent either way.
    static let badResponse = transport(.badServerResponse, .maybeSent, .responseStarted)

    func verify(_ error: PulseError) throws {
        try Check.equal(error.kind, kind, "the kind of \(error)")
        if let code {
            guard case .transport(let actual, _) = error else { return }
            try Check.equal(actual.rawValue, code.rawValue, "the code of \(error)")
        }
        if let isStale {
            try Check.equal(error.isStaleConnection, isStale, "whether the connection of \(error) was stale")
        }
        guard !phases.isEmpty else { return }
        try Check.that(
            error.phase.map(phases.contains) ?? false,
            "the phase of \(error) is \(error.phase.map { "\($0)" } ?? "nil"), not one of \(phases)")
    }
}
