// SPDX-License-Identifier: MIT

import PulseCore

/// What reads the body of a streamed response off the wire, piece by piece, as the reader of the stream requests them.
protocol BodyReader: AnyObject, Sendable {
    /// The measurements so far.
    var timings: PulseResponse.Timings { get }
    /// The fields behind the body; empty before its end.
    var trailers: HTTPHeaders { get }
    /// The next bytes from the wire; nil at the end of the body, when the request is sent too. Throws
    /// ``TransportFailure``, the error of the request's body, and `CancellationError` after ``cancel()``.
    func read() async throws -> Data?
    /// Ends the exchange, unless it is complete.
    func cancel()
}

extension BodyReader {
    /// The decoded body, as a stream that cancels the exchange when it is dropped.
    ///
    /// - Parameters:
    ///   - codings: in the order of decoding.
    ///   - head: for the failure of a body that is not coded as it says.
    ///   - slot: kept until the stream has ended.
    func stream(
        _ codings: [ContentCoding], of head: PulseResponse?, holding slot: ConnectionSlots.Slot
    ) -> ByteStream {
        let decoded = DecodedStream(codings, of: head) { try await self.read() }
        let stream = ByteStream {
            try await decoded.read()
        } cancel: {
            self.cancel()
        }
        stream.timingsAtEnd = {
            var timings = self.timings
            timings.bytesDecoded = decoded.decodedCount ?? timings.bytesReceived
            return timings
        }
        stream.trailersAtEnd = { self.trailers }
        stream.onEnd { _ in
            withExtendedLifetime(slot) {}
        }
        return stream
    }
}
