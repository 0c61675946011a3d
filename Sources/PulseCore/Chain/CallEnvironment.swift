// SPDX-License-Identifier: MIT

/// What all calls of one client share, as far as the chain needs it.
package final class CallEnvironment: Sendable {
    package let clock: any PulseClock
    package let randomness: any Randomness
    package let identifiers: IdentifierSource
    package let events: (any EventSink)?
    /// The base URL's origin and the trusted ones. Empty: the client has no home.
    package let home: Set<Origin>
    package let redaction: Redaction

    package init(
        clock: any PulseClock = .system, randomness: any Randomness = .system, events: (any EventSink)? = nil,
        home: Set<Origin> = [], secretHeaders: Set<String> = []
    ) {
        self.clock = clock
        self.randomness = randomness
        self.events = events
        self.home = home
        identifiers = IdentifierSource(randomness)
        redaction = secretHeaders.isEmpty ? .standard : Redaction(secretHeaders: secretHeaders)
    }

    package func isHome(_ url: URL) -> Bool {
        guard !home.isEmpty, let origin = Origin(url) else { return false }
        return home.contains(origin)
    }
}
