// SPDX-License-Identifier: MIT

import PulseCore

/// The log that connections write and that tests read or wait for.
package final class ActivityLog: Sendable {
    private struct Waiter {
        let condition: @Sendable (MockServer.Activity) -> Bool
        let continuation: CheckedContinuation<MockServer.Activity, any Error>
    }

    private struct State {
        var activity = MockServer.Activity()
        var waiters: [Int: Waiter] = [:]
        var nextWaiter = 0
        var isOver = false
    }

    private let state = Locked(State())

    package init() {}

    package var activity: MockServer.Activity {
        state.withLock { $0.activity }
    }

    /// Suspends until the condition holds. Throws ``PulseError/cancelled`` if the task is cancelled or the server shuts
    /// down first.
    package func wait(
        until condition: @escaping @Sendable (MockServer.Activity) -> Bool
    ) async throws -> MockServer.Activity {
        let id = state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let (waits, activity) = state.withLock { state in
                    // Cancelled before this line: the handler below found nothing to wake.
                    let waits = !state.isOver && !Task.isCancelled
                    if waits { state.waiters[id] = Waiter(condition: condition, continuation: continuation) }
                    return (waits, state.activity)
                }
                // Not under the lock: a condition may call the server.
                let isMet = condition(activity)
                if waits, isMet {
                    takeWaiter(id)?.resume(returning: activity)
                } else if !waits {
                    continuation.resume(with: isMet ? .success(activity) : .failure(PulseError.cancelled))
                }
            }
        } onCancel: {
            takeWaiter(id)?.resume(throwing: PulseError.cancelled)
        }
    }

    /// Nil if it was resumed already.
    private func takeWaiter(_ id: Int) -> CheckedContinuation<MockServer.Activity, any Error>? {
        state.withLock { $0.waiters.removeValue(forKey: id)?.continuation }
    }

    /// Ends all waits, since no more events follow.
    package func finish() {
        let waiters = state.withLock { state in
            state.isOver = true
            defer { state.waiters = [:] }
            return state.waiters.values.map(\.continuation)
        }
        waiters.forEach { $0.resume(throwing: PulseError.cancelled) }
    }

    func forgetRequests() {
        change { activity in
            activity.requests = []
            activity.incompleteRequests = []
            activity.malformedRequests = []
        }
    }

    // MARK: Reports of connections

    /// Adds a connection, and returns its index.
    package func accepted() -> Int {
        change { activity in
            let index = activity.connections.count
            activity.connections.append(MockServer.Connection(index: index))
            return index
        }
    }

    package func began(_ request: RecordedRequest) {
        change { activity in
            activity.connections[request.connection].requestCount += 1
            activity.incompleteRequests.append(request)
        }
    }

    func received(_ bodyByteCount: Int, of request: RecordedRequest) {
        change { activity in
            guard let index = activity.indexOfIncomplete(request) else { return }
            activity.incompleteRequests[index].bodyByteCount = bodyByteCount
        }
    }

    package func completed(_ request: RecordedRequest) {
        change { activity in
            if let index = activity.indexOfIncomplete(request) { activity.incompleteRequests.remove(at: index) }
            activity.requests.append(request)
        }
    }

    func cutShort(_ request: RecordedRequest) {
        change { activity in
            guard let index = activity.indexOfIncomplete(request) else { return }
            activity.incompleteRequests[index] = request
        }
    }

    func malformed(_ request: MalformedRequest) {
        change { $0.malformedRequests.append(request) }
    }

    func sent(_ count: Int, on connection: Int) {
        change { $0.connections[connection].sentByteCount += count }
    }

    /// Adds a socket, and returns its index.
    func opened(_ socket: ServerSocket.Record) -> Int {
        change { activity in
            activity.sockets.append(socket)
            return activity.sockets.count - 1
        }
    }

    func changed(_ socket: ServerSocket.Record, at index: Int) {
        change { $0.sockets[index] = socket }
    }

    /// The first ending counts.
    package func ending(_ ending: MockServer.Connection.Ending, of connection: Int) {
        change { activity in
            if activity.connections[connection].ending == nil { activity.connections[connection].ending = ending }
        }
    }

    package func closed(_ connection: Int) {
        change { $0.connections[connection].isOpen = false }
    }

    private func change<Result>(_ body: (inout MockServer.Activity) -> Result) -> Result {
        let (result, activity, waiters) = state.withLock { state in
            let result = body(&state.activity)
            return (result, state.waiters.isEmpty ? nil : state.activity, state.waiters)
        }
        guard let activity else { return result }
        for (id, waiter) in waiters where waiter.condition(activity) {
            takeWaiter(id)?.resume(returning: activity)
        }
        return result
    }
}

extension MockServer.Activity {
    fileprivate func indexOfIncomplete(_ request: RecordedRequest) -> Int? {
        incompleteRequests.lastIndex {
            $0.connection == request.connection && $0.indexOnConnection == request.indexOnConnection
        }
    }
}
