// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import TestSupport
import Testing

@testable import PulseTransports

@Suite(.throttled, .timeLimit(.minutes(15)))
struct CurlCommandQueueTests {
    private let queue = CurlCommandQueue()

    @Test func oneWakeupServesAllCommandsOfASleep() {
        queue.whileAsleep { mayBlock in
            #expect(mayBlock)
            #expect(queue.post(.resume(1)) == .wake)
            #expect(queue.post(.resume(2)) == .nothing)
        }
        #expect(queue.post(.resume(3)) == .nothing)
        // With commands the thread does not block, and needs no wakeup.
        queue.whileAsleep { mayBlock in
            #expect(!mayBlock)
            #expect(queue.post(.resume(4)) == .nothing)
        }
        #expect(queue.collect(underWay: 0).commands.count == 4)
        #expect(queue.isEmpty)
    }

    @Test func aSenderDrivesOnlyWhileFewTransfersAreUnderWay() {
        _ = queue.collect(underWay: 3)
        queue.whileAsleep { _ in
            #expect(queue.post(.resume(1), mayDrive: true) == .drive)
            // Nothing has woken the thread yet.
            #expect(queue.post(.resume(2), mayDrive: true) == .wake)
            #expect(queue.post(.resume(3), mayDrive: true) == .nothing)
        }
    }

    @Test func aClosedQueueAndACancelledSenderFail() {
        #expect(queue.post(.cancel(1), unless: { true }) == .fail)
        #expect(queue.isEmpty)
        #expect(queue.post(.cancel(2)) == .nothing)
        queue.close()
        #expect(queue.post(.cancel(3)) == .fail)
        queue.whileAsleep { #expect(!$0) }
        let (commands, isClosed) = queue.collect(underWay: 0)
        #expect(commands.count == 1 && isClosed)
        queue.whileAsleep { #expect(!$0) }
    }
}
#endif
