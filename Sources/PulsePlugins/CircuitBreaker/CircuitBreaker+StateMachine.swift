// SPDX-License-Identifier: MIT

import PulseCore

extension CircuitBreaker {
    /// The longest cooldown with `backsOff`, in seconds.
    private static let longestCooldown: TimeInterval = 300
    /// The longest `Retry-After` that counts, in seconds: a faulty date must not block a host for years.
    private static let longestRetryAfter: TimeInterval = 3600

    /// Decides whether a call may pass now; also returns the resulting state change.
    mutating func admit(at now: TimeInterval) -> (Admission, Change?) {
        switch state {
        case .closed:
            return (.admitted(permit()), nil)
        case .isolated:
            return (.refused(retryAfter: .infinity), nil)
        case .open(let until) where now < until:
            return (.refused(retryAfter: until - now), nil)
        case .open:
            enter(.halfOpen)
            return (.admitted(newProbe(at: now)), .halfOpened)
        case .halfOpen:
            if !hasPermits {
                // A probe that never ends must not keep the circuit half-open forever. Its late result is ignored.
                probes.removeAll { [cooldown] in now - $0.start >= cooldown }
            }
            return (hasPermits ? .admitted(newProbe(at: now)) : .refused(retryAfter: 0), nil)
        }
    }

    /// Counts the result of an admitted call. Each permit is settled once.
    mutating func settle(_ permit: Permit, _ verdict: Verdict, at now: TimeInterval) -> Change? {
        guard isCurrent(permit) else { return nil }
        switch state {
        case .closed: return count(verdict, at: now)
        case .halfOpen: return settleProbe(permit, verdict, at: now)
        // These states issue no permits.
        case .open, .isolated: return nil
        }
    }

    /// Refuses every call until it is reset.
    mutating func isolate() -> Change? {
        let wasPassing = state == .closed || state == .halfOpen
        enter(.isolated)
        return wasPassing ? .opened : nil
    }

    // MARK: Closed

    private mutating func count(_ verdict: Verdict, at now: TimeInterval) -> Change? {
        switch verdict {
        case .ignored:
            return nil
        case .success(let isSlow):
            failures = 0
            window?.add(isFailure: false, isSlow: isSlow, at: now)
            return window?.trips == true ? open(at: now, retryAfter: nil) : nil
        case .failure(let retryAfter):
            failures += 1
            window?.add(isFailure: true, isSlow: false, at: now)
            return isTripped ? open(at: now, retryAfter: retryAfter) : nil
        }
    }

    private var isTripped: Bool {
        switch policy.trip {
        case .consecutiveFailures(let threshold): failures >= threshold
        case .rate: window?.trips == true
        }
    }

    // MARK: Half-open

    private var probeCount: Int { window == nil ? 1 : 3 }
    private var goodProbesToClose: Int { window == nil ? 1 : 2 }

    private var hasPermits: Bool {
        probes.count + goodProbes + badProbes < probeCount
    }

    private mutating func newProbe(at now: TimeInterval) -> Permit {
        lastProbe += 1
        probes.append(Probe(number: lastProbe, start: now))
        return permit(probe: lastProbe)
    }

    private mutating func settleProbe(_ permit: Permit, _ verdict: Verdict, at now: TimeInterval) -> Change? {
        guard let index = probes.firstIndex(where: { $0.number == permit.probe }) else { return nil }
        probes.remove(at: index)
        switch verdict {
        case .ignored:
            return nil
        case .success(isSlow: false):
            goodProbes += 1
            guard goodProbes >= goodProbesToClose else { return nil }
            openings = 0
            enter(.closed)
            return .closed
        case .success(isSlow: true):
            return countBadProbe(at: now, retryAfter: nil)
        case .failure(let retryAfter):
            return countBadProbe(at: now, retryAfter: retryAfter)
        }
    }

    /// Opens the circuit again as soon as the remaining probes cannot close it.
    private mutating func countBadProbe(at now: TimeInterval, retryAfter: TimeInterval?) -> Change? {
        badProbes += 1
        return badProbes > probeCount - goodProbesToClose ? open(at: now, retryAfter: retryAfter) : nil
    }

    // MARK: Changes

    private var cooldown: TimeInterval {
        // NaN counts as zero.
        policy.cooldownDuration > 0 ? policy.cooldownDuration : 0
    }

    private mutating func open(at now: TimeInterval, retryAfter: TimeInterval?) -> Change {
        openings += 1
        var duration = cooldown
        if policy.backsOff {
            let doubled = duration * TimeInterval(1 << min(openings - 1, 20))
            duration = max(duration, min(doubled, Self.longestCooldown))
        }
        duration = max(duration, min(retryAfter ?? 0, Self.longestRetryAfter))
        enter(.open(until: now + duration))
        return .opened
    }

    private mutating func enter(_ next: State) {
        state = next
        generation += 1
        failures = 0
        window = Self.window(policy)
        probes = []
        (goodProbes, badProbes) = (0, 0)
    }
}
