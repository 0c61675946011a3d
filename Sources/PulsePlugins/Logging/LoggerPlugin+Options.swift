// SPDX-License-Identifier: MIT

extension LoggerPlugin {
    /// How much is written.
    public enum Verbosity: Int, Sendable, Hashable, Comparable, CaseIterable {
        /// Nothing is written.
        case none
        /// One line for each call, when it is over; none for a call that is answered or refused before it reaches the
        /// logger.
        case minimal
        /// A line for each request and one for each answer or failure, without headers and bodies.
        case standard
        /// A block for each request and one for each answer, with headers and bodies.
        case verbose

        public static func < (left: Verbosity, right: Verbosity) -> Bool {
            left.rawValue < right.rawValue
        }

        /// The verbosity that holds if none is asked for.
        static func unasked(hasOutput: Bool, isDebugBuild: Bool) -> Verbosity {
            hasOutput || isDebugBuild ? .standard : .none
        }
    }

    /// What a logger writes, and where to.
    public struct Options: Sendable {
        /// How much is written.
        public var verbosity: Verbosity
        /// Names to mask besides those of ``Redaction``: of headers, query items, form fields and keys alike. None by
        /// default.
        public var sensitiveHeaders: Set<String>
        /// Bytes of a body that are shown, masked; 4096 by default, 0 shows the size only.
        public var maxBodyLength: Int
        /// Whether each request is shown as a `curl` command as well, secrets masked, at ``Verbosity/verbose``. False
        /// by default.
        public var includesCurl: Bool
        /// Takes each line or block, without a line feed at its end. Called in place by concurrent calls, on any
        /// thread: it should be quick.
        ///
        /// Nil, the default, writes to `os.Logger` with the subsystem `com.pulse`, or where there is none to standard
        /// error. That never waits for the reader: if it is slow, blocks are dropped, and counted.
        public var output: (@Sendable (String) -> Void)?

        /// Options with ``Verbosity/standard``, but with ``Verbosity/none`` where PulseKit was built for release and no
        /// `output` is given.
        public init(
            sensitiveHeaders: Set<String> = [], maxBodyLength: Int = 4096, includesCurl: Bool = false,
            output: (@Sendable (String) -> Void)? = nil
        ) {
            self.init(
                verbosity: .unasked(hasOutput: output != nil, isDebugBuild: Self.isDebugBuild),
                sensitiveHeaders: sensitiveHeaders, maxBodyLength: maxBodyLength, includesCurl: includesCurl,
                output: output)
        }

        /// Options with that verbosity, in release builds too.
        public init(
            verbosity: Verbosity, sensitiveHeaders: Set<String> = [], maxBodyLength: Int = 4096,
            includesCurl: Bool = false, output: (@Sendable (String) -> Void)? = nil
        ) {
            self.verbosity = verbosity
            self.sensitiveHeaders = sensitiveHeaders
            self.maxBodyLength = maxBodyLength
            self.includesCurl = includesCurl
            self.output = output
        }

        #if DEBUG
        private static let isDebugBuild = true
        #else
        private static let isDebugBuild = false
        #endif
    }
}
