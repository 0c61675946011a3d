// SPDX-License-Identifier: MIT

extension LoggerPlugin {
    /// How much is written.
    public enum Verbosity: Int, Sendable, Hashable, Comparable, CaseIterable {
        /// Nothing is written.
        case none
        /// One line for each call when it ends; none for a call that an outer plugin serves or rejects.
        case minimal
        /// A line for each request and one for each response or failure, without headers and bodies.
        case standard
        /// A block for each request and one for each response, with headers and bodies.
        case verbose

        public static func < (left: Verbosity, right: Verbosity) -> Bool {
            left.rawValue < right.rawValue
        }

        /// The verbosity if none is set.
        static func unasked(hasOutput: Bool, isDebugBuild: Bool) -> Verbosity {
            hasOutput || isDebugBuild ? .standard : .none
        }
    }

    /// What a logger writes, and where.
    public struct Options: Sendable {
        /// How much is written.
        public var verbosity: Verbosity
        /// Names to mask in addition to those of ``Redaction``: of headers, query items, form fields and keys. None by
        /// default.
        public var sensitiveHeaders: Set<String>
        /// Maximum number of body bytes to show, masked; 4096 by default, 0 shows only the size.
        public var maxBodyLength: Int
        /// Whether each request is also shown as a `curl` command, with secrets masked, at ``Verbosity/verbose``. False
        /// by default.
        public var includesCurl: Bool
        /// Receives each line or block, without a final line feed. Called synchronously by concurrent calls, on any
        /// thread: it should be quick.
        ///
        /// Nil, the default, writes to `os.Logger` with the subsystem `com.pulse`, or to standard error where there is
        /// none. Standard error is written without waiting for its reader: if that is slow, blocks are dropped and
        /// counted.
        public var output: (@Sendable (String) -> Void)?

        /// Options with ``Verbosity/standard``, or with ``Verbosity/none`` if PulseKit was built for release and no
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

        /// Options with the given verbosity, in release builds too.
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
