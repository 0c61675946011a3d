// SPDX-License-Identifier: MIT

import PulseCore

extension PulseRecorder {
    /// The content of a recorder: the newest calls, within a count and a budget of bytes, and the newest events.
    ///
    /// Room is made by dropping the bodies of the oldest calls first, then these calls; events have a share of their
    /// own, of which the oldest go. What comes late for a call that has gone changes nothing. Each step takes constant
    /// time but for the search among one call's exchanges.
    struct StateMachine: Sendable {
        static let maximumExchanges = 100
        static let maximumMarks = 100
        /// The share of the budget that events may take. A common budget is usually full: either each event would cost
        /// a body, or each body the events.
        private static let eventShare = 4

        private struct Entry {
            var call: RecordedCall
            /// The bytes of the call and of its exchanges.
            var cost: Int
            var place: Int
            /// The recorder's uptime when the call was first heard of: what the times of its marks are counted from.
            var seenAt: TimeInterval
        }

        private let maximumCalls: Int
        private let byteBudget: Int
        private let maximumEvents: Int
        private var entries: [UUID: Entry] = [:]
        /// The calls in order of their start. Those before `head` have gone.
        private var order: [UUID] = []
        private var head = 0
        /// Calls before this place have no bodies any more, and get none.
        private var firstWithBodies = 0
        private var dropped = DroppedCalls()
        private var events: [RecordedEvent] = []
        private var eventHead = 0
        private var eventByteCount = 0
        private var nextExchange: UInt64 = 0
        /// The bytes of calls and events.
        private(set) var byteCount = 0
        private(set) var recordedCallCount = 0
        private(set) var recordedEventCount = 0

        /// - Parameter maximumCalls: less than 1 counts as 1; the budgets less than 0 as 0.
        init(maximumCalls: Int, byteBudget: Int, maximumEvents: Int) {
            self.maximumCalls = max(1, maximumCalls)
            self.byteBudget = max(0, byteBudget)
            self.maximumEvents = max(0, maximumEvents)
        }

        var recording: PulseRecording {
            PulseRecording(
                calls: order[head...].compactMap { entries[$0]?.call }, events: Array(events[eventHead...]),
                recordedCallCount: recordedCallCount, recordedEventCount: recordedEventCount)
        }

        mutating func removeAll() {
            let next = nextExchange
            self = StateMachine(maximumCalls: maximumCalls, byteBudget: byteBudget, maximumEvents: maximumEvents)
            nextExchange = next
        }

        // MARK: Calls

        /// Notes that a call exists, unless it is known already or was dropped: attempts, hops and detached work of
        /// plugins all begin it, and any of them may come first.
        mutating func begin(_ call: @autoclosure () -> RecordedCall, id: UUID, at uptime: TimeInterval) {
            guard entries[id] == nil, !dropped.contains(id) else { return }
            let call = call()
            entries[id] = Entry(call: call, cost: call.cost, place: order.count, seenAt: uptime)
            order.append(id)
            byteCount += call.cost
            recordedCallCount += 1
            if order.count - head > maximumCalls { dropOldest() }
            makeRoom()
        }

        /// Ends a call. Without an outcome its last exchange tells how it ended, unless the end is known already.
        mutating func end(
            _ id: UUID, latency: TimeInterval, outcome: Result<ResponseSummary, ErrorSummary>?, traceID: String?
        ) {
            guard let call = entries[id]?.call, outcome != nil || call.outcome == nil,
                let outcome = outcome ?? call.outcomeOfRequests
            else { return }
            entries[id]?.call.latency = latency
            entries[id]?.call.outcome = outcome
            if let traceID { entries[id]?.call.traceID = traceID }
            add((entries[id]?.call.costOfEnd ?? 0) - call.costOfEnd, to: id)
            makeRoom()
        }

        mutating func mark(
            _ id: UUID, _ kind: RecordedCall.Mark.Kind, at uptime: TimeInterval, wait: TimeInterval? = nil,
            detail: String? = nil
        ) {
            guard let entry = entries[id], entry.call.marks.count < Self.maximumMarks else { return }
            let mark = RecordedCall.Mark(
                kind: kind, offset: max(0, uptime - entry.seenAt), wait: wait, detail: detail)
            entries[id]?.call.marks.append(mark)
            add(mark.cost, to: id)
            makeRoom()
        }

