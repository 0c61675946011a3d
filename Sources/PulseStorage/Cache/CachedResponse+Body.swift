// SPDX-License-Identifier: MIT

public import PulseCore

extension CachedResponse {
    /// The body of a stored response, in memory or in a store. It stays readable, whole and unchanged, as long as it is
    /// referenced, even when its entry is replaced or removed.
    public struct Body: Sendable {
        private enum Source: Sendable {
            case memory(Data)
            case store(any BodySource)
        }

        private let source: Source

        /// Creates a body that is in memory.
        public init(_ data: Data) {
            source = .memory(data)
        }

        /// Creates a body that its store reads on demand.
        public init(_ source: any BodySource) {
            self.source = .store(source)
        }

        /// The length in bytes.
        public var count: Int {
            switch source {
            case .memory(let data): data.count
            case .store(let source): source.count
            }
        }

        /// All bytes of the body. Throws if the body cannot be read or is damaged.
        public func data() async throws -> Data {
            switch source {
            case .memory(let data): data
            case .store(let source): try await source.data()
            }
        }

        /// The body in chunks. Throws, before the first chunk, if the body cannot be read or is damaged.
        public func stream() async throws -> ByteStream {
            switch source {
            case .memory(let data): ByteStream(data.isEmpty ? [] : [data])
            case .store(let source): try await source.stream()
            }
        }

        /// The bytes, if they are in memory; nil if a store has them.
        package var inMemory: Data? {
            if case .memory(let data) = source { data } else { nil }
        }

        package var stored: (any BodySource)? {
            if case .store(let source) = source { source } else { nil }
        }
    }

    /// A body that a store reads on demand. Safe from any thread.
    public protocol BodySource: Sendable {
        /// The length in bytes.
        var count: Int { get }
        /// Reads the whole body. Throws if it cannot be read or is damaged.
        func data() async throws -> Data
        /// Reads the body in chunks. Throws, before the first chunk, if the body cannot be read or is damaged.
        func stream() async throws -> ByteStream
    }
}
