// SPDX-License-Identifier: MIT

import PulseCore

/// A launch of the app for the events of a background session, until the system's completion handler is called.
final class BackgroundLaunch: Sendable {
    private let completion: Locked<(@Sendable () -> Void)?>

    init(_ completion: @escaping @Sendable () -> Void) {
        self.completion = Locked(completion)
    }

    /// Calls the system's completion handler, once.
    func complete() {
        completion.withLock { $0.take() }?()
    }
}

/// The background sessions of a process: one for each identifier, since the system allows no more.
///
/// A launch ends after twenty seconds at the latest: the system terminates an app that takes half a minute.
final class BackgroundRegistry: Sendable {
    enum Event: Sendable {
        case launched(BackgroundLaunch)
        /// The time limit of a launch has passed, and its completion handler was called.
        case expired(BackgroundLaunch)
    }

    /// Receives the launches that occur while the session is open.
    typealias Owner = @Sendable (Event) -> Void

    private struct Entry {
        var isClaimed = false
        var owner: Owner?
        /// The launches that occurred before the session was open.
        var early: [BackgroundLaunch] = []
    }

    static let process = BackgroundRegistry()
    static let timeLimit: TimeInterval = 20

    private let clock: any PulseClock
    private let entries = Locked<[String: Entry]>([:])

    init(clock: any PulseClock = .system) {
        self.clock = clock
    }

    /// Throws ``TransferFailure/busy`` if the identifier is taken.
    func claim(_ identifier: String) throws {
        try entries.withLock { entries in
            guard entries[identifier]?.isClaimed != true else { throw TransferFailure.busy.asPulseError }
            entries[identifier, default: Entry()].isClaimed = true
        }
    }

    /// Releases the identifier of a session that could not be opened. Its launches wait for another attempt.
    func release(_ identifier: String) {
        entries.withLock { $0[identifier]?.isClaimed = false }
    }

    /// Registers the owner of a session that is open.
    ///
    /// - Returns: the launches that occurred before.
    func open(_ identifier: String, _ owner: @escaping Owner) -> [BackgroundLaunch] {
        entries.withLock { entries in
            defer { entries[identifier] = Entry(isClaimed: true, owner: owner) }
            return entries[identifier]?.early ?? []
        }
    }

    /// Records that the system has launched or resumed the app for a session.
    func launched(_ identifier: String, _ completion: @escaping @Sendable () -> Void) {
        let launch = BackgroundLaunch(completion)
        let owner = entries.withLock { entries in
            let owner = entries[identifier]?.owner
            if owner == nil { entries[identifier, default: Entry()].early.append(launch) }
            return owner
        }
        owner?(.launched(launch))
        Task.detached { [self] in
            try? await clock.sleep(Self.timeLimit, for: .timeout)
            expire(launch, of: identifier)
        }
    }

    private func expire(_ launch: BackgroundLaunch, of identifier: String) {
        let owner = entries.withLock { entries in
            entries[identifier]?.early.removeAll { $0 === launch }
            return entries[identifier]?.owner
        }
        launch.complete()
        owner?(.expired(launch))
    }
}
