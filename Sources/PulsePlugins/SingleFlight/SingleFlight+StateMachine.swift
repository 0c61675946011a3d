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
            let key: Key
            let work: Work
            /// Whether the run continues without subscribers.
            let isBackground: Bool
            /// Keyed by ticket number.
            var subscribers: [Int: Subscriber] = [:]
        }

        /// The unfinished runs, keyed by number.
        private var runs: [Int: Run] = [:]
        /// The numbers of the runs that callers may still join.
        private var open: [Key: Int] = [:]
        private var count = 0

        /// Runs in progress, with or without subscribers.
        var runCount: Int { runs.count }
        var subscriberCount: Int { runs.values.reduce(0) { $0 + $1.subscribers.count } }
        /// The values of the runs in progress.
        var works: [Work] { runs.values.map(\.work) }
        /// The capacity that is reserved even without runs.
        var reservedCapacity: Int { runs.capacity + open.capacity }

        /// Subscribes to the open run for this key, or to a new one. Nil if `subscriber` rejects this caller.
        mutating func join(_ key: Key, _ newWork: () -> Work, subscriber: (Ticket, Work) -> Subscriber?) -> Subscriber?
        {
            count += 1
            if let number = open[key], let work = runs[number]?.work {
                let subscriber = subscriber(Ticket(number: count, run: number, isFirst: false), work)
                runs[number]?.subscribers[count] = subscriber
                return subscriber
            }
            var run = Run(key: key, work: newWork(), isBackground: false)
            guard let subscriber = subscriber(Ticket(number: count, run: count, isFirst: true), run.work) else {
                return nil
            }
            run.subscribers[count] = subscriber
            (runs[count], open[key]) = (run, count)
            return subscriber
        }

        /// Starts a background run, which continues without subscribers and which callers may join. Returns its number,
        /// or nil if a suitable run is in progress.
        mutating func startInBackground(_ key: Key, _ work: Work, unless willDo: (Key) -> Bool) -> Int? {
            guard open[key] == nil, !open.keys.contains(where: willDo) else { return nil }
            count += 1
            (runs[count], open[key]) = (Run(key: key, work: work, isBackground: true), count)
            return count
        }

        /// Removes a subscriber. If it was the last one, closes the run and returns it for cancellation; a background
        /// run continues.
        mutating func leave(_ ticket: Ticket) -> Work? {
            guard runs[ticket.run]?.subscribers.removeValue(forKey: ticket.number) != nil, let run = runs[ticket.run],
                !run.isBackground, run.subscribers.isEmpty
            else { return nil }
            close(ticket.run, run.key)
            return run.work
        }

        /// Ends a run; returns the subscribers that get the result.
        mutating func finish(_ number: Int) -> [Subscriber] {
            guard let run = runs.removeValue(forKey: number) else { return [] }
            close(number, run.key)
            if runs.isEmpty, runs.capacity > 64 { runs = [:] }
            return Array(run.subscribers.values)
        }

        /// Closes these runs to new subscribers.
        mutating func close(where isConcerned: (Key) -> Bool) {
            for key in open.keys where isConcerned(key) { open[key] = nil }
        }

        /// Closes the runs without subscribers, and returns them.
        mutating func closeUnattended() -> [Work] {
            let unattended = runs.filter(\.value.subscribers.isEmpty)
            for (number, run) in unattended { close(number, run.key) }
            return unattended.values.map(\.work)
        }

        /// Closes a run to new subscribers. An empty dictionary releases the capacity of its peak.
        private mutating func close(_ number: Int, _ key: Key) {
            guard let index = open.index(forKey: key), open.values[index] == number else { return }
            open.remove(at: index)
            if open.isEmpty, open.capacity > 64 { open = [:] }
        }
    }
}
