// SPDX-License-Identifier: MIT

/// The calls that wait for one piece of shared work. The latest of their deadlines limits the work.
///
/// Code that shares work between calls creates one group for each piece of work. Each call joins the group before it
/// waits, and leaves it afterwards. The work runs through a chain that is detached for the group. This has three
/// effects:
///
/// - No retry of the work sleeps past the latest deadline.
/// - A request that is cut off because that deadline has passed reports an exceeded deadline.
/// - A call whose own deadline expires earlier receives the last failure of the work so far.
package final class CallGroup: Sendable {
    private struct State {
        /// The calls by their number in the group.
        var calls: [Int: Call] = [:]
        var joined = 0
        /// The deadline of the last call that left; set once no call waits.
        var lastDeadline: TimeInterval?
        var isExpired = false
        var lastFailure: PulseError?
        var status: Int?
        var failsForOtherWork = false
        /// The names of the secret headers, and whether each is a signature.
        var secrets: [String: Bool] = [:]
        var request: URLRequest?

        /// The notes for a call that joins late.
        var notes: [Call.Note] {
            var notes: [Call.Note] = secrets.map { .secret(header: $0.key, isSignature: $0.value) }
            if let status { notes.append(.responded(status: status)) }
            if failsForOtherWork { notes.append(.failsForOtherWork(true)) }
            return notes
        }
    }

    private let state = Locked(State())

    package init() {}

    /// Adds a call and returns its number in the group, for ``leave(_:)``. One call may join several times, since
    /// copies of it wait separately.
    package func join(_ call: Call) -> Int {
        let (place, notes) = state.withLock { state in
            state.joined += 1
            state.calls[state.joined] = call
            return (state.joined, state.notes)
        }
        notes.forEach { call.record($0) }
        return place
    }

    /// Removes a call that no longer waits. Does nothing if the call has already left.
    ///
    /// If the call's deadline has ended the wait, the call receives the last failure of the work. Call this before
    /// cancelling work that no call waits for any more.
    package func leave(_ place: Int) {
        guard let call = state.withLock({ $0.calls[place] }) else { return }
        // Read outside the lock: the call may itself be shared work, whose deadline comes from other calls.
        let (isExpired, deadline) = (call.isExpired, call.deadline)
        let failure = state.withLock { state -> PulseError? in
            guard state.calls.removeValue(forKey: place) != nil else { return nil }
            if state.calls.isEmpty { (state.lastDeadline, state.isExpired) = (deadline, isExpired) }
            return isExpired ? state.lastFailure : nil
        }
        if let failure { call.record(.failure(failure)) }
    }

    /// The latest deadline of the calls, in the clock's uptime; nil if any call has none.
    package var deadline: TimeInterval? {
        let (calls, lastDeadline) = state.withLock { ($0.calls, $0.lastDeadline) }
        guard !calls.isEmpty else { return lastDeadline }
        var latest = -TimeInterval.infinity
        for call in calls.values { latest = max(latest, call.deadline ?? .infinity) }
        return latest < .infinity ? latest : nil
    }

    /// Whether no call waits any more because the last deadline has passed.
    var isExpired: Bool {
        state.withLock { $0.isExpired && $0.calls.isEmpty }
    }

    /// Records a note of the shared work in each call, and in calls that join later. A failure is held back until a
    /// call leaves because of its deadline.
    func record(_ note: Call.Note) {
        // The replaced value is released outside the lock.
        let (calls, replaced) = state.withLock { state -> ([Int: Call], (any Sendable)?) in
            switch note {
            case .sent, .unsent: return ([:], nil)
            case .request(let request):
                defer { state.request = request }
                return (state.calls, state.request)
            case .responded(let status): state.status = status
            case .failure(let failure):
                defer { state.lastFailure = failure }
                return ([:], state.lastFailure)
            case .failsForOtherWork(let isSo): state.failsForOtherWork = isSo
            case .secret(let header, let isSignature): state.secrets[header] = isSignature
            }
            return (state.calls, nil)
        }
        for call in calls.values { call.record(note) }
        withExtendedLifetime(replaced) {}
    }

    /// Marks the work's secret headers as secret for a call that does not wait.
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
