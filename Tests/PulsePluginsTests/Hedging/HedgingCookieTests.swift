// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulsePlugins
import PulseTesting
import TestSupport
import Testing

/// The cookies of a call and its copy.
@Suite(.throttled)
struct HedgingCookieTests {
    /// Reports when it stores a response's cookies.
    private struct Store: CookieStore {
        let cookies = MemoryCookieStore()
        let responses = Gate(isOpen: true)

        func cookieHeader(for url: URL, now: Date) async -> String? {
            await cookies.cookieHeader(for: url, now: now)
        }

        func store(setCookie lines: [String], from url: URL, now: Date) async {
            await cookies.store(setCookie: lines, from: url, now: now)
            await responses.pass()
        }
    }

    private static let data = Request<Data>(.get, "/data")

    private let clock = TestClock()
    private let wire = HeldWire()
    private let store = Store()

    /// A client that has made enough quick calls for a copy. Its later requests wait on the wire.
    private func client() async throws -> (client: PulseClient, transport: MockTransport) {
        let isHeld = Locked(false)
        let transport = MockTransport { [wire] request in
            guard isHeld.withLock({ $0 }) else { return PulseResponse(statusCode: 200, request: request) }
            return try await wire.respond(to: request)
        }
        let client = ClientStage.client(
            .root.with(\.cookieStore, value: store), plugins: [.hedging(delay: .fixed(0.2))], clock: clock,
            over: transport)
        for _ in 0..<19 { _ = try await client.rawRequest(Self.data) }
        isHeld.withLock { $0 = true }
        return (client, transport)
    }

    /// A call that is sent twice, with another session cookie the second time.
    private func sendTwice(_ client: PulseClient, to url: URL) async -> Task<PulseResponse, any Error> {
        await store.cookies.store(setCookie: ["session=1"], from: url, now: clock.now)
        let call = Task { try await client.rawRequest(Self.data) }
        await wire.arrivals(1)
        await store.cookies.store(setCookie: ["session=2"], from: url, now: clock.now)
        await clock.sleepers(atLeast: 1)
        await clock.advance(by: 0.2)
        await wire.arrivals(2)
        return call
    }

    private static func response(_ status: Int, setting line: String) -> Result<PulseResponse, any Error> {
        .success(PulseResponse(statusCode: status, headers: ["Set-Cookie": line], request: .mock()))
    }

    @Test func eachCopyHasCurrentCookiesAndOnlyTheWinnersCookiesAreStored() async throws {
        let url = try #require(URL(string: "https://api.example.com/data"))
        let (client, transport) = try await self.client()
        let call = await sendTwice(client, to: url)
        wire.release(1, Self.response(200, setting: "winner=1"))
        _ = try await call.value
        await wire.cancellations(1)
        // Its response never arrives.
        wire.release(0, Self.response(200, setting: "loser=1"))
        await client.shutdown()
        let sent = transport.requests.suffix(2).map { $0.value(forHTTPHeaderField: "Cookie") }
        #expect(sent == ["session=1", "session=2"])
        #expect(Set(store.cookies.cookies(for: url, now: clock.now).map(\.name)) == ["session", "winner"])
    }

    @Test func theCookiesOfAFailedResponseAreStored() async throws {
        let url = try #require(URL(string: "https://api.example.com/data"))
        let (client, _) = try await self.client()
        let call = await sendTwice(client, to: url)
        wire.release(0, Self.response(503, setting: "loser=1"))
        await store.responses.arrivals(atLeast: 1)
        wire.release(1, Self.response(200, setting: "winner=1"))
        #expect(try await call.value.statusCode == 200)
        #expect(Set(store.cookies.cookies(for: url, now: clock.now).map(\.name)) == ["session", "loser", "winner"])
        await client.shutdown()
    }
}
