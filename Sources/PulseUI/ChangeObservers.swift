// SPDX-License-Identifier: MIT

#if canImport(Combine)
import Combine
#endif

/// Notifies a model's observers before it changes: on Apple platforms the subscribers of a publisher, such as SwiftUI.
// Unchecked: any thread may use the publisher, and it is never replaced.
final class ChangeObservers: @unchecked Sendable {
    #if canImport(Combine)
    let publisher = ObservableObjectPublisher()
    #endif

    func send() {
        #if canImport(Combine)
        publisher.send()
        #endif
    }
}
