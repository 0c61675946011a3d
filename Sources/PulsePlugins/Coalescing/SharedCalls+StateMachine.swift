// SPDX-License-Identifier: MIT

extension SharedCalls {
    /// Who waits for which request.
    struct StateMachine<Key: Hashable & Sendable>: Sendable {
        /// A place in the line for a run's result.
        struct Ticket: Hashable, Sendable {
            /// No other has it.
            let number: Int
            let run: Int
            /// Its call began the run.
            let isFirst: Bool

            func hash(into hasher: inout Hasher) {
                hasher.combine(number)
            }
        }

        private struct Run {
            let number: Int
            var tickets: Set<Ticket>
        }

        private var runs: [Key: Run] = [:]
        private var count = 0

        /// Runs that somebody waits for.
        var runCount: Int { runs.count }
        /// Room that is taken whether or not there are runs.
        var reservedPlaces: Int { runs.capacity }

        /// A ticket for the run under way, or for one that is to begin if the ticket is its first.
        mutating func join(_ key: Key) -> Ticket {
            count += 1
            guard let run = runs[key] else {
                let ticket = Ticket(number: count, run: count, isFirst: true)
                runs[key] = Run(number: count, tickets: [ticket])
                return ticket
            }
            let ticket = Ticket(number: count, run: run.number, isFirst: false)
            runs[key]?.tickets.insert(ticket)
            return ticket
        }

        /// True if the run has to be cancelled: nobody waits for it any more, and nobody joins it.
        mutating func leave(_ ticket: Ticket, _ key: Key) -> Bool {
            guard let index = place(of: ticket.run, key), runs.values[index].tickets.remove(ticket) != nil,
                runs.values[index].tickets.isEmpty
            else { return false }
            removeRun(at: index)
            return true
        }

        /// Those who get the result. None for a run that was cancelled: its key may be another's by now.
        mutating func finish(_ run: Int, _ key: Key) -> Set<Ticket> {
            guard let index = place(of: run, key) else { return [] }
            defer { removeRun(at: index) }
            return runs.values[index].tickets
        }

        /// Ends every run.
        mutating func removeAll() {
            runs = [:]
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
