// SPDX-License-Identifier: MIT

import PulseCore

/// The background sessions of a process: one for each identifier, since the system allows no more.
final class BackgroundRegistry: Sendable {
    /// Takes a launch of the app.
    typealias Owner = @Sendable (_ completion: @escaping @Sendable () -> Void) -> Void

    private struct Entry {
        var owner: Owner?
        /// The launches that have come before the owner.
        var early: [@Sendable () -> Void] = []
    }

    static let process = BackgroundRegistry()

    private let entries = Locked<[String: Entry]>([:])

    /// Throws ``TransferFailure/busy`` if the identifier is taken.
    func claim(_ identifier: String, _ owner: @escaping Owner) throws {
        let early = try entries.withLock { entries in
            guard entries[identifier]?.owner == nil else { throw TransferFailure.busy.asPulseError }
            let early = entries[identifier]?.early ?? []
            entries[identifier] = Entry(owner: owner)
            return early
        }
        early.forEach(owner)
    }

    /// The owner could not open its session.
    func release(_ identifier: String) {
        entries.withLock { $0[identifier]?.owner = nil }
    }

    /// The system has launched or resumed the app for a session.
    func launched(_ identifier: String, _ completion: @escaping @Sendable () -> Void) {
        let owner = entries.withLock { entries in
            let owner = entries[identifier]?.owner
            if owner == nil { entries[identifier, default: Entry()].early.append(completion) }
            return owner
        }
        owner?(completion)
    }
}
