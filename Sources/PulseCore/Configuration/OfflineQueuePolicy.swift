// SPDX-License-Identifier: MIT

/// Whether and how the client stores calls to send them later: calls without a connection, and calls queued explicitly.
/// Not for payments: a call may be sent twice.
public struct OfflineQueuePolicy: Sendable, Hashable {
    /// Whether the client has an offline queue; true by default, false in ``disabled``.
    public var isEnabled: Bool
    /// The maximum number of entries in the queue; 100 by default.
    public var maxQueueSize: Int
    /// Whether the queue is stored on disk and survives the end of the process; true by default.
    public var persistsToDisk: Bool
    /// The seconds after which an entry expires; 86,400 (one day) by default, infinity for never. They are counted by
    /// the monotonic clock while a client runs, and by the wall clock from one launch to the next.
    public var requestExpiry: TimeInterval
    /// The number of failed attempts after which an entry becomes a dead letter; 20 by default. A failure response of
    /// the server counts, and so does an attempt that cannot be sent because of a client or request error. Time without
    /// a connection does not count.
    public var maxAttempts: Int
    /// The folder of the queue's files. Nil, the default, is a folder in application support for this app and base URL.
    /// On tvOS, where an app can write only to its caches, set a folder in the caches directory: the system may delete
    /// its content while the app is not running.
    public var directory: URL?
    /// What happens to a call when the queue is full; ``WhenFull/refuse`` by default.
    public var whenFull: WhenFull
    /// The failures after which a queueable call is queued; only a missing connection by default.
    public var queuedFailures: Failures
    /// The names of secret headers that an endpoint may store in the queue; none by default. They are stored in a file
    /// that only the user can read. An endpoint that sets any other secret header is not queued.
    public var storableSecretHeaders: Set<String>

    /// Failures after which a queueable call may be queued. In each case, nothing was sent in the last attempt.
    public struct Failures: OptionSet, Sendable, Hashable {
        /// The bits of the set.
        public let rawValue: Int

        /// Creates a set from its bits.
        public init(rawValue: Int) {
            self.rawValue = rawValue
        }

        /// There is no network connection: ``PulseError/noConnection``.
        public static let noConnection = Failures(rawValue: 1)
        /// There is a network, but the server cannot be reached: its name cannot be resolved, or it refuses the
        /// connection.
        public static let cannotConnect = Failures(rawValue: 2)
        /// The connection was not established within `connectTimeout`, or no connection became free within
        /// `poolTimeout`.
        public static let timeoutBeforeSending = Failures(rawValue: 4)
        /// All of these failures.
        public static let all: Failures = [.noConnection, .cannotConnect, .timeoutBeforeSending]
    }

    /// What happens to a call when the queue is full.
    public enum WhenFull: Sendable, Hashable {
        /// The call fails with ``PulseError/offlineQueueFull``.
        case refuse
        /// The oldest entry that is not being sent is dropped to make room.
        case dropOldest
    }

    /// Creates a policy; without arguments, an enabled queue with the default limits. `requestExpiry` is in seconds.
    public init(
        isEnabled: Bool = true, maxQueueSize: Int = 100, persistsToDisk: Bool = true,
        requestExpiry: TimeInterval = 86400, maxAttempts: Int = 20, directory: URL? = nil,
        whenFull: WhenFull = .refuse, storableSecretHeaders: Set<String> = [], queuedFailures: Failures = .noConnection
    ) {
        self.isEnabled = isEnabled
        self.maxQueueSize = maxQueueSize
        self.persistsToDisk = persistsToDisk
        self.requestExpiry = requestExpiry
        self.maxAttempts = maxAttempts
        self.directory = directory
        self.whenFull = whenFull
        self.storableSecretHeaders = storableSecretHeaders
        self.queuedFailures = queuedFailures
    }

    /// No queue: the default of a client.
    public static let disabled = OfflineQueuePolicy(isEnabled: false)
}
