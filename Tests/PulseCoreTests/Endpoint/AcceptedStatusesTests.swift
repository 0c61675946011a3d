// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@Suite(.throttled)
struct AcceptedStatusesTests {
    @Test(arguments: [
        (RequestOptions.AcceptedStatuses.successful, [200, 204, 299], [100, 199, 300, 304, 404, 500, 0, -1]),
        (.successful(and: 304, 404), [200, 299, 304, 404], [199, 300, 303, 305, 403, 500]),
        (.only(201, 409), [201, 409], [200, 202, 299, 404]),
        (.only(), [], [200, 204, 404]),
        (.range(200...399), [200, 304, 399], [199, 400]),
        (.any, [0, -1, 100, 200, 404, 599, 999, Int.min, Int.max], []),
    ])
    func aSetContainsExactlyItsStatuses(statuses: RequestOptions.AcceptedStatuses, accepted: [Int], refused: [Int]) {
        for status in accepted { #expect(statuses.contains(status), "\(status)") }
        for status in refused { #expect(!statuses.contains(status), "\(status)") }
    }

    @Test(arguments: [
        RequestOptions.AcceptedStatuses.any, .successful, .successful(and: 401), .range(401...402), .range(400...401),
        .only(401, 402),
        .only(401),
    ])
    func withoutRemovesOnlyTheGivenStatus(statuses: RequestOptions.AcceptedStatuses) {
        #expect(!statuses.without(401).contains(401))
        for status in [Int.min, 200, 299, 300, 400, 402, Int.max] {
            #expect(statuses.without(401).contains(status) == statuses.contains(status), "\(status)")
        }
    }

    @Test
    func equalSetsAreEqual() {
        #expect(RequestOptions.AcceptedStatuses.successful == .range(200...299))
        #expect(RequestOptions.AcceptedStatuses.successful != .any)
        #expect(
            RequestOptions.AcceptedStatuses.only(200).hashValue == RequestOptions.AcceptedStatuses.only(200).hashValue)
    }
}
