// SPDX-License-Identifier: MIT

#if !canImport(Network) && !os(Linux)
import PulseCore

/// A source for other platforms, which reports no status: only a connection attempt reveals it.
final class PlatformConnectivitySource: ConnectivitySource {
    func start(_ report: @escaping @Sendable (ConnectivityStatus) -> Void) {}
    func stop() {}
}
#endif
