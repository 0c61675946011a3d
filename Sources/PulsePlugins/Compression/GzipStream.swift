// SPDX-License-Identifier: MIT

import PulseCore

/// Compresses a stream while it is read.
struct GzipStream: Sendable {
    let bytes: ByteStream

    init(_ source: ByteStream, _ make: MakeRawDeflate) throws {
        let state = Locked(State(rest: source.makeAsyncIterator(), encoder: Encoder(GzipEncoder(try make()))))
        bytes = ByteStream(next: { try await Self.next(state) }, cancel: { source.cancel() })
    }

    private struct State: Sendable {
        var rest: ByteStream.Iterator
        /// Nil after the last output.
        var encoder: Encoder?
    }

    // Unchecked: only the reader that took it out of the lock uses it.
    private final class Encoder: @unchecked Sendable {
        let gzip: GzipEncoder

        init(_ gzip: GzipEncoder) {
            self.gzip = gzip
        }
    }

    /// A stream has one reader, so the state is always available.
    private static func next(_ state: Locked<State>) async throws -> Data? {
        var (rest, encoder) = state.withLock { state in
            defer { state.encoder = nil }
            return (state.rest, state.encoder)
        }
        guard let current = encoder else { return nil }
        var output = Data()
        while output.isEmpty, encoder != nil {
            if let chunk = try await rest.next() {
                output = try chunk.withUnsafeBytes { try current.gzip.compress($0) }
            } else {
                output = try current.gzip.finish()
                encoder = nil
            }
        }
        state.withLock { [rest, encoder] state in
            state.rest = rest
            state.encoder = encoder
        }
        return output
    }
}
