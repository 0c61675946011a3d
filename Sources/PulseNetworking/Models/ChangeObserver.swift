// SPDX-License-Identifier: MIT

/// Told before a model changes.
@MainActor
protocol ChangeObserver: AnyObject, Sendable {
    func willChange()
}

/// The update of a view, in which no model may announce a change: the view would be told to update again.
@MainActor
enum ViewUpdate {
    private static var isRunning = false
    private static var waiting: [any ChangeObserver] = []

    /// Tells the observer, in a view update after it.
    static func announce(to observer: any ChangeObserver) {
        guard isRunning else { return observer.willChange() }
        if !waiting.contains(where: { $0 === observer }) { waiting.append(observer) }
    }

    /// Runs a part of a view update, which changes models at once. Other views are told of the changes soon after it.
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
