// SPDX-License-Identifier: MIT

#if !canImport(Network) && !canImport(CPulsePlatform)
import PulseCore

/// A platform that tells nothing: only a connect shows.
final class PlatformConnectivitySource: ConnectivitySource {
    func start(_ report: @escaping @Sendable (ConnectivityStatus) -> Void) {}
    func stop() {}
}
#endif
