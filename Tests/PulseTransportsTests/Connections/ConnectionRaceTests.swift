// SPDX-License-Identifier: MIT

#if os(Linux)
import PulseCore
import TestSupport
import Testing

@testable import PulseTransports

@Suite(.throttled)
struct ConnectionRaceTests {
    @Test func eachAttemptHasTheFieldToItselfForAWhile() {
        var race = ConnectionRace(count: 3)
        #expect(race.step(now: 10) == .attempt(0))
        #expect(race.step(now: 10) == .wait(until: 10.25))
        #expect(race.step(now: 10.2) == .wait(until: 10.25))
        #expect(race.step(now: 10.25) == .attempt(1))
        #expect(race.step(now: 10.3) == .wait(until: 10.5))
        #expect(race.step(now: 11) == .attempt(2))
        #expect(race.step(now: 11) == .wait(until: .infinity))
    }

    @Test func aFailureLetsTheNextAttemptBeginAtOnce() {
        var race = ConnectionRace(count: 3)
        #expect(race.step(now: 0) == .attempt(0))
        race.noteFailure()
        #expect(race.step(now: 0) == .attempt(1))
        #expect(race.step(now: 0.1) == .wait(until: 0.25))
        race.noteFailure()
        #expect(race.step(now: 0.1) == .attempt(2))
        #expect(race.step(now: 0.1) == .wait(until: .infinity))
        race.noteFailure()
        #expect(race.step(now: 0.1) == .fail)
    }

    /// An earlier attempt may succeed after the last one has failed.
    @Test func theRaceFailsWithItsLastAttempt() {
        var race = ConnectionRace(count: 2)
        #expect(race.step(now: 0) == .attempt(0))
        #expect(race.step(now: 1) == .attempt(1))
        race.noteFailure()
        #expect(race.step(now: 2) == .wait(until: .infinity))
        race.noteFailure()
        #expect(race.step(now: 2) == .fail)
        var empty = ConnectionRace(count: 0)
        #expect(empty.step(now: 0) == .fail)
    }

    @Test(
        arguments: [
            (["1.1.1.1", "1.1.1.2", "::1", "::2", "::3"], ["1.1.1.1", "::1", "1.1.1.2", "::2", "::3"]),
            (["::1", "::2", "1.1.1.1"], ["::1", "1.1.1.1", "::2"]), (["::1", "::2"], ["::1", "::2"]), ([], []),
        ] as [([String], [String])])
    func theFamiliesTakeTurns(addresses: [String], order: [String]) {
        let sorted = SocketAddress.interleaved(addresses.compactMap { SocketAddress($0) })
        #expect(sorted.compactMap(\.text) == order)
    }

    @Test(
        arguments: [
            ("127.0.0.1", "127.0.0.1"), ("::1", "::1"), ("fe80::1%1", "fe80::1"), ("fe80::1%lo", "fe80::1"),
            ("2001:DB8::0:1", "2001:db8::1"), ("a.test", nil), ("[::1]", nil), ("", nil), ("1.2.3.4.5", nil),
            ("fe80::1%nothing-such", nil),
        ] as [(String, String?)])
    func addressesInNumbersAreRead(text: String, numbers: String?) {
        #expect(SocketAddress(text)?.text == numbers)
    }

    @Test func aPathIsAnAddressIfItFits() {
        #expect(SocketAddress(path: "/run/a.sock")?.family == AF_UNIX)
        #expect(SocketAddress(path: String(repeating: "a", count: 107)) != nil)
        #expect(SocketAddress(path: String(repeating: "a", count: 108)) == nil)
        #expect(SocketAddress(path: "") == nil)
    }
}
#endif
