// SPDX-License-Identifier: MIT

/// Whether and how calls that find no connection, or are queued by hand, are kept and sent later. Not for payments: a
/// call may be sent twice.
public struct OfflineQueuePolicy: Sendable, Hashable {
    /// Whether the client has an offline queue; true unless set, and false in ``disabled``.
    public var isEnabled: Bool
    /// The most entries that the queue holds; 100 by default.
    public var maxQueueSize: Int
    /// Whether the queue is kept on disk and survives the end of the process; true by default.
    public var persistsToDisk: Bool
    /// The seconds after which an entry is given up; 86,400 (one day) by default, infinity for never.
    public var requestExpiry: TimeInterval
    /// The number of failing answers of the server after which an entry goes to the dead letters; 20 by default. A try
    /// of which nothing can be sent, for a fault of the client or the request, counts as one; time without a connection
    /// does not.
    public var maxAttempts: Int
    /// The folder of the queue's files; nil, the default, is a folder in application support for this app and base URL.
    /// On tvOS, where an app can write to its caches alone, set one in these: the system may remove what is in it while
    /// the app does not run.
    public var directory: URL?
    /// What happens to a call that finds the queue full; ``WhenFull/refuse`` by default.
    public var whenFull: WhenFull
    /// The failures after which a queueable call is queued; a missing connection alone by default.
    public var queues: Failures
    /// The names of secret headers that an endpoint may carry into the queue; none by default. They are stored in a
    /// file that only the user can read. An endpoint with any other secret header of its own is not queued.
    public var storableSecretHeaders: Set<String>

    /// Failures after which a queueable call may wait for a later try. Of each nothing was sent in the last attempt.
    public struct Failures: OptionSet, Sendable, Hashable {
        /// The bits of the set.
        public let rawValue: Int

        /// A set of those bits.
        public init(rawValue: Int) {
            self.rawValue = rawValue
        }

        /// There is no way to the network: ``PulseError/noConnection``.
        public static let noConnection = Failures(rawValue: 1)
        /// There is a network, and the server cannot be reached: its name cannot be resolved, or it refuses the
        /// connection.
        public static let cannotConnect = Failures(rawValue: 2)
        /// The connection was not made within `connectTimeout`.
        public static let timeoutBeforeSending = Failures(rawValue: 4)
        /// All of them.
        public static let all: Failures = [.noConnection, .cannotConnect, .timeoutBeforeSending]
    }

    /// What happens to a call that finds the queue full.
    public enum WhenFull: Sendable, Hashable {
        /// The call fails with ``PulseError/offlineQueueFull``.
        case refuse
        /// The oldest entry that is not being sent is given up in its place.
        case dropOldest
    }

    /// Creates a policy; without arguments, an enabled queue with the default limits. `requestExpiry` is in seconds.
    public init(
        isEnabled: Bool = true, maxQueueSize: Int = 100, persistsToDisk: Bool = true,
        requestExpiry: TimeInterval = 86400, maxAttempts: Int = 20, directory: URL? = nil,
        whenFull: WhenFull = .refuse, storableSecretHeaders: Set<String> = [], queues: Failures = .noConnection
    ) {
        self.isEnabled = isEnabled
        self.maxQueueSize = maxQueueSize
        self.persistsToDisk = persistsToDisk
        self.requestExpiry = requestExpiry
        self.maxAttempts = maxAttempts
        self.directory = directory
        self.whenFull = whenFull
        self.storableSecretHeaders = storableSecretHeaders
        self.queues = queues
    }

    /// No queue: the default of a client.
    public static let disabled = OfflineQueuePolicy(isEnabled: false)
}
