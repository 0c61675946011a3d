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
        /// The deadline of the last call that left, once none waits.
        var lastDeadline: TimeInterval?
        var isExpired = false
        var lastFailure: PulseError?
        var status: Int?
        var failsForOtherWork = false
        /// The names of secret headers, with whether each is a signature.
        var secrets: [String: Bool] = [:]
        var request: URLRequest?

        /// What a call learns that joins late.
        var notes: [Call.Note] {
            var notes: [Call.Note] = secrets.map { .secret(header: $0.key, isSignature: $0.value) }
            if let status { notes.append(.responded(status: status)) }
            if failsForOtherWork { notes.append(.failsForOtherWork(true)) }
            return notes
        }
    }

    private let state = Locked(State())

    package init() {}

    /// Adds a call and returns its place, to be passed to ``leave(_:)`` later: one call may wait several times, as
    /// copies of it do.
    package func join(_ call: Call) -> Int {
        let (place, notes) = state.withLock { state in
            state.joined += 1
            state.calls[state.joined] = call
            return (state.joined, state.notes)
        }
        notes.forEach { call.record($0) }
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
        if let failure { call.record(.failure(failure)) }
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

    /// Records a note of the shared work for each of the calls, and for those that join later. A failure waits until a
    /// call leaves because of its deadline.
    func record(_ note: Call.Note) {
        // What is replaced is released after the lock is left.
        let (calls, replaced) = state.withLock { state -> (Members<Call>?, (any Sendable)?) in
            switch note {
            case .sent, .unsent: return (nil, nil)
            case .request(let request):
                defer { state.request = request }
                return (state.calls, state.request)
            case .responded(let status): state.status = status
            case .failure(let failure):
                defer { state.lastFailure = failure }
                return (nil, state.lastFailure)
            case .failsForOtherWork(let isSo): state.failsForOtherWork = isSo
            case .secret(let header, let isSignature): state.secrets[header] = isSignature
            }
            return (state.calls, nil)
        }
        calls?.forEach { $0.record(note) }
        withExtendedLifetime(replaced) {}
    }

    /// Marks the secret headers of the work as secret for a call that does not wait.
    package func tellSecrets(to call: Call) {
        for (header, isSignature) in state.withLock({ $0.secrets }) {
            call.record(.secret(header: header, isSignature: isSignature))
        }
    }

    /// The last request that the work sent; nil if it has sent none.
    package var sent: URLRequest? {
        state.withLock { $0.request }
    }
}
