// SPDX-License-Identifier: MIT

import PulseCore

/// Reads the body of a streamed response from the wire, one piece at a time, as the reader of the stream requests it.
protocol BodyReader: AnyObject, Sendable {
    /// The measurements so far.
    var timings: PulseResponse.Timings { get }
    /// The trailer fields; empty before the end of the body.
    var trailers: HTTPHeaders { get }
    /// The next bytes from the wire; nil at the end of the body, once the request is sent too. Throws
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
    ///   - head: for the failure of a body that does not match its declared coding.
    ///   - slot: held until the stream ends.
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
