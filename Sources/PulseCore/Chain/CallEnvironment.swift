// SPDX-License-Identifier: MIT

/// What all calls of one client share, as far as the chain needs it.
package final class CallEnvironment: Sendable {
    package let clock: any PulseClock
    package let randomness: any Randomness
    package let identifiers: IdentifierSource
    package let events: (any EventSink)?
    /// The same sink, if it can be asked and told in one call.
    let lazyEvents: (any LazyEventSink)?
    /// The base URL's origin and the trusted ones. If it is empty, the client has no home.
    package let home: Set<Origin>
    package let redaction: Redaction
    /// The monitor that a call may wait on after it failed for lack of a connection.
    package let connectivity: (any ConnectivityMonitor)?
    package let retryBudgets = RetryBudgets()
    let typeNames = TypeNames()

    package init(
        clock: any PulseClock = .system, randomness: any Randomness = .system, events: (any EventSink)? = nil,
        home: Set<Origin> = [], secretHeaders: Set<String> = [], connectivity: (any ConnectivityMonitor)? = nil
    ) {
        self.clock = clock
        self.randomness = randomness
        self.events = events
        lazyEvents = events as? any LazyEventSink
        self.home = home
        self.connectivity = connectivity
        identifiers = IdentifierSource(randomness)
        redaction = secretHeaders.isEmpty ? .standard : Redaction(secretHeaders: secretHeaders)
    }

    package func isHome(_ url: URL) -> Bool {
        guard !home.isEmpty, let origin = Origin(url) else { return false }
        return home.contains(origin)
    }
}
