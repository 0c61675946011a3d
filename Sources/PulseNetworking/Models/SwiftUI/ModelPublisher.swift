// SPDX-License-Identifier: MIT

#if canImport(Combine)
import Combine
import PulseCore

/// Passes the changes of a model to its publisher.
final class ModelPublisher: ChangeObserver {
    // Unchecked: a publisher may be subscribed to on any thread, and it is never replaced.
    nonisolated(unsafe) let publisher = ObservableObjectPublisher()

    nonisolated init() {}

    func willChange() { publisher.send() }

    /// The publisher of a model, created on first access.
    nonisolated static func of(_ observer: Locked<(any ChangeObserver)?>) -> ObservableObjectPublisher {
        let model = observer.withLock { observer in
            let model = observer as? ModelPublisher ?? ModelPublisher()
            observer = model
            return model
        }
        return model.publisher
    }
}
#endif