        // MARK: Exchanges

        /// Notes a request that is about to be sent, and returns the number to end it with.
        mutating func beginExchange(
            _ id: UUID, attempt: Int, hop: Int, offset: TimeInterval, request: RecordedExchange.Request
        ) -> UInt64 {
            nextExchange += 1
            guard let place = entries[id]?.place else { return nextExchange }
            var exchange = RecordedExchange(
                id: nextExchange, attempt: attempt, hop: hop, offset: offset, request: request)
            if place < firstWithBodies { exchange.dropBodies() }
            entries[id]?.call.exchanges.append(exchange)
            add(exchange.cost, to: id)
            dropSecondExchange(of: id)
            makeRoom()
            return nextExchange
        }

        /// Completes an exchange with what came of it.
        mutating func update(_ id: UUID, exchange: UInt64, _ change: (inout RecordedExchange) -> Void) {
            guard let entry = entries[id], let index = entry.call.exchanges.lastIndex(where: { $0.id == exchange })
            else { return }
            var changed = entry.call.exchanges[index]
            let before = changed.cost
            change(&changed)
            if entry.place < firstWithBodies { changed.dropBodies() }
            entries[id]?.call.exchanges[index] = changed
            add(changed.cost - before, to: id)
            makeRoom()
        }

        /// The first says what the call wanted, the last how it ended: what goes is between them.
        private mutating func dropSecondExchange(of id: UUID) {
            guard let exchanges = entries[id]?.call.exchanges, exchanges.count > Self.maximumExchanges else { return }
            add(-exchanges[1].cost, to: id)
            entries[id]?.call.exchanges.remove(at: 1)
            entries[id]?.call.omittedExchangeCount += 1
        }

        // MARK: Events

        mutating func add(_ event: RecordedEvent) {
            recordedEventCount += 1
            events.append(event)
            eventByteCount += event.cost
            byteCount += event.cost
            while events.count - eventHead > maximumEvents || eventByteCount > byteBudget / Self.eventShare {
                dropOldestEvent()
            }
            if eventHead > 64, eventHead * 2 > events.count {
                events.removeFirst(eventHead)
                eventHead = 0
            }
            makeRoom()
        }

        private mutating func dropOldestEvent() {
            let cost = events[eventHead].cost
            eventByteCount -= cost
            byteCount -= cost
            eventHead += 1
        }

        // MARK: Room

        private mutating func add(_ cost: Int, to id: UUID) {
            entries[id]?.cost += cost
            byteCount += cost
        }

        private mutating func makeRoom() {
            while byteCount > byteBudget, firstWithBodies < order.count {
                dropBodies(of: order[firstWithBodies])
                firstWithBodies += 1
            }
            while byteCount > byteBudget, head < order.count { dropOldest() }
        }

        private mutating func dropBodies(of id: UUID) {
            guard var exchanges = entries[id]?.call.exchanges else { return }
            let before = exchanges.reduce(0) { $0 + $1.cost }
            for index in exchanges.indices { exchanges[index].dropBodies() }
            entries[id]?.call.exchanges = exchanges
            add(exchanges.reduce(0) { $0 + $1.cost } - before, to: id)
        }

        private mutating func dropOldest() {
            guard head < order.count else { return }
            if let entry = entries.removeValue(forKey: order[head]) { byteCount -= entry.cost }
            dropped.insert(order[head])
            head += 1
            firstWithBodies = max(firstWithBodies, head)
            if head > 64, head * 2 > order.count { compact() }
        }

        /// Moves the remaining calls to the front; rare enough to cost nothing in the long run.
        private mutating func compact() {
            order.removeFirst(head)
            firstWithBodies -= head
            head = 0
            for (place, id) in order.enumerated() { entries[id]?.place = place }
        }
    }
}

extension RecordedCall {
    /// The end of a call that no event told of, as far as it is known.
    fileprivate var outcomeOfRequests: Result<ResponseSummary, ErrorSummary>? {
        guard let last = exchanges.last else { return nil }
        if let failure = last.failure { return .failure(failure) }
        return last.response.map {
            .success(
                ResponseSummary(
                    statusCode: $0.statusCode, byteCount: Int(clamping: $0.body.byteCount ?? 0), origin: $0.origin,
                    timings: $0.timings))
        }
    }
}
