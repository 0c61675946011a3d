// SPDX-License-Identifier: MIT

#if canImport(Combine)
public import Combine

/// Views observe a model with `@StateObject`, `@ObservedObject` and `@EnvironmentObject`.
extension RequestModel: ObservableObject {
    /// Sends before each change of ``phase``, on the main actor.
    public nonisolated var objectWillChange: ObservableObjectPublisher { ModelPublisher.of(core.changeObserver) }
}
#endif
