// SPDX-License-Identifier: MIT

/// The state that all calls of one client share, as far as the chain needs it.
package final class CallEnvironment: Sendable {
    package let clock: any PulseClock
    package let randomness: any Randomness
    package let identifiers: IdentifierSource
    package let events: (any EventSink)?
    /// The same sink, if it can check for listeners and emit in one call.
    let lazyEvents: (any LazyEventSink)?
    /// The base URL's origin and the trusted origins. If it is empty, the client has no home.
    package let home: Set<Origin>
    package let redaction: Redaction
    /// The default header fields of a request that the app built itself; the request's own fields override them. Empty
    /// without a client.
    private let defaultHeaders: [String: String]
    /// The monitor that a call may wait for after it failed for lack of a connection.
    package let connectivity: (any ConnectivityMonitor)?
    package let retryBudgets = RetryBudgets()
    private let warned = Locked<Set<String>>([])
    let typeNames = TypeNames()

    package init(
        clock: any PulseClock = .system, randomness: any Randomness = .system, events: (any EventSink)? = nil,
        home: Set<Origin> = [], secretHeaders: Set<String> = [], defaultHeaders: [String: String] = [:],
        defaultQueryItems: [URLQueryItem] = [], connectivity: (any ConnectivityMonitor)? = nil
    ) {
        self.clock = clock
        self.randomness = randomness
        self.events = events
        lazyEvents = events as? any LazyEventSink
        self.home = home
        self.defaultHeaders = defaultHeaders
        self.connectivity = connectivity
        identifiers = IdentifierSource(randomness)
        redaction =
            secretHeaders.isEmpty && defaultQueryItems.isEmpty
            ? .standard : Redaction(secretHeaders: secretHeaders, queryItems: defaultQueryItems.map(\.name))
    }

    /// Emits a warning, if there is a listener.
    package func warn(_ text: @autoclosure () -> String) {
        if let events, events.isActive { events.emit(.warning(text())) }
    }

    /// Emits a warning that would be the same for every call: once per client, at the first call with a listener.
    package func warnOnce(_ text: @autoclosure () -> String) {
        guard let events, events.isActive else { return }
        let text = text()
        if warned.withLock({ $0.insert(text).inserted }) { events.emit(.warning(text)) }
    }

    package func isHome(_ url: URL) -> Bool {
        guard !home.isEmpty, let origin = Origin(url) else { return false }
        return home.contains(origin)
    }

    /// Whether the secrets of the configuration and of plugins may be sent to a destination. Without a home no origin
    /// is foreign: each call names its server, and the settings are meant for that server.
    package func allowsSecrets(at destination: Destination) -> Bool {
        destination.isHome || home.isEmpty
    }

    /// The default header fields that may be sent to a destination.
    func defaults(at destination: Destination) -> [String: String] {
        allowsSecrets(at: destination) ? defaultHeaders : defaultHeaders.filter { !redaction.isSecret($0.key) }
    }
}
