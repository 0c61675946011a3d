// SPDX-License-Identifier: MIT

#if !canImport(Network) && !canImport(CPulsePlatform)
import PulseCore

/// A platform that reports no status: only a connection attempt shows it.
final class PlatformConnectivitySource: ConnectivitySource {
    func start(_ report: @escaping @Sendable (ConnectivityStatus) -> Void) {}
    func stop() {}
}
#endif
