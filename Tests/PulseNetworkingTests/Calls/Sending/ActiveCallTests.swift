// SPDX-License-Identifier: MIT

import PulseCore
import PulseObservability
import PulsePlatform
import PulseTesting
import TestSupport
import Testing

@testable import PulseCalls

@Suite(.throttled)
struct ActiveCallTests {
    private let calls = CallRegistry()
    private let deadlines = DeadlineHeap(clock: TestClock())
    private let gated = GatedCalls()

    private func call(tag: String? = nil) -> ActiveCall {
        var options = RequestOptions()
        options.tag = tag
        let call = Call(
            endpointPath: "1", routeType: nil, method: .get, host: "", options: options, delivery: .streamed,
            environment: CallEnvironment(clock: TestClock(), events: gated))
        let pipeline = PluginPipeline(client: [], retry: nil, configured: .never) { _, _, _ in
            throw PulseError.emptyBody
        }
        return ActiveCall(call, pipeline, in: calls)
    }

    private static func response(_ body: PulseResponse.Body) -> PulseResponse {
        var response = PulseResponse(statusCode: 200, request: .mock())
        response.body = body
        return response
    }

    @Test(arguments: [true, false])
    func aCancellationBeforeTheWorkStartsCancelsIt(byShutdown: Bool) async throws {
        let active = call()
        try active.begin()
        let shutdown = Task { if byShutdown { await calls.shutdown() } }
        if byShutdown { await eventually("the shutdown begins") { calls.isShutDown } }
        calls.cancelAll()
        let started = Gate()
        let work = Task<PulseResponse, any Error> {
            await started.pass()
            try Task.checkCancellation()
            return Self.response(.buffered(Data()))
        }
        let response = Task.startingNow { try await active.response(of: work, deadlines) }
        await eventually("the work is cancelled") { work.isCancelled }
        started.open()
        let error = await #expect(throws: PulseError.self) { try await response.value }
        #expect(error?.kind == .cancelled)
        await shutdown.value
        #expect(calls.count == 0)
    }

    /// The work is done, and the stream is not yet known to the call.
    @Test(arguments: ["all", "tag", "shutdown"])
    func aCancellationBetweenTheWorkAndTheStreamCancelsTheStream(how: String) async throws {
        let active = call(tag: "feed")
        try active.begin()
        let frees = Locked(0)
        let stream = ByteStream(next: { Data("x".utf8) }, cancel: { frees.withLock { $0 += 1 } })
        let work = Task<PulseResponse, any Error> { Self.response(.stream(stream)) }
        _ = await work.result
        calls.cancelAll(tag: "search")
        switch how {
        case "all": calls.cancelAll()
        case "tag": calls.cancelAll(tag: "feed")
        default:
            let calls = calls
            Task { await calls.shutdown() }
            await eventually("the shutdown begins") { calls.isShutDown }
        }
        _ = try await active.response(of: work, deadlines)
        await eventually("the stream is cancelled once") { frees.withLock { $0 } == 1 }
        await calls.shutdown()
        let reason =
            switch how {
            case "all": "by cancelAll() of the client"
            case "tag": #"by cancelAll(tag: "feed")"#
            default: "the client was shut down"
            }
        #expect(gated["1"].ends == ["cancelled: \(reason)"])
    }

    @Test func aCancellationOfAnotherTagLeavesTheStream() async throws {
        let active = call(tag: "feed")
        try active.begin()
        calls.cancelAll(tag: "search")
        let work = Task<PulseResponse, any Error> { Self.response(.stream(ByteStream([Data("abc".utf8)]))) }
        let response = try await active.response(of: work, deadlines)
        calls.cancelAll(tag: "search")
        #expect(try await response.bytes?.collect(upTo: 3) == Data("abc".utf8))
        await calls.shutdown()
        #expect(gated["1"].ends == ["success"])
    }

    @Test func theFirstCancellationIsTheReason() async throws {
        let active = call(tag: "feed")
        try active.begin()
        calls.cancelAll(tag: "feed")
        calls.cancelAll()
        let work = Task<PulseResponse, any Error> { throw CancellationError() }
        await #expect(throws: PulseError.self) { try await active.response(of: work, deadlines) }
        #expect(gated["1"].ends == [#"cancelled: by cancelAll(tag: "feed")"#])
    }

    @Test func nothingBeginsAfterAShutdown() async throws {
        await calls.shutdown()
        let error = #expect(throws: PulseError.self) { try call().begin() }
        #expect(error?.kind == .cancelled && calls.count == 0)
        #expect(gated["1"].ends == ["cancelled: the client was shut down"])
    }

    @Test func aCallWithAConnectionEndsWithItsHandshake() async throws {
        let active = call()
        try active.begin()
        let connection = CountedConnection()
        let work = Task<PulseResponse, any Error> { Self.response(.connection(connection)) }
        #expect(try await active.response(of: work, deadlines).connection === connection)
        #expect(gated["1"].ends == ["success"] && calls.count == 0)
        calls.cancelAll()
        #expect(connection.closeCount == 0)
    }

    @Test func aDroppedStreamEndsItsCall() async throws {
        let active = call()
        try active.begin()
        weak var dropped: ByteStream?
        do {
            let work = Task<PulseResponse, any Error> { Self.response(.stream(ByteStream { Data("x".utf8) })) }
            let response = try await active.response(of: work, deadlines)
            dropped = response.bytes
            #expect(dropped != nil && calls.count == 1)
        }
        await eventually("nothing retains the stream") { dropped == nil }
        await eventually("the call ends") { calls.count == 0 }
        #expect(gated["1"].ends == ["cancelled: by the calling task, or by a plugin"])
    }

    @Test func aShutdownWaitsForTheCompletionAfterAStream() async throws {
        let client = ClientStage.client(plugins: [gated], over: gated, events: PulseEventBus(sink: gated))
        let sent = Task.startingNow {
            try await client.perform(client.plan(GetUser(path: "1"), .init(), CallShape(delivery: .streamed)))
        }
        await eventually("the request is sent") { gated["1"].isSent }
        let stream = ByteStream([Data("abc".utf8)])
        gated.respond(to: "1", .success(.stream(stream)))
        _ = try await sent.value
        _ = try await stream.collect(upTo: 3)
        let isDown = Locked(false)
        let shutdown = Task {
            await client.shutdown()
            isDown.withLock { $0 = true }
        }
        await eventually("the plugin completes") { gated["1"].completions == 1 }
        await eventually("the shutdown begins") { client.calls.isShutDown }
        for _ in 0..<100 { await Task.yield() }
        #expect(!isDown.withLock { $0 } && gated["1"].ends.isEmpty)
        gated.complete("1")
        await shutdown.value
        #expect(gated["1"].ends == ["success"])
    }
}
