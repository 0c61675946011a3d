// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage

extension CacheFlights {
    /// Who waits for which request. It decides; the object around it runs tasks and resumes who waits.
    struct StateMachine: Sendable {
        /// One place at a flight.
        struct Ticket: Hashable, Sendable {
            let flight: Int
            let place: Int
            /// Whose request it is.
            var isLeader: Bool { place == 0 }
        }

        private struct Flight {
            let key: CacheFlightKey
            var waiting: Set<Int> = []
            var nextPlace = 0
            /// It goes on though nobody waits: a validation behind an answer.
            let isBehind: Bool
        }

        private var numbers: [CacheFlightKey: Int] = [:]
        private var flights: [Int: Flight] = [:]
        private var nextNumber = 0

        var count: Int { flights.count }

        /// A place at the flight of that key; at a new one, as its leader, if there is none.
        mutating func join(_ key: CacheFlightKey) -> Ticket {
            let number = numbers[key] ?? begin(key, isBehind: false)
            let place = flights[number]?.nextPlace ?? 0
            flights[number]?.nextPlace += 1
            flights[number]?.waiting.insert(place)
            return Ticket(flight: number, place: place)
        }

        /// A flight for which nobody waits yet; nil if one for the same answer is under way, on whatever terms.
        mutating func beginBehind(_ key: CacheFlightKey) -> Int? {
            guard numbers[key] == nil, !numbers.keys.contains(where: { $0.key == key.key }) else { return nil }
            let number = begin(key, isBehind: true)
            // Nobody leads it: who joins follows.
            flights[number]?.nextPlace = 1
            return number
        }

        /// True if the flight is of no use any more.
        mutating func leave(_ ticket: Ticket) -> Bool {
            guard flights[ticket.flight]?.waiting.remove(ticket.place) != nil,
                let flight = flights[ticket.flight], flight.waiting.isEmpty, !flight.isBehind
            else { return false }
            // Nobody may join what is about to be cancelled.
            if numbers[flight.key] == ticket.flight { numbers[flight.key] = nil }
            return true
        }

        /// Ends a flight and gives who waits for it.
        mutating func finish(_ number: Int) -> [Ticket] {
            guard let flight = flights.removeValue(forKey: number) else { return [] }
            if numbers[flight.key] == number { numbers[flight.key] = nil }
            return flight.waiting.map { Ticket(flight: number, place: $0) }
        }

        /// Nobody joins these any more: what they bring was asked for before it became invalid.
        mutating func close(where isConcerned: (CacheKey) -> Bool) {
            for key in Array(numbers.keys) where isConcerned(key.key) { numbers[key] = nil }
        }

        private mutating func begin(_ key: CacheFlightKey, isBehind: Bool) -> Int {
            nextNumber += 1
            numbers[key] = nextNumber
            flights[nextNumber] = Flight(key: key, isBehind: isBehind)
            return nextNumber
        }
    }
}
