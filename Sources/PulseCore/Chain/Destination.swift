// SPDX-License-Identifier: MIT

/// Where a hop goes: asked for by most plugins, and found out once. In a box, since contexts are copied at every plugin,
/// and nearly all calls of a client share one.
package final class Destination: Sendable {
    /// Nil for a URL that has none.
    package let origin: Origin?
    /// Credentials may go there.
    package let isHome: Bool

    package init(_ origin: Origin?, home: Set<Origin>) {
        self.origin = origin
        isHome = origin.map { home.contains($0) } ?? false
    }
}
