// SPDX-License-Identifier: MIT

/// The destination of a hop. Most plugins need it, so it is computed once. It is a class, since contexts are copied at
/// every plugin and nearly all calls of a client share one destination.
package final class Destination: Sendable {
    /// The origin; nil for a URL that has none.
    package let origin: Origin?
    /// Whether credentials may be sent there.
    package let isHome: Bool

    package init(_ origin: Origin?, home: Set<Origin>) {
        self.origin = origin
        isHome = origin.map { home.contains($0) } ?? false
    }
}
