// SPDX-License-Identifier: MIT

import PulseCalls
import PulseCore

extension PulseClient {
    /// The values of a JSON Lines body as it arrives, one for each line that is not blank.
    ///
    /// Cold, like ``PulseClient/Lines``. A response of type `application/json-seq` is read as a JSON text sequence (RFC
    /// 7464): each text begins with RS, and a text that is cut off before its LF cannot be decoded.
    ///
    /// A text that does not decode throws ``PulseError/decodingFailed(type:underlying:)``, and the next call of the
    /// iterator continues after it. Any other failure ends the sequence.
    public struct JSONLines<Value: Decodable & Sendable>: AsyncSequence, Sendable {
        public typealias Element = Value

        private let open: @Sendable () async throws -> StreamedResponse
        private var maxLength = LineSplitter.standardLimit
        private var skipsFailures = false

        init(_ open: @escaping @Sendable () async throws -> StreamedResponse) {
            self.open = open
        }

        /// Returns a copy with another maximum length of a text in bytes; 1 MiB by default. A longer one throws
        /// ``PulseError/responseTooLarge(limit:)``, and a limit below 1 ``PulseError/invalidRequest(reason:)``.
        public func limited(toLineLength bytes: Int) -> JSONLines {
            var copy = self
            copy.maxLength = bytes
            return copy
        }

        /// Returns a copy that skips the texts that do not decode, each with a ``NetworkEvent/warning(_:)``.
        public func skippingFailures() -> JSONLines {
            var copy = self
            copy.skipsFailures = true
            return copy
        }

        public func makeAsyncIterator() -> Iterator {
            let reader = ElementReader { [open, maxLength] in
                try LineSplitter.check(maxLength)
                let response = try await open()
                let mediaType = response.head.mediaType
                // RFC 8091: a type with the suffix is a sequence, too.
                let isSequence = mediaType == "application/json-seq" || mediaType.hasSuffix("+json-seq")
                return (response, JSONTextSplitter(isSequence ? .sequence : .lines, maxLength: maxLength))
            }
            return Iterator(reader: reader, skipsFailures: skipsFailures)
        }

        /// The reader of one response.
        public struct Iterator: AsyncIteratorProtocol {
            fileprivate var reader: ElementReader<JSONTextSplitter>
            fileprivate let skipsFailures: Bool

            /// Returns the next value, or nil after the last. Throws ``PulseError``.
            public mutating func next() async throws -> Value? {
                while true {
                    let text: Data
                    do {
                        guard let next = try await reader.next() else { return nil }
                        text = next
                    } catch let cut as JSONTextSplitter.CutText {
                        try skip(failure(cut, of: cut.text))
                        continue
                    }
                    do {
                        return try decode(text)
                    } catch {
                        try skip(error)
                    }
                }
            }

            /// Throws the error unless failures are skipped.
            private func skip(_ error: any Error) throws {
                guard skipsFailures else { throw error }
                reader.response?.environment.warn("a JSON text was skipped: \(PulseError(wrapping: error).summary)")
            }

            private func decode(_ text: Data) throws -> Value? {
                guard let response = reader.response else { return nil }
                do {
                    return try response.decoder.decode(Value.self, from: text)
                } catch {
                    throw failure(error, of: text)
                }
            }

            private func failure(_ error: any Error, of text: Data) -> PulseError {
                guard let response = reader.response else { return PulseError(wrapping: error) }
                var part = response.head
                part.data = text
                return PulseError(decoding: Value.self, error, of: part, as: response.decoder.contentType)
            }
        }
    }
}
