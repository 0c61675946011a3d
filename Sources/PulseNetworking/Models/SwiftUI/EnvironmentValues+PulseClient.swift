// SPDX-License-Identifier: MIT

#if canImport(SwiftUI)
public import PulseCalls
public import SwiftUI

extension EnvironmentValues {
    /// The client of ``APIRequest`` and ``PaginatedRequest`` in this part of the view tree.
    ///
    /// ```swift
    /// ContentView().environment(\.pulseClient, client)
    /// ```
    ///
    /// If unset, it is ``PulseClient/default``. The wrappers read the default only when a request starts, so that a
    /// view that merely exists does not fix it; reading this property does. Store the client that you set: a new client
    /// with every view update restarts every request.
    public var pulseClient: PulseClient {
        get { chosenPulseClient ?? .default }
        set { self[PulseClientKey.self] = newValue }
    }

    /// The client that was set; nil for the default client, which is not read.
    var chosenPulseClient: PulseClient? { self[PulseClientKey.self] }
}

private struct PulseClientKey: EnvironmentKey {
    static var defaultValue: PulseClient? { nil }
}
#endif
