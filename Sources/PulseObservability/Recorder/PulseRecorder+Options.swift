// SPDX-License-Identifier: MIT

extension PulseRecorder {
    /// How much a recorder keeps. Numbers below 0 count as 0.
    ///
    /// Of a URL and of a header's value 16 KiB are kept, of headers 200, and of one call 100 requests.
    public struct Options: Sendable {
        /// The number of calls that are kept, the newest; 500 by default, at least 1.
        public var maximumCalls: Int
        /// Bytes for all that is kept, approximately; 16 MiB by default. Above it the bodies of the oldest calls go,
        /// then the calls. Events have at most a quarter of it.
        public var byteBudget: Int
        /// Bytes of a body that are kept, after masking; 64 KiB by default. 0 keeps only the sizes.
        public var maximumBodyLength: Int
        /// The number of events without a call that are kept, the newest, as far as ``byteBudget`` lets them; 1000 by
        /// default.
        public var maximumEvents: Int
        /// Names to mask besides those of ``Redaction``: of headers, query items, form fields and JSON keys alike.
        public var sensitiveHeaders: Set<String>
        /// Whether bodies that are not text are kept as they are, such as pictures and files; false by default. Secrets
        /// cannot be found in them. Those longer than ``maximumBodyLength`` are not kept, nor are coded ones.
        public var keepsBinaryBodies: Bool

        /// Options with these limits; by default a recorder keeps 500 calls in 16 MiB.
        public init(
            maximumCalls: Int = 500, byteBudget: Int = 16 << 20, maximumBodyLength: Int = 64 << 10,
            maximumEvents: Int = 1000, sensitiveHeaders: Set<String> = [], keepsBinaryBodies: Bool = false
        ) {
            self.maximumCalls = maximumCalls
            self.byteBudget = byteBudget
            self.maximumBodyLength = maximumBodyLength
            self.maximumEvents = maximumEvents
            self.sensitiveHeaders = sensitiveHeaders
            self.keepsBinaryBodies = keepsBinaryBodies
        }
    }
}
