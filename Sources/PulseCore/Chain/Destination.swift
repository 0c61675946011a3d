// SPDX-License-Identifier: MIT

/// Where a hop goes, which most plugins ask for and which is found out once. In a box, since contexts are copied at
/// every plugin and nearly all calls of a client share one.
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
