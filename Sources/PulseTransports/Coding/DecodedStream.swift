// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import PulseCore

/// The reader of a streamed body that is coded. It decodes no more than its own reader asks for, so that what waits is
/// what has come over the wire, however much that decodes to.
final class DecodedStream: @unchecked Sendable {
    // Unchecked: one reader at a time, as of every stream; the count is under a lock.

    private let next: @Sendable () async throws -> Data?
    private let decoder: ContentDecoder
    private var piece = Data()
    private var offset = 0
    private let count = Locked<Int64>(0)

    /// - Parameter codings: in the order in which they are undone.
    /// - Parameter next: returns the next bytes of the wire, nil after the last.
    init(_ codings: [ContentCoding], next: @escaping @Sendable () async throws -> Data?) {
        self.next = next
        decoder = ContentDecoder(codings)
    }

    /// How many bytes were decoded so far.
    var decodedCount: Int64 { count.withLock { $0 } }

    /// The next decoded bytes, nil after the last. Throws ``TransportFailure`` if the body is not coded as its head
    /// says.
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
