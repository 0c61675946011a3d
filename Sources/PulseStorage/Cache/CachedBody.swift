// SPDX-License-Identifier: MIT

public import PulseCore

/// The body of a stored answer, in memory or wherever a store keeps it. It stays readable, whole and unchanged, as long
/// as somebody holds it, also when its entry is replaced or removed.
public struct CachedBody: Sendable {
    private enum Source: Sendable {
        case memory(Data)
        case store(any CachedBodySource)
    }

    private let source: Source

    public init(_ data: Data) {
        source = .memory(data)
    }

    public init(_ source: any CachedBodySource) {
        self.source = .store(source)
    }

    /// In bytes.
    public var count: Int {
        switch source {
        case .memory(let data): data.count
        case .store(let source): source.count
        }
    }

    /// All of it. Throws if it cannot be read or is not what was stored.
    public func data() async throws -> Data {
        switch source {
        case .memory(let data): data
        case .store(let source): try await source.data()
        }
    }

    /// In pieces. Throws, before the first piece, if it cannot be read or is not what was stored.
    public func stream() async throws -> ByteStream {
        switch source {
        case .memory(let data): ByteStream(data.isEmpty ? [] : [data])
        case .store(let source): try await source.stream()
        }
    }

    /// What is in memory anyway.
    package var inMemory: Data? {
        if case .memory(let data) = source { data } else { nil }
    }

    package var stored: (any CachedBodySource)? {
        if case .store(let source) = source { source } else { nil }
    }
}

/// A body that a store reads when it is asked for. Safe from any thread.
public protocol CachedBodySource: Sendable {
    /// In bytes.
    var count: Int { get }
    func data() async throws -> Data
    func stream() async throws -> ByteStream
}
