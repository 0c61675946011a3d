// SPDX-License-Identifier: MIT

import PulseCore

extension PulseRecorder {
    /// The content of a recorder: the newest calls, within a maximum count and a byte budget, and the newest events.
    ///
    /// To make room, it drops the bodies of the oldest calls first, then these calls. Events have a separate share of
    /// the budget, from which the oldest are dropped. Late events of a dropped call change nothing. Each step takes
    /// constant time, except for the search among one call's exchanges.
    struct StateMachine: Sendable {
        static let maxExchanges = 100
        static let maxMarks = 100
        /// The divisor for the share of the budget that events may take. A common budget is usually full: each event
        /// would then drop a body, or each body would drop events.
        private static let eventShare = 4

        private struct Entry {
            var call: PulseRecording.Call
            /// The bytes of the call and of its exchanges.
            var cost: Int
            var position: Int
            /// The recorder's uptime at the call's first event, from which the times of its marks are counted.
            var seenAt: TimeInterval
        }

        private let maxCalls: Int
        private let byteBudget: Int
        private let maxEvents: Int
        private var entries: [UUID: Entry] = [:]
        /// The calls in order of their start. Those before `head` were dropped.
        private var order: [UUID] = []
        private var head = 0
        /// Calls before this position have lost their bodies, and get no new ones.
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
        /// The time from which calls are recorded.
        private let since: Date?

        /// - Parameter maxCalls: less than 1 counts as 1; the other limits are at least 0.
        init(maxCalls: Int, byteBudget: Int, maxEvents: Int, since: Date? = nil) {
            self.since = since
            self.maxCalls = max(1, maxCalls)
            self.byteBudget = max(0, byteBudget)
            self.maxEvents = max(0, maxEvents)
        }

        var recording: PulseRecording {
            PulseRecording(
                calls: order[head...].compactMap { entries[$0]?.call }, events: Array(events[eventHead...]),
                recordedCallCount: recordedCallCount, recordedEventCount: recordedEventCount, since: since)
        }

        /// Removes everything. The removed calls count as dropped, so that their later attempts do not bring them back.
        mutating func removeAll(at date: Date? = nil) {
            var empty = StateMachine(
                maxCalls: maxCalls, byteBudget: byteBudget, maxEvents: maxEvents, since: date)
            empty.nextExchange = nextExchange
            empty.dropped = dropped
            for id in order[head...] { empty.dropped.insert(id) }
            self = empty
        }

        // MARK: Calls

        /// Adds a call, unless it is known already or was dropped. Attempts, hops and detached work of plugins all
        /// begin it, in any order.
        mutating func begin(_ call: @autoclosure () -> PulseRecording.Call, id: UUID, at uptime: TimeInterval) {
            guard entries[id] == nil, !dropped.contains(id) else { return }
            let call = call()
            entries[id] = Entry(call: call, cost: call.cost, position: order.count, seenAt: uptime)
            order.append(id)
            byteCount += call.cost
            recordedCallCount += 1
            if order.count - head > maxCalls { dropOldest() }
            evict()
        }

        /// Ends a call. Without an outcome, the last exchange determines how it ended, unless the end is known already.
        mutating func end(
            _ id: UUID, latency: TimeInterval, outcome: Result<NetworkEvent.ResponseSummary, PulseError.Summary>?,
            traceID: String?
        ) {
            guard let call = entries[id]?.call, outcome != nil || call.outcome == nil,
                let outcome = outcome ?? call.outcomeOfRequests
            else { return }
            entries[id]?.call.latency = latency
            entries[id]?.call.outcome = outcome
            if let traceID { entries[id]?.call.traceID = traceID }
            add((entries[id]?.call.costOfEnd ?? 0) - call.costOfEnd, to: id)
            evict()
        }

        mutating func mark(
            _ id: UUID, _ kind: PulseRecording.Call.Mark.Kind, at uptime: TimeInterval, wait: TimeInterval? = nil,
            detail: String? = nil
        ) {
            guard let entry = entries[id], entry.call.marks.count < Self.maxMarks else { return }
            let mark = PulseRecording.Call.Mark(
                kind: kind, offset: max(0, uptime - entry.seenAt), wait: wait, detail: detail)
            entries[id]?.call.marks.append(mark)
            add(mark.cost, to: id)
            evict()
        }

        // MARK: Exchanges

        /// Adds a request that is about to be sent, and returns the number of its exchange.
        mutating func beginExchange(
            _ id: UUID, attempt: Int, hop: Int, offset: TimeInterval, request: PulseRecording.Exchange.Request
        ) -> UInt64 {
            nextExchange += 1
            guard let position = entries[id]?.position else { return nextExchange }
            var exchange = PulseRecording.Exchange(
                id: nextExchange, attempt: attempt, hop: hop, offset: offset, request: request)
            if position < firstWithBodies { exchange.dropBodies() }
            entries[id]?.call.exchanges.append(exchange)
            add(exchange.cost, to: id)
            dropSecondExchange(of: id)
            evict()
            return nextExchange
        }

        /// Completes an exchange with its result.
        mutating func update(_ id: UUID, exchange: UInt64, _ change: (inout PulseRecording.Exchange) -> Void) {
            guard let entry = entries[id], let index = entry.call.exchanges.lastIndex(where: { $0.id == exchange })
            else { return }
            var changed = entry.call.exchanges[index]
            let before = changed.cost
            change(&changed)
            if entry.position < firstWithBodies { changed.dropBodies() }
            entries[id]?.call.exchanges[index] = changed
            add(changed.cost - before, to: id)
            evict()
        }

        /// Drops an exchange in the middle: the first shows the call's request, the last how it ended.
        private mutating func dropSecondExchange(of id: UUID) {
            guard let exchanges = entries[id]?.call.exchanges, exchanges.count > Self.maxExchanges else { return }
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
            while events.count - eventHead > maxEvents || eventByteCount > byteBudget / Self.eventShare {
                dropOldestEvent()
            }
            if eventHead > 64, eventHead * 2 > events.count {
                events.removeFirst(eventHead)
                eventHead = 0
            }
            evict()
        }

        private mutating func dropOldestEvent() {
            let cost = events[eventHead].cost
            eventByteCount -= cost
            byteCount -= cost
            eventHead += 1
        }

        // MARK: Eviction

        private mutating func add(_ cost: Int, to id: UUID) {
            entries[id]?.cost += cost
            byteCount += cost
        }

        private mutating func evict() {
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

        /// Moves the remaining calls to the front. Rare enough to take constant time on average.
        private mutating func compact() {
            order.removeFirst(head)
            firstWithBodies -= head
            head = 0
            for (position, id) in order.enumerated() { entries[id]?.position = position }
        }
    }
}

extension PulseRecording.Call {
    /// The outcome of a call without a completion event, as far as it is known.
    fileprivate var outcomeOfRequests: Result<NetworkEvent.ResponseSummary, PulseError.Summary>? {
        guard let last = exchanges.last else { return nil }
        if let failure = last.failure { return .failure(failure) }
        return last.response.map {
            .success(
                NetworkEvent.ResponseSummary(
                    statusCode: $0.statusCode, byteCount: Int(clamping: $0.body.byteCount ?? 0), origin: $0.origin,
                    timings: $0.timings))
        }
    }
}
