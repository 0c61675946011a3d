// SPDX-License-Identifier: MIT

/// Whether and how calls that find no connection are kept and sent later.
public struct OfflineQueuePolicy: Sendable, Hashable {
    public var isEnabled: Bool
    public var maxQueueSize: Int
    public var persistsToDisk: Bool
    /// Seconds after which an entry is given up.
    public var requestExpiry: TimeInterval
    /// Verdicts of the server after which an entry goes to the dead letters.
    public var maxAttempts: Int
    /// Nil is a folder of the app's and the base URL's own in application support.
    public var directory: URL?
    public var whenFull: WhenFull
    /// Names of secret headers that an endpoint may carry into the queue, where they lie in a file that the user alone may
    /// read. Without them an endpoint with a secret header of its own is not queued.
    public var storableSecretHeaders: Set<String>

    /// What happens to a call that finds the queue full.
    public enum WhenFull: Sendable, Hashable {
        /// It fails with ``PulseError/offlineQueueFull``.
        case refuse
        /// The oldest entry that is not on its way is given up for it.
        case dropOldest
    }

    public init(
        isEnabled: Bool = true, maxQueueSize: Int = 100, persistsToDisk: Bool = true,
        requestExpiry: TimeInterval = 86400, maxAttempts: Int = 20, directory: URL? = nil,
        whenFull: WhenFull = .refuse, storableSecretHeaders: Set<String> = []
    ) {
        self.isEnabled = isEnabled
        self.maxQueueSize = maxQueueSize
        self.persistsToDisk = persistsToDisk
        self.requestExpiry = requestExpiry
        self.maxAttempts = maxAttempts
        self.directory = directory
        self.whenFull = whenFull
        self.storableSecretHeaders = storableSecretHeaders
    }

    /// No queue: the default.
    public static let disabled = OfflineQueuePolicy(isEnabled: false)
}
