// SPDX-License-Identifier: MIT

/// The calls that wait for one piece of shared work, which may take as long as the most patient of them waits.
///
/// Code that shares work between calls makes one of these for each piece, lets every call join before it waits and
/// leave afterwards, and runs the work through a chain that is detached for it. Then no retry of the work sleeps past
/// the latest deadline, a wire that is cut because that deadline has passed says so, and a call whose own deadline
/// strikes earlier learns what has failed so far.
package final class CallGroup: Sendable {
    private struct State {
        /// The calls by their places.
        var calls = Members<Call>()
        var joined = 0
        /// The deadline of the last call that left, once nobody waits.
        var lastDeadline: TimeInterval?
        var isExpired = false
        var lastFailure: PulseError?
        var answer: Int?
        var isFailureOfOtherWork = false
        /// The names of secret headers, with whether each is a signature.
        var secrets: [String: Bool] = [:]
        var sent: URLRequest?
    }

    private let state = Locked(State())

    package init() {}

    /// Adds a call and returns its place, to be passed to ``leave(_:)`` later: one call may wait several times, as
    /// copies of it do.
    package func join(_ call: Call) -> Int {
        let (place, answer, secrets, isFailureOfOtherWork) = state.withLock { state in
            state.joined += 1
            state.calls[state.joined] = call
            return (state.joined, state.answer, state.secrets, state.isFailureOfOtherWork)
        }
        if let answer { call.noteAnswer(answer) }
        if isFailureOfOtherWork { call.isFailureOfOtherWork = true }
        for (name, isSignature) in secrets { call.markSecret(header: name, isSignature: isSignature) }
        return place
    }

    /// Removes a call that no longer waits; does nothing if it has left already.
    ///
    /// If its deadline has ended the wait, the call learns what the work had failed with. To be called before the work
    /// is cancelled because nobody waits any more.
    package func leave(_ place: Int) {
        guard let call = state.withLock({ $0.calls[place] }) else { return }
        // Read outside the lock: the call may be shared work itself, and its deadline that of others.
        let (isExpired, deadline) = (call.isExpired, call.deadline)
        let failure = state.withLock { state -> PulseError? in
            guard state.calls.remove(place) != nil else { return nil }
            if state.calls.isEmpty { (state.lastDeadline, state.isExpired) = (deadline, isExpired) }
            return isExpired ? state.lastFailure : nil
        }
        if let failure { call.lastFailure = failure }
    }

    /// The latest deadline of the calls, in the clock's uptime; nil if one of them has none.
    package var deadline: TimeInterval? {
        let (calls, lastDeadline) = state.withLock { ($0.calls, $0.lastDeadline) }
        guard !calls.isEmpty else { return lastDeadline }
        var latest = -TimeInterval.infinity
        calls.forEach { latest = max(latest, $0.deadline ?? .infinity) }
        return latest < .infinity ? latest : nil
    }

    /// Whether nobody waits any more because the last deadline has passed.
    var isExpired: Bool {
        state.withLock { $0.isExpired && $0.calls.isEmpty }
    }

    /// Notes the status with which a server has answered the work, for each of the calls, even those that join later.
    func noteAnswer(_ status: Int) {
        let calls = state.withLock { state in
            state.answer = status
            return state.calls
        }
        calls.forEach { $0.noteAnswer(status) }
    }

    /// Notes whether the work's failure is that of other work, for each of the calls, even those that join later.
    func noteFailureOfOtherWork(_ isSo: Bool) {
        let calls = state.withLock { state in
            state.isFailureOfOtherWork = isSo
            return state.calls
        }
        calls.forEach { $0.isFailureOfOtherWork = isSo }
    }

    /// Marks a header as secret for all who wait: it is in their answers and failures.
    func markSecret(_ name: String, isSignature: Bool) {
        let calls = state.withLock { state in
            state.secrets[name] = isSignature
            return state.calls
        }
        calls.forEach { $0.markSecret(header: name, isSignature: isSignature) }
    }

    /// Marks the same headers as secret for a call that does not wait.
    package func tellSecrets(to call: Call) {
        for (name, isSignature) in state.withLock({ $0.secrets }) {
            call.markSecret(header: name, isSignature: isSignature)
        }
    }

    /// The last request that the work sent; nil if it has sent none.
    package var sent: URLRequest? {
        state.withLock { $0.sent }
    }

    func noteSent(_ request: URLRequest) {
        let calls = state.withLock { state in
            state.sent = request
            return state.calls
        }
        calls.forEach { $0.noteSent(request) }
    }

    /// Notes what the work has failed with so far; nil once it has overcome that.
    func note(_ failure: PulseError?) {
        // The old value is released after the lock is left.
        _ = state.withLock { state in
            defer { state.lastFailure = failure }
            return state.lastFailure
        }
    }
}
