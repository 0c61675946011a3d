// SPDX-License-Identifier: MIT

import PulseCore

/// Reads a streamed body and removes its content codings. It decodes only on demand, so buffered bytes are wire bytes,
/// however large they are when decoded.
final class DecodedStream: @unchecked Sendable {
    // Unchecked: every stream has one reader at a time; a lock protects the count.

    private let next: @Sendable () async throws -> Data?
    private let response: PulseResponse?
    /// Nil for a body that is not coded.
    private let decoder: ContentDecoder?
    private var piece = Data()
    private var offset = 0
    private let count = Locked<Int64>(0)

    /// - Parameters:
    ///   - codings: in the order of decoding.
    ///   - response: the head, for the failure of a body that does not match its declared coding.
    ///   - next: returns the next bytes from the wire, nil after the last.
    init(
        _ codings: [ContentCoding], of response: PulseResponse? = nil,
        next: @escaping @Sendable () async throws -> Data?
    ) {
        self.next = next
        self.response = response
        decoder = codings.isEmpty ? nil : ContentDecoder(codings)
    }

    /// The number of bytes decoded so far; nil for a body that is not coded.
    var decodedCount: Int64? { decoder.map { _ in count.withLock { $0 } } }

    /// The next decoded bytes; nil after the last. Throws ``TransportFailure`` if the body is not coded as its header
    /// fields say.
    func read() async throws -> Data? {
        guard let decoder else { return try await next() }
        do {
            return try await read(with: decoder)
        } catch var failure as TransportFailure where failure.code == .cannotDecodeContentData {
            failure.response = response
            throw failure
        }
    }

    private func read(with decoder: ContentDecoder) async throws -> Data? {
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
