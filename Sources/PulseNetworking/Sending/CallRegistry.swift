// SPDX-License-Identifier: MIT

import PulseCore

/// The calls in progress of one client, and its event streams, which go on between their calls. They can be cancelled,
/// and the calls waited for.
struct CallRegistry: Sendable {
    private struct EventStreamEntry: Sendable {
        let tag: String?
        let cancel: @Sendable () -> Void
    }

    private struct State {
        var isShutDown = false
        var calls: [ObjectIdentifier: ActiveCall] = [:]
        var eventStreams: [ObjectIdentifier: EventStreamEntry] = [:]
        var idleWaiters: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Locked(State())

    var isShutDown: Bool {
        state.withLock { $0.isShutDown }
    }

    var count: Int {
        state.withLock { $0.calls.count }
    }

    var eventStreamCount: Int {
        state.withLock { $0.eventStreams.count }
    }

    /// Registers a call that starts. Returns false after shutdown: then the call must not start.
    func add(_ active: ActiveCall) -> Bool {
        state.withLock { state in
            if !state.isShutDown { state.calls[ObjectIdentifier(active.call)] = active }
            return !state.isShutDown
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

    /// Registers an event stream that starts. Returns false after shutdown: then the stream must not start.
    func add(_ stream: EventStream, tag: String?) -> Bool {
        let entry = EventStreamEntry(tag: tag) { [weak stream] in stream?.cancel() }
        return state.withLock { state in
            if !state.isShutDown { state.eventStreams[ObjectIdentifier(stream)] = entry }
            return !state.isShutDown
        }
    }

    func remove(_ stream: EventStream) {
        // Freed outside the lock.
        _ = state.withLock { $0.eventStreams.removeValue(forKey: ObjectIdentifier(stream)) }
    }

    /// Cancels all calls and event streams, or those with one tag.
    func cancelAll(tag: String? = nil) {
        let (calls, streams) = state.withLock { ($0.calls.values, $0.eventStreams.values) }
        for active in calls where tag == nil || active.call.options.tag == tag {
            active.cancel(by: tag.map { .tag($0) } ?? .cancelAll)
        }
        // After the calls: the event of a call names who cancelled it first.
        for stream in streams where tag == nil || stream.tag == tag { stream.cancel() }
    }

    /// Refuses new calls, cancels the calls in progress, and waits until they have ended.
    func shutdown() async {
        let (calls, streams) = state.withLock { state in
            state.isShutDown = true
            return (state.calls.values, state.eventStreams.values)
        }
        calls.forEach { $0.cancel(by: .shutdown) }
        streams.forEach { $0.cancel() }
        await withCheckedContinuation { continuation in
            let isIdle = state.withLock { state in
                if !state.calls.isEmpty { state.idleWaiters.append(continuation) }
                return state.calls.isEmpty
            }
            if isIdle { continuation.resume() }
        }
    }
}
