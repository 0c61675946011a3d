// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@Suite(.throttled)
struct WholeSecondTimeoutTests {
    private struct Whole: Endpoint {
        typealias Response = EmptyResponse
        let path = "/a"
        let timeoutInterval = 60
    }

    private struct Computed: Endpoint {
        typealias Response = EmptyResponse
        let path = "/a"
        var timeoutInterval: Int { 61 }
    }

    private struct Fraction: Endpoint {
        typealias Response = EmptyResponse
        let path = "/a"
        let timeoutInterval = 0.5
    }

    private struct Annotated: Endpoint {
        typealias Response = EmptyResponse
        let path = "/a"
        let timeoutInterval: TimeInterval = 62
    }

    private struct Bare: Endpoint {
        typealias Response = EmptyResponse
        let path = "/a"
    }

    private func seconds(of endpoint: some Endpoint) -> TimeInterval { endpoint.timeoutInterval }

    @Test
    func anIntPropertyIsATimeout() {
        #expect(seconds(of: Whole()) == 60)
        #expect(seconds(of: Computed()) == 61)
        #expect(Whole().mistypedRequirements.isEmpty)
    }

    @Test
    func aTimeIntervalPropertyStillWorks() {
        #expect(seconds(of: Fraction()) == 0.5)
        #expect(seconds(of: Annotated()) == 62)
        #expect(seconds(of: Bare()) == 0)
        let all: [any Endpoint] = [Whole(), Fraction(), Annotated(), Bare()]
        #expect(all.map { $0.timeoutInterval } == [60, 0.5, 62, 0])
        let inferred = Bare().timeoutInterval
        #expect(type(of: inferred) == TimeInterval.self)
    }

    @Test
    func anAppsProtocolMayProvideADefaultOfEitherType() {
        #expect(seconds(of: Patient()) == 90)
        #expect(seconds(of: Hasty()) == 2)
    }
}

private protocol PatientEndpoint: Endpoint {}

extension PatientEndpoint {
    var timeoutInterval: TimeInterval { 90 }
}

private struct Patient: PatientEndpoint {
    typealias Response = EmptyResponse
    let path = "/a"
}

private protocol HastyEndpoint: Endpoint {}

extension HastyEndpoint {
    var timeoutInterval: Int { 2 }
}

private struct Hasty: HastyEndpoint {
    typealias Response = EmptyResponse
    let path = "/a"
}
