// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@Suite(.throttled)
struct BroadcastTests {
    @Test func aSlowSubscriberGetsTheNewestValuesAndIsForgottenWhenItLeaves() async {
        let broadcast = Broadcast(1, bufferSize: 1)
        var seen: [Int] = []
        for await value in broadcast.updates() {
            seen.append(value)
            broadcast.set(value + 1)
            broadcast.set(value + 2)
            if value > 4 { break }
        }
        #expect(seen == [1, 3, 5])
        #expect(!broadcast.hasSubscribers)
    }

    @Test func aStreamOfChangesAloneDoesNotStartWithTheCurrentValue() async {
        let broadcast = Broadcast(1, bufferSize: 4)
        let changes = broadcast.updates(startingWithCurrent: false)
        broadcast.update(1)
        broadcast.set(2)
        broadcast.finish(with: 3)
        var seen: [Int] = []
        for await value in changes { seen.append(value) }
        #expect(seen == [2, 3])
        #expect(broadcast.current == 3)
        for await value in broadcast.updates() { seen.append(value) }
        #expect(seen == [2, 3, 3])
    }

    @Test func itsEndEndsTheStreams() async {
        var broadcast: Broadcast<Int>? = Broadcast(1, bufferSize: 1)
        var stream = broadcast?.updates().makeAsyncIterator()
        broadcast = nil
        #expect(await stream?.next() == 1)
        #expect(await stream?.next() == nil)
    }
}
