// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulseTesting
import TestSupport
import Testing

/// Sockets that break at random points in every way, while tasks send, receive, ping, cancel and close. A
/// four-hundredth of `PULSE_STEPS` connections break in each of the four cases.
@Suite(.tags(.alone, .threads), .serialized, .throttled)
struct SocketScheduleTests {
    private static let steps = ProcessInfo.processInfo.environment["PULSE_STEPS"].flatMap(Int.init) ?? 2_000

    @Test(arguments: [false, true], [false, true])
    func cutsLoseNothingInSilence(isWire: Bool, compresses: Bool) async throws {
        var (ended, seed) = (0, UInt64(0))
        while ended < Self.steps / 400 {
            let schedule = SocketSchedule(seed: seed, compresses: compresses)
            ended += isWire ? try await schedule.overWire() : try await schedule.overMemory()
            seed += 1
        }
    }
}
