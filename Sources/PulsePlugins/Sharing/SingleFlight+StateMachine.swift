// SPDX-License-Identifier: MIT

import PulseCore

extension SingleFlight {
    /// A caller's place at a run.
    struct Ticket: Hashable, Sendable {
        /// Unique among the tickets.
        let number: Int
        let run: Int
        /// Whether its caller began the run.
        let isFirst: Bool
    }

    /// Who waits for which run. It decides; the object around it owns the tasks and resumes the callers.
    ///
    /// `Work` is what is kept of a run, `Seat` what is kept of a caller that waits.
    struct StateMachine<Work: Sendable, Subscriber: Sendable>: Sendable {
        private struct Run {
            let number: Int
            let work: Work
            /// Whether it goes on even if nobody waits.
            let isBackground: Bool
            /// By the tickets' numbers.
            var subscribers = Members<Subscriber>()
        }

        /// The runs that callers may still join.
        private var open: [Key: Run] = [:]
        /// The runs that nobody may join any more and that have not ended, by their numbers.
        private var closed: [Int: Run] = [:]
        private var count = 0

        /// Runs under way, whether or not somebody waits.
        var runCount: Int { open.count + closed.count }
        var subscriberCount: Int {
            open.values.reduce(0) { $0 + $1.subscribers.count } + closed.values.reduce(0) { $0 + $1.subscribers.count }
        }
        /// What is kept of the runs under way.
        var works: [Work] { open.values.map(\.work) + closed.values.map(\.work) }
        /// Room that is taken whether or not there are runs.
        var reservedCapacity: Int { open.capacity + closed.capacity }

        /// A seat at the run under way, or at one that is to begin if the ticket is its first; nil if there is none for
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

        /// The number of a new run that nobody waits for, and which goes on without anybody; nil if one is under way
        /// that will do as well. Callers may join it.
        mutating func startInBackground(_ key: Key, _ work: Work, unless willDo: (Key) -> Bool) -> Int? {
            guard open[key] == nil, !open.keys.contains(where: willDo) else { return nil }
            count += 1
            open[key] = Run(number: count, work: work, isBackground: true)
            return count
        }

        /// Gives up a place. Gives the run if it is to be cancelled, since nobody waits for it any more; nobody joins
        /// it then.
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

        /// Ends a run; gives the seats that get the result.
        mutating func finish(_ run: Int, _ key: Key) -> Members<Subscriber> {
            guard let index = index(of: run, key) else {
                defer { if closed.isEmpty, closed.capacity > 64 { closed = [:] } }
                return closed.removeValue(forKey: run)?.subscribers ?? Members()
            }
            defer { removeOpen(at: index) }
            return open.values[index].subscribers
        }

        /// Lets nobody join these runs any more.
        mutating func close(where isConcerned: (Key) -> Bool) {
            for (key, run) in open where isConcerned(key) {
                open[key] = nil
                closed[run.number] = run
            }
        }

        /// Lets nobody join the runs that nobody waits for, and gives these.
        mutating func closeUnattended() -> [Work] {
            for (key, run) in open where run.subscribers.isEmpty {
                open[key] = nil
                closed[run.number] = run
            }
            return closed.values.filter(\.subscribers.isEmpty).map(\.work)
        }

        /// Found once, since looking for a key compares all parts of two requests.
        private func index(of run: Int, _ key: Key) -> Dictionary<Key, Run>.Index? {
            guard let index = open.index(forKey: key), open.values[index].number == run else { return nil }
            return index
        }

        /// A dictionary keeps the room of its busiest moment.
        private mutating func removeOpen(at index: Dictionary<Key, Run>.Index) {
            open.remove(at: index)
            if open.isEmpty, open.capacity > 64 { open = [:] }
        }
    }
}
