// SPDX-License-Identifier: MIT

extension PulseRecorder {
    /// How much a recorder keeps. Numbers below 0 count as 0.
    ///
    /// Of a URL and of a header's value 16 KiB are kept, of headers 200, and of one call 100 requests.
    public struct Options: Sendable {
        /// The newest so many calls; 500 by default, at least 1.
        public var maximumCalls: Int
        /// Bytes for all that is kept, about; 16 MiB by default. Above it the bodies of the oldest calls go, then the calls.
        /// Events have a quarter of it at most.
        public var byteBudget: Int
        /// Bytes of a body that are kept, masked; 64 KiB by default, 0 keeps sizes only.
        public var maximumBodyLength: Int
        /// The newest so many events that belong to no call, as far as ``byteBudget`` lets them; 1000 by default.
        public var maximumEvents: Int
        /// Names to mask besides those of ``Redaction``: of headers, query items, form fields and keys alike.
        public var sensitiveHeaders: Set<String>
        /// Whether bodies that are no text are kept as they are: pictures, files. Secrets cannot be found in them. False by
        /// default; longer ones than ``maximumBodyLength`` are not kept, nor coded ones.
        public var keepsBinaryBodies: Bool

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
