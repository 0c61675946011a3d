// SPDX-License-Identifier: MIT

import PulseCore
import PulseObservability
import TestSupport
import Testing

@Suite(.throttled)
struct PulseEventBusTests {
    private final class Sink: EventSink {
        private let texts = Locked<[String]>([])
        private let listens: Bool

        init(listens: Bool = true) {
            self.listens = listens
        }

        var isActive: Bool { listens }
        var all: [String] { texts.withLock { $0 } }

        func emit(_ event: NetworkEvent) {
            guard case .warning(let text) = event else { return }
            texts.withLock { $0.append(text) }
        }
    }

    private static func texts(_ stream: AsyncStream<NetworkEvent>, count: Int) async -> [String] {
        var texts: [String] = []
        for await event in stream {
            if case .warning(let text) = event { texts.append(text) }
            if texts.count == count { break }
        }
        return texts
    }

    @Test func isActiveOnlyWithAnActiveListener() {
        let bus = PulseEventBus()
        #expect(!bus.isActive)
        let inactive = Sink(listens: false)
        bus.addSink(inactive)
        #expect(!bus.isActive)
        let sink = Sink()
        bus.addSink(sink)
        #expect(bus.isActive)
        bus.removeSink(sink)
        #expect(!bus.isActive)
        do {
            let stream = bus.events
            #expect(bus.isActive)
            _ = stream
        }
        #expect(!bus.isActive)
    }

    @Test func everyReadOfEventsIsANewSubscription() async {
        let bus = PulseEventBus()
        let first = bus.events
        bus.emit(.warning("1"))
        let second = bus.events
        bus.emit(.warning("2"))
        #expect(await Self.texts(first, count: 2) == ["1", "2"])
        #expect(await Self.texts(second, count: 1) == ["2"])
    }

    @Test func aSlowReaderLosesTheOldestEventsWithoutAffectingOthers() async {
        let bus = PulseEventBus()
        let slow = bus.events
        let sink = Sink()
        bus.addSink(sink)
        for number in 0..<600 { bus.emit(.warning("\(number)")) }
        #expect(bus.droppedEventCount == 600 - 512)
        #expect(sink.all.count == 600)
        #expect(await Self.texts(slow, count: 512) == (88..<600).map(String.init))
    }

    @Test func aSinkIsCalledOnceInPlaceUntilItIsRemoved() {
        let bus = PulseEventBus()
        let sink = Sink()
        bus.addSink(sink)
        bus.addSink(sink)
        bus.emit(.warning("1"))
        #expect(sink.all == ["1"])
        bus.removeSink(sink)
        bus.emit(.warning("2"))
        #expect(sink.all == ["1"])
    }

    @Test func aSinkMayUseTheBusReentrantly() {
        final class Reentrant: EventSink {
            let bus: PulseEventBus
            let count = Locked(0)
            init(_ bus: PulseEventBus) { self.bus = bus }
            var isActive: Bool { true }
            func emit(_ event: NetworkEvent) {
                let count = count.withLock { count in
                    count += 1
                    return count
                }
                if count == 1 { bus.emit(event) } else { bus.removeSink(self) }
            }
        }
        let bus = PulseEventBus()
        let sink = Reentrant(bus)
        bus.addSink(sink)
        bus.emit(.warning("1"))
        #expect(sink.count.withLock { $0 } == 2)
        #expect(!bus.isActive)
    }

    @Test func anEventIsBuiltOnceAndOnlyForActiveListeners() async {
        let (bus, built) = (PulseEventBus(), Locked(0))
        func emit() {
            bus.emit(lazily: {
                built.withLock { $0 += 1 }
                return .warning("1")
            })
        }
        emit()
        bus.addSink(Sink(listens: false))
        emit()
        #expect(built.withLock { $0 } == 0)
        let (sinks, stream) = ([Sink(), Sink()], bus.events)
        sinks.forEach(bus.addSink)
        emit()
        #expect(built.withLock { $0 } == 1)
        #expect(sinks.map(\.all) == [["1"], ["1"]])
        #expect(await Self.texts(stream, count: 1) == ["1"])
    }

    @Test func cancellingAReadersTaskEndsItsSubscription() async {
        let bus = PulseEventBus()
        let stream = bus.events
        let reader = Task.startingNow {
            for await _ in stream {}
        }
        #expect(bus.isActive)
        reader.cancel()
        _ = await reader.result
        #expect(!bus.isActive)
    }

    @Test func theStreamsOfAReleasedBusEnd() async {
        var bus: PulseEventBus? = PulseEventBus()
        let stream = bus?.events
        bus?.emit(.warning("1"))
        bus = nil
        var count = 0
        if let stream {
            for await _ in stream { count += 1 }
        }
        #expect(count == 1)
    }
}

@Suite(.tags(.threads, .addresses), .throttled)
struct PulseEventBusStressTests {
    @Test func losesNothingFromManyThreadsToManyReaders() async {
        let bus = PulseEventBus()
        let streams = (0..<4).map { _ in bus.subscribe(bufferingNewest: 10_000) }
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    for number in 0..<1000 { bus.emit(.warning("\(number)")) }
                }
            }
        }
        for stream in streams {
            var count = 0
            for await _ in stream {
                count += 1
                if count == 8000 { break }
            }
            #expect(count == 8000)
        }
        #expect(bus.droppedEventCount == 0)
    }

    /// A new listener receives events at once, even while others unsubscribe.
    @Test func aNewSubscriberReceivesEventsWhileOthersUnsubscribe() async {
        let bus = PulseEventBus()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    for _ in 0..<2_000 {
                        let subscription = bus.subscribe(bufferingNewest: 4)
                        #expect(bus.isActive)
                        bus.emit(.warning("own"))
                        var iterator = subscription.makeAsyncIterator()
                        #expect(await iterator.next() != nil)
                        subscription.cancel()
                    }
                }
            }
        }
        #expect(!bus.isActive)
    }
}
