// SPDX-License-Identifier: MIT

extension NetworkEvent {
    /// The result of a successful call.
    public struct ResponseSummary: Sendable {
        /// The status of the response.
        public let statusCode: Int
        /// The size of the body in bytes, after decompression: for a stream, the bytes read; for a download, the bytes
        /// received.
        public let byteCount: Int
        /// Where the response came from.
        public let origin: PulseResponse.Origin
        private let measured: Measured?

        /// Creates a summary; `byteCount` is in bytes.
        public init(
            statusCode: Int, byteCount: Int, origin: PulseResponse.Origin, timings: PulseResponse.Timings? = nil
        ) {
            self.statusCode = statusCode
            self.byteCount = byteCount
            self.origin = origin
            measured = timings.map(Measured.init)
        }

        /// When the phases of the transfer ended; nil if the transport measured nothing.
        public var timings: PulseResponse.Timings? { measured?.timings }

        /// Boxed: every event is as large as the largest case, and is copied to each listener.
        private final class Measured: Sendable, CustomDebugStringConvertible {
            let timings: PulseResponse.Timings

            init(_ timings: PulseResponse.Timings) {
                self.timings = timings
            }

            var debugDescription: String { "\(timings)" }
        }

        /// - Parameter bytesRead: the size of a streamed body.
        package init(_ response: PulseResponse, bytesRead: Int? = nil) {
            self.init(
                statusCode: response.statusCode, byteCount: bytesRead ?? response.data.count, origin: response.origin,
                timings: response.timings)
        }
    }
}
