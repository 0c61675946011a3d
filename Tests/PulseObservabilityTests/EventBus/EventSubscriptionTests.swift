// SPDX-License-Identifier: MIT

import PulseCore
import PulseObservability
import TestSupport
import Testing

@Suite(.throttled)
struct EventSubscriptionTests {
    @Test func aStuckReaderLosesOnlyItsOwnEvents() async {
        let bus = PulseEventBus()
        let stuck = bus.subscribe(bufferingNewest: 10)
        let reader = bus.subscribe(bufferingNewest: 100)
        for number in 0..<100 { bus.emit(.warning("\(number)")) }
        #expect(stuck.droppedEventCount == 90)
        #expect(reader.droppedEventCount == 0)
        #expect(bus.droppedEventCount == 90)
        reader.cancel()
        var texts: [String] = []
        for await event in reader {
            if case .warning(let text) = event { texts.append(text) }
        }
        let sent = (0..<100).map { "\($0)" }
        #expect(texts == sent)
    }

    @Test func droppedEventsOfAnEndedSubscriptionStayCounted() async {
        let bus = PulseEventBus()
        do {
            let subscription = bus.subscribe(bufferingNewest: 1)
            bus.emit(.warning("1"))
            bus.emit(.warning("2"))
            #expect(subscription.droppedEventCount == 1)
        }
        #expect(!bus.isActive)
        #expect(bus.droppedEventCount == 1)
    }

    @Test func aSubscriptionEndsWithItsIteratorEvenIfItIsRetained() async {
        let bus = PulseEventBus()
        let subscription = bus.subscribe(bufferingNewest: 1)
        bus.emit(.warning("1"))
        for await _ in subscription { break }
        #expect(!bus.isActive)
        bus.emit(.warning("2"))
        bus.emit(.warning("3"))
        #expect(subscription.droppedEventCount == 0)
    }

    @Test func aCancelledSubscriptionEndsAfterItsBufferedEvents() async {
        let bus = PulseEventBus()
        let subscription = bus.subscribe()
        bus.emit(.warning("1"))
        subscription.cancel()
        #expect(!bus.isActive)
        bus.emit(.warning("2"))
        var count = 0
        for await _ in subscription { count += 1 }
        #expect(count == 1)
    }

    @Test func aNegativeCapacityHoldsOneEvent() async {
        let bus = PulseEventBus()
        let subscription = bus.subscribe(bufferingNewest: -5)
        bus.emit(.warning("1"))
        #expect(subscription.droppedEventCount == 0)
        bus.emit(.warning("2"))
        #expect(subscription.droppedEventCount == 1)
    }

    /// The bus calls filters outside its lock.
    @Test func aFilterMayUseTheBus() async {
        let bus = PulseEventBus()
        let subscription = bus.subscribe(matching: PulseEventBus.Filter { [weak bus] _ in bus?.droppedEventCount == 0 })
        bus.emit(.warning("1"))
        subscription.cancel()
        var count = 0
        for await _ in subscription { count += 1 }
        #expect(count == 1)
    }
}
