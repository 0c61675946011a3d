// SPDX-License-Identifier: MIT

import PulseCore

extension SingleFlight {
    /// Identifies a subscriber of a run.
    struct Ticket: Hashable, Sendable {
        /// Unique among all tickets.
        let number: Int
        let run: Int
        /// Whether its caller started the run.
        let isFirst: Bool
    }

    /// Tracks the runs and their subscribers. It decides; the enclosing object owns the tasks and resumes the callers.
    ///
    /// `Work` is the stored value of a run, `Subscriber` that of a waiting caller.
    struct StateMachine<Work: Sendable, Subscriber: Sendable>: Sendable {
        private struct Run {
            let number: Int
            let work: Work
            /// Whether the run continues without subscribers.
            let isBackground: Bool
            /// By the tickets' numbers.
            var subscribers = Members<Subscriber>()
        }

        /// The runs that callers may still join.
        private var open: [Key: Run] = [:]
        /// The unfinished runs that callers may not join any more, by number.
        private var closed: [Int: Run] = [:]
        private var count = 0

        /// Runs in progress, with or without subscribers.
        var runCount: Int { open.count + closed.count }
        var subscriberCount: Int {
            open.values.reduce(0) { $0 + $1.subscribers.count } + closed.values.reduce(0) { $0 + $1.subscribers.count }
        }
        /// The values of the runs in progress.
        var works: [Work] { open.values.map(\.work) + closed.values.map(\.work) }
        /// The capacity that is reserved even without runs.
        var reservedCapacity: Int { open.capacity + closed.capacity }

        /// Subscribes to the run in progress, or to a new one if the ticket is its first. Nil if `subscriber` rejects
        /// this caller.
        mutating func join(_ key: Key, _ newWork: () -> Work, subscriber: (Ticket, Work) -> Subscriber?) -> Subscriber?
        {
            count += 1
            guard let index = open.index(forKey: key) else {
                var run = Run(number: count, work: newWork(), isBackground: false)
                guard let subscriber = subscriber(Ticket(number: count, run: count, isFirst: true), run.work) else {
                    return nil
                }
                run.subscribers[count] = subscriber
                open[key] = run
                return subscriber
            }
            let run = open.values[index]
            guard let subscriber = subscriber(Ticket(number: count, run: run.number, isFirst: false), run.work) else {
                return nil
            }
            open.values[index].subscribers[count] = subscriber
            return subscriber
        }

        /// The number of a new background run, which continues without subscribers; nil if a suitable run is in
        /// progress. Callers may join it.
        mutating func startInBackground(_ key: Key, _ work: Work, unless willDo: (Key) -> Bool) -> Int? {
            guard open[key] == nil, !open.keys.contains(where: willDo) else { return nil }
            count += 1
            open[key] = Run(number: count, work: work, isBackground: true)
            return count
        }

        /// Removes a subscriber. Returns the run if it is to be cancelled, since it has no subscribers left; callers
        /// cannot join it then.
        mutating func leave(_ ticket: Ticket, _ key: Key) -> Work? {
            guard let index = index(of: ticket.run, key) else {
                guard closed[ticket.run]?.subscribers.remove(ticket.number) != nil, let run = closed[ticket.run] else {
                    return nil
                }
                return run.isBackground || !run.subscribers.isEmpty ? nil : run.work
            }
            guard open.values[index].subscribers.remove(ticket.number) != nil else { return nil }
            let run = open.values[index]
            guard !run.isBackground, run.subscribers.isEmpty else { return nil }
            removeOpen(at: index)
            closed[run.number] = run
            return run.work
        }

        /// Ends a run; returns the subscribers that get the result.
        mutating func finish(_ run: Int, _ key: Key) -> Members<Subscriber> {
            guard let index = index(of: run, key) else {
                defer { if closed.isEmpty, closed.capacity > 64 { closed = [:] } }
                return closed.removeValue(forKey: run)?.subscribers ?? Members()
            }
            defer { removeOpen(at: index) }
            return open.values[index].subscribers
        }

        /// Closes these runs to new subscribers.
        mutating func close(where isConcerned: (Key) -> Bool) {
            for (key, run) in open where isConcerned(key) {
                open[key] = nil
                closed[run.number] = run
            }
        }

        /// Closes the runs without subscribers, and returns them.
        mutating func closeUnattended() -> [Work] {
            for (key, run) in open where run.subscribers.isEmpty {
                open[key] = nil
                closed[run.number] = run
            }
            return closed.values.filter(\.subscribers.isEmpty).map(\.work)
        }

        /// The index is looked up once, since a lookup compares all parts of two requests.
        private func index(of run: Int, _ key: Key) -> Dictionary<Key, Run>.Index? {
            guard let index = open.index(forKey: key), open.values[index].number == run else { return nil }
            return index
        }

        /// Shrinks an empty dictionary, which would otherwise keep the capacity of its peak.
        private mutating func removeOpen(at index: Dictionary<Key, Run>.Index) {
            open.remove(at: index)
            if open.isEmpty, open.capacity > 64 { open = [:] }
        }
    }
}
