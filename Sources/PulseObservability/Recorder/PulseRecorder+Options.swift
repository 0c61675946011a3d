// SPDX-License-Identifier: MIT

extension PulseRecorder {
    /// The limits of a recorder. Numbers below 0 count as 0.
    ///
    /// Further limits are fixed: 16 KiB of a URL and of a header's value, 200 headers, and 100 requests of one call.
    public struct Options: Sendable {
        /// The maximum number of calls; 500 by default, at least 1. The newest are kept.
        public var maxCalls: Int
        /// The approximate size of the recording in bytes; 16 MiB by default. Above it, the bodies of the oldest calls
        /// are dropped, then the calls. Events take at most a quarter of it.
        public var byteBudget: Int
        /// The maximum size of a stored body in bytes, after masking; 64 KiB by default. 0 stores only the sizes.
        public var maxBodyLength: Int
        /// The maximum number of events without a call, within the limits of ``byteBudget``; 1000 by default. The
        /// newest are kept.
        public var maxEvents: Int
        /// Names to mask besides those of ``Redaction``: of headers, query items, form fields and JSON keys alike.
        public var sensitiveHeaders: Set<String>
        /// Whether to store bodies that are not text, such as pictures and files, unchanged; false by default. Secrets
        /// cannot be found in them. Bodies longer than ``maxBodyLength`` and encoded bodies are never stored.
        public var keepsBinaryBodies: Bool

        /// Creates options with these limits; by default 500 calls in 16 MiB.
        public init(
            maxCalls: Int = 500, byteBudget: Int = 16 << 20, maxBodyLength: Int = 64 << 10,
            maxEvents: Int = 1000, sensitiveHeaders: Set<String> = [], keepsBinaryBodies: Bool = false
        ) {
            self.maxCalls = maxCalls
            self.byteBudget = byteBudget
            self.maxBodyLength = maxBodyLength
            self.maxEvents = maxEvents
            self.sensitiveHeaders = sensitiveHeaders
            self.keepsBinaryBodies = keepsBinaryBodies
        }
    }
}
