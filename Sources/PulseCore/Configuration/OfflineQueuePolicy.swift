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

    public init(
        isEnabled: Bool = true, maxQueueSize: Int = 100, persistsToDisk: Bool = true,
        requestExpiry: TimeInterval = 86400, maxAttempts: Int = 20, directory: URL? = nil
    ) {
        self.isEnabled = isEnabled
        self.maxQueueSize = maxQueueSize
        self.persistsToDisk = persistsToDisk
        self.requestExpiry = requestExpiry
        self.maxAttempts = maxAttempts
        self.directory = directory
    }

    /// No queue: the default.
    public static let disabled = OfflineQueuePolicy(isEnabled: false)
}
