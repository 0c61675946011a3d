// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import PulseCore

/// The reader of a coded stream. It decodes only as much as its own reader requests. So buffered bytes are bytes from
/// the wire, however large they are when decoded.
final class DecodedStream: @unchecked Sendable {
    // Unchecked: every stream has one reader at a time; a lock protects the count.

    private let next: @Sendable () async throws -> Data?
    private let decoder: ContentDecoder
    private var piece = Data()
    private var offset = 0
    private let count = Locked<Int64>(0)

    /// - Parameter codings: in the order of decoding.
    /// - Parameter next: returns the next bytes from the wire, nil after the last.
    init(_ codings: [ContentCoding], next: @escaping @Sendable () async throws -> Data?) {
        self.next = next
        decoder = ContentDecoder(codings)
    }

    /// The number of bytes decoded so far.
    var decodedCount: Int64 { count.withLock { $0 } }

    /// The next decoded bytes; nil after the last. Throws ``TransportFailure`` if the body is not coded as its header
    /// fields say.
    func read() async throws -> Data? {
        while true {
            let decoded = try piece.withUnsafeBytes { try Data(decoder.decode($0, from: &offset)) }
            guard decoded.isEmpty else {
                count.withLock { $0 += Int64(decoded.count) }
                return decoded
            }
            guard let following = try await next() else {
                try decoder.finish()
                return nil
            }
            (piece, offset) = (following, 0)
        }
    }
}
#endif
