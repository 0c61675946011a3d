// SPDX-License-Identifier: MIT

extension PluginContext {
    // Indirect: every context contains a value, and most requests have no such body.
    /// The source of a request body outside its `URLRequest`.
    public indirect enum Body: Sendable {
        /// The body is in `URLRequest.httpBody`, or there is no body.
        case inRequest
        /// The bytes of a file on disk.
        case file(URL)
        /// Bytes that are produced while they are sent.
        case stream(RequestBody.Stream)

        /// Whether the body can be resent: false only for a one-shot stream.
        public var isReplayable: Bool {
            if case .stream(let stream) = self { return !stream.isOneShot }
            return true
        }
    }
}
