// SPDX-License-Identifier: MIT

#if canImport(Combine)
public import Combine

extension ConsoleModel: ObservableObject {
    /// Emits before each change of ``content``, ``filter`` and ``isPaused``.
    public nonisolated var objectWillChange: ObservableObjectPublisher { observers.publisher }
}
#endif
