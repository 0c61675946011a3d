// SPDX-License-Identifier: MIT

extension LoggerPlugin {
    /// How much is written.
    public enum Verbosity: Int, Sendable, Hashable, Comparable, CaseIterable {
        case none
        /// One line a call, when it is over; none for a call that is answered or refused before it reaches the logger.
        case minimal
        /// A line for each request and one for each answer or failure, without headers and bodies.
        case standard
        /// A block for each request and one for each answer, with headers and bodies.
        case verbose

        public static func < (left: Verbosity, right: Verbosity) -> Bool {
            left.rawValue < right.rawValue
        }

        /// What holds if nobody asks for any.
        static func unasked(hasOutput: Bool, isDebugBuild: Bool) -> Verbosity {
            hasOutput || isDebugBuild ? .standard : .none
        }
    }

    /// What is written, and where to.
    public struct Options: Sendable {
        public var verbosity: Verbosity
        /// Names to mask besides those of ``Redaction``: of headers, query items, form fields and keys alike.
        public var sensitiveHeaders: Set<String>
        /// Bytes of a body that are shown, masked; 0 shows the size only.
        public var maxBodyLength: Int
        /// At ``Verbosity/verbose``, whether each request is shown as a `curl` command as well, secrets masked.
        public var includesCurl: Bool
        /// Takes each line or block, without a line feed at its end. Called in place by concurrent calls, on any thread: it
        /// should be short. Nil writes to the system's log, `os.Logger` with the subsystem `com.pulse`, or where there is
        /// none to standard error: without waiting for who reads it, so that blocks are dropped, and counted, if it is slow.
        public var output: (@Sendable (String) -> Void)?

        /// ``Verbosity/standard``, but ``Verbosity/none`` where PulseKit was built for release and no `output` is given.
        public init(
            sensitiveHeaders: Set<String> = [], maxBodyLength: Int = 4096, includesCurl: Bool = false,
            output: (@Sendable (String) -> Void)? = nil
        ) {
            self.init(
                verbosity: .unasked(hasOutput: output != nil, isDebugBuild: Self.isDebugBuild),
                sensitiveHeaders: sensitiveHeaders, maxBodyLength: maxBodyLength, includesCurl: includesCurl,
                output: output)
        }

        /// That verbosity, in release builds too.
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
