// SPDX-License-Identifier: MIT

import PulseCore

extension SharedCalls {
    /// A place in the line for a run's result.
    struct Ticket: Hashable, Sendable {
        /// No other has it.
        let number: Int
        let run: Int
        /// Its call began the run.
        let isFirst: Bool
    }

    /// Who waits for which request. `Work` is what is kept of a run as long as somebody waits for it.
    struct StateMachine<Key: Hashable & Sendable, Work: Sendable>: Sendable {
        private struct Run {
            let number: Int
            let work: Work
            var tickets: Members<Ticket>
        }

        private var runs: [Key: Run] = [:]
        private var count = 0

        /// Runs that somebody waits for.
        var runCount: Int { runs.count }
        /// Room that is taken whether or not there are runs.
        var reservedPlaces: Int { runs.capacity }

        /// A ticket for the run under way, or for one that is to begin if the ticket is its first.
        mutating func join(_ key: Key, _ newWork: () -> Work) -> (Ticket, Work) {
            count += 1
            guard let index = runs.index(forKey: key) else {
                let (ticket, work) = (Ticket(number: count, run: count, isFirst: true), newWork())
                var tickets = Members<Ticket>()
                tickets[count] = ticket
                runs[key] = Run(number: count, work: work, tickets: tickets)
                return (ticket, work)
            }
            let ticket = Ticket(number: count, run: runs.values[index].number, isFirst: false)
            runs.values[index].tickets[count] = ticket
            return (ticket, runs.values[index].work)
        }

        /// True if the run has to be cancelled: nobody waits for it any more, and nobody joins it.
        mutating func leave(_ ticket: Ticket, _ key: Key) -> Bool {
            guard let index = place(of: ticket.run, key),
                runs.values[index].tickets.remove(ticket.number) != nil,
                runs.values[index].tickets.isEmpty
            else { return false }
            removeRun(at: index)
            return true
        }

        /// Those who get the result. None for a run that was cancelled: its key may be another's by now.
        mutating func finish(_ run: Int, _ key: Key) -> Members<Ticket> {
            guard let index = place(of: run, key) else { return Members() }
            defer { removeRun(at: index) }
            return runs.values[index].tickets
        }

        /// Ends every run; gives them by their numbers.
        mutating func removeAll() -> [(run: Int, work: Work)] {
            defer { runs = [:] }
            return runs.values.map { ($0.number, $0.work) }
        }

        /// Found once: to look for a key is to compare all that two requests have.
        private func place(of run: Int, _ key: Key) -> Dictionary<Key, Run>.Index? {
            guard let index = runs.index(forKey: key), runs.values[index].number == run else { return nil }
            return index
        }

        /// A dictionary keeps the room of its busiest moment.
        private mutating func removeRun(at index: Dictionary<Key, Run>.Index) {
            runs.remove(at: index)
            if runs.isEmpty, runs.capacity > 64 { runs = [:] }
        }
    }
}
