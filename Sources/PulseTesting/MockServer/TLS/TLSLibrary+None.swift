// SPDX-License-Identifier: MIT

#if !os(Linux)
import PulseCore

extension TLSLibrary {
    static func generate(names: String, start: Int, end: Int) throws -> GeneratedIdentity {
        throw unsupported
    }
}

/// The placeholder for platforms without libssl: it has no instances.
struct TLSServer: Sendable {
    init(_ identity: MockServer.TLSIdentity, _ configuration: MockServer.Configuration) throws {
        throw TLSLibrary.unsupported
    }

    func prefer(_ name: StaticString) {}

    func makeStream() -> TLSStream? { nil }
}

/// The placeholder for platforms without libssl: it has no instances.
struct TLSStream: Sendable {
    var isEstablished: Bool { false }
    var hasProtocol: Bool { false }

    func feed(_ bytes: Data) -> Bool { false }

    func read() -> TLSInput { .empty }

    func write(_ bytes: Data) -> Bool { false }

    func take() -> Data { Data() }

    func end() {}
}
#endif
