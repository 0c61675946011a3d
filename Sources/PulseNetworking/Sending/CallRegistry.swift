// SPDX-License-Identifier: MIT

import PulseCore

/// The calls in progress of one client. They can be cancelled and waited for.
struct CallRegistry: Sendable {
    typealias Ticket = UInt64

    /// The work of a call, with its way of cancellation.
    enum Work: Sendable {
        case none
        case task(Task<PulseResponse, any Error>)
        case other(@Sendable () -> Void)

        func cancel() {
            switch self {
            case .none: break
            case .task(let task): task.cancel()
            case .other(let cancel): cancel()
            }
        }
    }

    /// The source of a cancellation, other than the calling task.
    enum Canceller: Sendable {
        case cancelAll
        case tag(String)
        case shutdown
    }

    private struct Entry {
        let tag: String?
        var work: Work
        var canceller: Canceller?
    }

    private struct State {
        var isShutDown = false
        var nextID: Ticket = 0
        var entries: [Ticket: Entry] = [:]
        var idleWaiters: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Locked(State())

    var isShutDown: Bool {
        state.withLock { $0.isShutDown }
    }

    var count: Int {
        state.withLock { $0.entries.count }
    }

    /// Registers a call and returns its ticket; nil after shutdown. The work starts only after this, so that a shutdown
    /// waits for it.
    func add(tag: String?, _ work: Work = .none) -> Ticket? {
        state.withLock { state in
            guard !state.isShutDown else { return nil }
            state.nextID += 1
            state.entries[state.nextID] = Entry(tag: tag, work: work)
            return state.nextID
        }
    }

    /// Replaces the work of the call, when its task starts or when only its body still streams. If the call was
    /// cancelled before, cancels the new work at once.
    func update(_ id: Ticket, _ work: Work) {
        // The replaced entry is freed outside the lock: it may be the last owner of a stream.
        let replaced = state.withLock { state -> Entry? in
            guard let entry = state.entries[id] else { return nil }
            // The entry is replaced as a whole: a change in place would cost three allocations.
            state.entries[id] = Entry(tag: entry.tag, work: work, canceller: entry.canceller)
            return entry
        }
        if replaced?.canceller != nil { work.cancel() }
    }

    /// The source of the cancellation; nil if the calling task cancelled the call, or if it is not cancelled.
    func canceller(of id: Ticket) -> Canceller? {
        state.withLock { $0.entries[id]?.canceller }
    }

    func remove(_ id: Ticket) {
        let (waiters, _) = state.withLock { state -> ([CheckedContinuation<Void, Never>], Entry?) in
            let entry = state.entries.removeValue(forKey: id)
            guard state.entries.isEmpty else { return ([], entry) }
            defer { state.idleWaiters = [] }
            return (state.idleWaiters, entry)
        }
        waiters.forEach { $0.resume() }
    }

    /// Cancels all calls, or those with one tag.
    func cancelAll(tag: String? = nil) {
        cancel(tag.map { .tag($0) } ?? .cancelAll) { tag == nil || $0 == tag }
    }

    private func cancel(_ canceller: Canceller, where isChosen: (String?) -> Bool) {
        let cancelled = state.withLock { state in
            let chosen = state.entries.filter { isChosen($0.value.tag) }
            for id in chosen.keys { state.entries[id]?.canceller = canceller }
            return chosen.values.map(\.work)
        }
        cancelled.forEach { $0.cancel() }
    }

    /// Refuses new calls, cancels the calls in progress, and waits until they have ended.
    func shutdown() async {
        state.withLock { $0.isShutDown = true }
        cancel(.shutdown) { _ in true }
        await withCheckedContinuation { continuation in
            let isIdle = state.withLock { state in
                guard !state.entries.isEmpty else { return true }
                state.idleWaiters.append(continuation)
                return false
            }
            if isIdle { continuation.resume() }
        }
    }
}
