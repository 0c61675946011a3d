// SPDX-License-Identifier: MIT

import Combine
import PulseKit
import Testing

@Suite(.timeLimit(.minutes(15)))
struct EventPublisherTests {
    private let bus = PulseEventBus()

    @MainActor
    @Test func eventsReachAClosureOnItsActorUntilItIsReleased() async {
        var texts: [String] = []
        var subscription: AnyCancellable? = bus.events.sink { event in
            MainActor.assertIsolated()
            if case .warning(let text) = event { texts.append(text) }
        }
        for text in ["a", "b"] { bus.emit(.warning(text)) }
        await eventually { texts.count == 2 }
        #expect(texts == ["a", "b"] && bus.isActive && subscription != nil)
        subscription = nil
        await eventually { !bus.isActive }
    }

    @MainActor
    @Test func anEventThatWaitsDuringACancelIsDiscarded() async {
        var texts: [String] = []
        var marker: Marker? = Marker()
        weak var closure: Marker?
        closure = marker
        let subscription = bus.events.sink { [marker] event in
            if marker != nil, case .warning(let text) = event { texts.append(text) }
        }
        marker = nil
        bus.emit(.warning("a"))
        subscription.cancel()
        // The end of the task releases the closure.
        await eventually { closure == nil }
        #expect(texts == [])
    }

    @Test func theBusIsAPublisherUpToTheDemand() {
        let probes = [Probe<NetworkEvent, Never>(.unlimited), Probe(.none)]
        for probe in probes { bus.subscribe(probe) }
        bus.emit(.warning("a"))
        #expect(probes.map(\.received.count) == [1, 0])
        probes[1].request(.max(1))
        bus.emit(.warning("b"))
        #expect(probes.map(\.received.count) == [2, 1])
        for probe in probes { probe.cancel() }
        #expect(!bus.isActive)
        bus.emit(.warning("c"))
        #expect(probes.map(\.received.count) == [2, 1])
    }
}

private final class Marker {}
