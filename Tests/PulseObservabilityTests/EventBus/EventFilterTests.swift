// SPDX-License-Identifier: MIT

import PulseCore
import PulseObservability
import TestSupport
import Testing

@Suite(.throttled)
struct EventFilterTests {
    private static let call = NetworkEvent.CallSummary.sample()

    private static func kinds(_ filter: PulseEventBus.Filter) -> Set<NetworkEvent.Kind> {
        Set(NetworkEvent.all(of: call).filter(filter.matches).map(\.kind))
    }

    @Test func eachEventHasTheKindOfItsName() {
        let events = NetworkEvent.all(of: Self.call)
        #expect(Set(events.map(\.kind)) == Set(NetworkEvent.Kind.allCases))
        #expect(events.count == NetworkEvent.Kind.allCases.count)
        for event in events {
            #expect("\(event)".hasPrefix(event.kind.rawValue), "\(event.kind)")
        }
    }

    @Test func anEventNamesItsCallIfItHasOne() {
        for event in NetworkEvent.all(of: Self.call) {
            let hasCall = Mirror(reflecting: event).children.contains {
                "\($0.value)".contains("CallSummary(")
            }
            #expect((event.call == Self.call) == hasCall, "\(event.kind)")
            #expect((event.call == nil) != hasCall, "\(event.kind)")
        }
    }

    @Test func filtersSelectEvents() {
        #expect(Self.kinds(.all).count == NetworkEvent.Kind.allCases.count)
        #expect(Self.kinds(.kinds(.warning, .cacheHit)) == [.warning, .cacheHit])
        #expect(Self.kinds(.route("GetUser")).count == 19)
        #expect(Self.kinds(.route("other")).isEmpty)
        #expect(Self.kinds(.host("API.example.com")) == Self.kinds(.call(Self.call.id)))
        #expect(Self.kinds(.call(UUID())).isEmpty)
        #expect(Self.kinds(.failures).isEmpty)
        #expect(Self.kinds(PulseEventBus.Filter { $0.call == nil }).count == 12)
    }

    @Test func filtersCanBeCombined() {
        #expect(Self.kinds(.kinds(.warning).or(.kinds(.cacheHit))) == [.warning, .cacheHit])
        #expect(Self.kinds(.kinds(.warning, .cacheHit).and(.route("GetUser"))) == [.cacheHit])
        #expect(Self.kinds(.kinds(.warning).inverted).count == NetworkEvent.Kind.allCases.count - 1)
        #expect(Self.kinds(.all.inverted).isEmpty)
    }

    @Test func aCancellationIsNotAFailure() {
        func matches(_ result: Result<NetworkEvent.ResponseSummary, PulseError.Summary>) -> Bool {
            PulseEventBus.Filter.failures.matches(.requestCompleted(result, Self.call, latency: 1))
        }
        #expect(matches(.error(.timeout)))
        #expect(!matches(.error(.cancelled)))
        #expect(!matches(.ok()))
    }

    @Test func aHostFilterMatchesPinningFailuresOfThatHostOnly() {
        #expect(PulseEventBus.Filter.host("a.example").matches(.pinningFailed(host: "A.example", seen: [])))
        #expect(!PulseEventBus.Filter.host("a.example").matches(.pinningFailed(host: "b.example", seen: [])))
    }

    @Test func filteredEventsTakeNoSpaceInTheBuffer() async {
        let bus = PulseEventBus()
        let subscription = bus.subscribe(matching: .kinds(.warning), bufferingNewest: 1)
        bus.emit(.warning("kept"))
        for _ in 0..<100 { bus.emit(.cacheHit(Self.call)) }
        #expect(subscription.droppedEventCount == 0)
        var iterator = subscription.makeAsyncIterator()
        guard case .warning("kept") = await iterator.next() else {
            Issue.record("the event was dropped")
            return
        }
    }
}
