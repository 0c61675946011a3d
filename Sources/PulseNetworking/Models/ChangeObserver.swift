// SPDX-License-Identifier: MIT

/// An observer that is notified before a model changes.
@MainActor
protocol ChangeObserver: AnyObject, Sendable {
    func willChange()
}

/// A view update, during which no model may announce a change: the view would have to update again.
@MainActor
enum ViewUpdate {
    private static var isRunning = false
    private static var waiting: [any ChangeObserver] = []

    /// Notifies the observer; during a view update, after the update.
    static func announce(to observer: any ChangeObserver) {
        guard isRunning else { return observer.willChange() }
        if !waiting.contains(where: { $0 === observer }) { waiting.append(observer) }
    }

    /// Runs a part of a view update, which changes models at once. Other views are notified soon afterwards.
    static func perform(_ body: () -> Void) {
        let isPart = isRunning
        isRunning = true
        body()
        isRunning = isPart
        guard !isRunning, !waiting.isEmpty else { return }
        let observers = waiting
        waiting = []
        Task { @MainActor in
            for observer in observers { observer.willChange() }
        }
    }
}
