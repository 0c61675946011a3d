// SPDX-License-Identifier: MIT

import PulseCore

/// The calls in progress of one client, and the owners of its calls, such as event streams and lists of downloads. All
/// can be cancelled and waited for.
package struct CallRegistry: Sendable {
    private struct OwnerEntry: Sendable {
        let tag: String?
        let endsByItself: Bool
        let cancel: @Sendable () -> Void
        let ended: (@Sendable () async -> Void)?
    }

    private struct State {
        var isDraining = false
        var isShutDown = false
        var calls: [ObjectIdentifier: ActiveCall] = [:]
        var owners: [ObjectIdentifier: OwnerEntry] = [:]
        var idleWaiters: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Locked(State())

    /// Whether nothing may be sent anymore.
    var isShutDown: Bool {
        state.withLock { $0.isShutDown }
    }

    /// Whether new calls are refused.
    package var isClosing: Bool {
        state.withLock { $0.isDraining || $0.isShutDown }
    }

    var count: Int {
        state.withLock { $0.calls.count }
    }

    var ownerCount: Int {
        state.withLock { $0.owners.count }
    }

    /// Registers a new call. Returns false once the client is closing: the call must not start then. During a grace
    /// period, a call on which a call in progress depends may still start.
    func add(_ active: ActiveCall) -> Bool {
        state.withLock { state in
            guard !state.isShutDown, !state.isDraining || CurrentWork.isUnderWay else { return false }
            state.calls[ObjectIdentifier(active.call)] = active
            return true
        }
    }

    func remove(_ active: ActiveCall) {
        let waiters = state.withLock { state -> [CheckedContinuation<Void, Never>] in
            state.calls[ObjectIdentifier(active.call)] = nil
            guard state.calls.isEmpty else { return [] }
            defer { state.idleWaiters = [] }
            return state.idleWaiters
        }
        waiters.forEach { $0.resume() }
    }

    /// Registers a new owner of calls. Returns false once the client is closing: the owner must not start then.
    ///
    /// - Parameter endsByItself: whether a grace period waits for its calls; false for an owner without an end.
    /// - Parameter cancel: runs outside the lock. Neither closure may retain the owner.
    /// - Parameter ended: returns when the cancelled owner has ended, for a shutdown that waits for it; nil if there is
    ///   nothing to wait for.
    package func add(
        _ owner: AnyObject, tag: String? = nil, endsByItself: Bool = false, cancel: @escaping @Sendable () -> Void,
        ended: (@Sendable () async -> Void)? = nil
    ) -> Bool {
        state.withLock { state in
            guard !state.isShutDown, !state.isDraining else { return false }
            state.owners[ObjectIdentifier(owner)] = OwnerEntry(
                tag: tag, endsByItself: endsByItself, cancel: cancel, ended: ended)
            return true
        }
    }

    package func remove(_ owner: AnyObject) {
        // Freed outside the lock.
        _ = state.withLock { $0.owners.removeValue(forKey: ObjectIdentifier(owner)) }
    }

    /// Cancels all calls and their owners, or those with one tag.
    func cancelAll(tag: String? = nil) {
        let (calls, owners) = state.withLock { ($0.calls.values, $0.owners.values) }
        for active in calls where tag == nil || active.call.options.tag == tag {
            active.cancel(by: tag.map { .tag($0) } ?? .cancelAll)
        }
        // After the calls: the event of a call names the first source of its cancellation.
        for owner in owners where tag == nil || owner.tag == tag { owner.cancel() }
    }

    /// Refuses new calls, and cancels the owners that never end by themselves.
    func beginDraining() {
        let owners = state.withLock { state in
            state.isDraining = true
            return state.owners.values.filter { !$0.endsByItself }
        }
        owners.forEach { $0.cancel() }
    }

    /// Refuses new calls, cancels the calls in progress, and waits until they have ended.
    func shutdown() async {
        let (calls, owners) = state.withLock { state in
            state.isShutDown = true
            return (state.calls.values, state.owners.values)
        }
        calls.forEach { $0.cancel(by: .shutdown) }
        owners.forEach { $0.cancel() }
        for owner in owners { await owner.ended?() }
        await idle()
    }

    /// Waits until no call is in progress.
    func idle() async {
        await state.suspend(if: { !$0.calls.isEmpty }) { $0.idleWaiters.append($1) }
    }
}
