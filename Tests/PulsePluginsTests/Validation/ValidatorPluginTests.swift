// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulsePlugins
import PulseTesting
import TestSupport
import Testing

@Suite(.throttled)
struct ValidatorPluginTests {
    private struct Fault: Error, Equatable {
        var code = 0
    }

    private struct FaultBody: Decodable {
        let error: Int
    }

    /// A wire with scripted responses; the last one repeats.
    private final class Script: Sendable {
        private let state: Locked<(responses: [String], requests: [URLRequest])>

        init(_ responses: String...) {
            state = Locked((responses, []))
        }

        var requests: [URLRequest] { state.withLock { $0.requests } }
        var count: Int { requests.count }

        func respond(to request: URLRequest) -> PulseResponse {
            let body = state.withLock { state in
                state.requests.append(request)
                return state.responses.count > 1 ? state.responses.removeFirst() : state.responses[0]
            }
            return PulseResponse(statusCode: 200, data: Data(body.utf8), request: request)
        }
    }

    private static func text(_ response: PulseResponse) -> String {
        String(decoding: response.data, as: UTF8.self)
    }

    private static func fault(_ body: () async throws -> Void) async -> Fault? {
        do {
            try await body()
            return nil
        } catch PulseError.custom(let error) {
            return error as? Fault
        } catch {
            return nil
        }
    }

    /// Returns this verdict for the body "bad".
    private static func onBad(_ verdict: Validator.Verdict) -> Validator {
        Validator { _, response, _ in text(response) == "bad" ? verdict : .accept }
    }

    // MARK: Accept, fail, replace

    @Test func validatorsRunInOrderAndContinueWithAReplacement() async throws {
        let asked = Locked<[String]>([])
        func noting(_ name: String, _ verdict: @escaping @Sendable (PulseResponse) -> Validator.Verdict) -> Validator {
            Validator { request, response, _ in
                asked.withLock { $0.append("\(name) \(request.httpMethod ?? "") \(Self.text(response))") }
                return verdict(response)
            }
        }
        let plugin = ValidatorPlugin([
            noting("1") { _ in .accept },
            noting("2") { response in
                var other = response
                other.data = Data("replaced".utf8)
                return .replace(other)
            },
            noting("3") { _ in .accept },
        ])
        let response = try await plugin.run { Script("sent").respond(to: $0) }
        #expect(Self.text(response) == "replaced")
        #expect(asked.withLock { $0 } == ["1 GET sent", "2 GET sent", "3 GET replaced"])
    }

    @Test func aFailureEndsTheAttemptWithItsErrorAndSkipsLaterValidators() async throws {
        let asked = Locked(false)
        let plugin = ValidatorPlugin([
            Self.onBad(.fail(Fault(code: 1))),
            Validator { _, _, _ in
                asked.withLock { $0 = true }
                return .accept
            },
        ])
        #expect(await Self.fault { _ = try await plugin.run { Script("bad").respond(to: $0) } } == Fault(code: 1))
        #expect(!asked.withLock { $0 })
        let throwing = ValidatorPlugin([Validator { _, _, _ in throw Fault(code: 2) }])
        #expect(await Self.fault { _ = try await throwing.run { Script("bad").respond(to: $0) } } == Fault(code: 2))
    }

    @Test func aPulseErrorOfAValidatorIsUnchangedAndRetried() async throws {
        let clock = TestClock(autoAdvances: true)
        let stub = Stub(.get, "/").reply(.text("bad"), .text("good"))
        let client = ClientStage.client(
            .root, plugins: [.validator(Self.onBad(.fail(PulseError.rateLimited(retryAfter: 7))))], retry: .default,
            clock: clock, over: MockTransport(stubs: [stub]))
        #expect(try await client.request(Request<String>(.get, "/")) == "good")
        #expect(clock.sleeps == [7])
        await client.shutdown()
    }

    @Test func networkErrorsAndFollowedRedirectsPassUnchanged() async throws {
        let judged = Locked<[Int]>([])
        let validator = Validator { _, response, _ in
            judged.withLock { $0.append(response.statusCode) }
            return .accept
        }
        await #expect(throws: PulseError.self) {
            try await ValidatorPlugin([validator]).run { _ in throw URLError(.timedOut) }
        }
        let client = ClientStage.client(
            .root, plugins: [.validator(validator)], retry: .default,
            over: MockTransport(stubs: [
                Stub(.get, "/old").reply(.status(302, headers: ["Location": "/new"])),
                Stub(.get, "/new").reply(.status(404)),
                Stub(.get, "/stays").reply(.status(304)),
            ]))
        _ = await client.result(of: Request<EmptyResponse>(.get, "/old"))
        _ = await client.result(of: Request<EmptyResponse>(.get, "/stays"))
        #expect(judged.withLock { $0 } == [404, 304])
        await client.shutdown()
    }

    @Test func aStreamThatDoesNotReachTheCallerIsCancelled() async throws {
        let cancelled = Locked(0)
        let respond: @Sendable (URLRequest) -> PulseResponse = { request in
            var response = PulseResponse(statusCode: 200, headers: ["X-Bad": "1"], request: request)
            response.body = .stream(ByteStream(next: { nil }, cancel: { cancelled.withLock { $0 += 1 } }))
            return response
        }
        let retained = Locked<[ByteStream]>([])
        func ending(_ verdict: @escaping @Sendable (PulseResponse) -> Validator.Verdict) -> ValidatorPlugin {
            ValidatorPlugin([
                Validator { _, response, _ in
                    // Retained, so that the stream is not cancelled by its own end.
                    if let stream = response.bytes { retained.withLock { $0.append(stream) } }
                    return verdict(response)
                }
            ])
        }
        _ = try? await ending { _ in .fail(Fault()) }.run(responding: respond)
        #expect(cancelled.withLock { $0 } == 1)
        _ = try? await ending { _ in .retry(otherwise: Fault()) }.run(responding: respond)
        #expect(cancelled.withLock { $0 } == 4)
        let response = try await ending { .replace(PulseResponse(statusCode: 200, request: $0.request)) }
            .run(responding: respond)
        #expect(response.bytes == nil && cancelled.withLock { $0 } == 5)
        let same = try await ending { .replace($0) }.run(responding: respond)
        #expect(same.bytes != nil && cancelled.withLock { $0 } == 5)
    }

    // MARK: Errors in a 200

    @Test(arguments: [
        (#"{"error": 5}"#, 200, Fault(code: 5)), (#"{"error": 0}"#, 200, nil), (#"{"users": []}"#, 200, nil),
        ("[]", 200, nil), ("", 200, nil), ("<html>", 200, nil), (#"{"error": 5}"#, 500, nil),
    ])
    private func anErrorInsideA200IsFound(_ body: String, _ status: Int, _ expected: Fault?) async throws {
        let plugin = ValidatorPlugin([
            .errorBody(FaultBody.self) { $0.error == 0 ? nil : Fault(code: $0.error) }
        ])
        let fault = await Self.fault {
            let response = try await plugin.run { request in
                PulseResponse(statusCode: status, data: Data(body.utf8), request: request)
            }
            #expect(Self.text(response) == body)
        }
        #expect(fault == expected)
    }

    @Test func anErrorBodyMayDemandARetry() async throws {
        let script = Script(#"{"error": 1}"#, #"{"error": 1}"#, #"{"fine": true}"#)
        let plugin = ValidatorPlugin([
            .errorBody(FaultBody.self, verdict: { _ in .retry(otherwise: Fault()) })
        ])
        #expect(Self.text(try await plugin.run { script.respond(to: $0) }) == #"{"fine": true}"#)
        #expect(script.count == 3)
    }

    // MARK: Resending

    @Test func aRetryWaitsByItsStrategyAndIsBounded() async throws {
        let (script, clock, events) = (Script("bad"), TestClock(autoAdvances: true), RecordingSink())
        let plugin = ValidatorPlugin(
            [Self.onBad(.retry(.exponential(base: 1, maxDelay: 30), otherwise: Fault(code: 3)))], maxRepeats: 3)
        let fault = await Self.fault {
            _ = try await plugin.run(in: .mock(clock: clock, events: events)) { script.respond(to: $0) }
        }
        #expect(fault == Fault(code: 3))
        #expect(script.count == 4)
        #expect(clock.sleeps == [1, 2, 4])
        let delays = events.events.compactMap { event -> TimeInterval? in
            guard case .requestRetrying(let summary, _, _) = event else { return nil }
            return summary.retryDelay
        }
        #expect(delays == [1, 2, 4])
    }

    @Test func aRetryThatWouldPassTheDeadlineFailsAtOnceWithItsOwnError() async throws {
        let (script, clock) = (Script("bad"), TestClock(autoAdvances: true))
        let plugin = ValidatorPlugin([Self.onBad(.retry(.constant(5), otherwise: Fault(code: 3)))])
        let fault = await Self.fault {
            _ = try await plugin.run(in: .mock(deadline: 5, clock: clock)) { script.respond(to: $0) }
        }
        #expect(fault == Fault(code: 3))
        #expect(script.count == 1 && clock.sleeps.isEmpty)
    }

    @Test func aPOSTWithoutAKeyIsResentOnlyIfTheValidatorAllowsIt() async throws {
        func sent(_ request: URLRequest, retriesUnsafeMethods: Bool, body: PluginContext.Body = .inRequest) async -> Int
        {
            let script = Script("bad", "good")
            let verdict = Validator.Verdict.retry(retriesUnsafeMethods: retriesUnsafeMethods, otherwise: Fault())
            let context = PluginContext.mock(for: request, body: body)
            _ = try? await ValidatorPlugin([Self.onBad(verdict)]).run(request, in: context) { script.respond(to: $0) }
            return script.count
        }
        #expect(await sent(.mock(.post), retriesUnsafeMethods: false) == 1)
        #expect(await sent(.mock(.patch), retriesUnsafeMethods: false) == 1)
        #expect(await sent(.mock(.post), retriesUnsafeMethods: true) == 2)
        #expect(await sent(.mock(.post, headers: ["Idempotency-Key": "k"]), retriesUnsafeMethods: false) == 2)
        #expect(await sent(.mock(.put), retriesUnsafeMethods: false) == 2)
        let oneShot = PluginContext.Body.stream(RequestBody.Stream(length: nil, isOneShot: true) { ByteStream([]) })
        #expect(await sent(.mock(.put), retriesUnsafeMethods: true, body: oneShot) == 1)
    }

    @Test func eachRequestOfAnAttemptHasItsOwnWireAttempt() async throws {
        let script = Script("bad", "good")
        let seen = Locked<[Int]>([])
        let chain = PluginChain.mock([
            ValidatorPlugin([Self.onBad(.retry(otherwise: Fault()))]),
            CountingPlugin { context in seen.withLock { $0.append(context.wireAttempt) } },
        ]) { script.respond(to: $0) }
        _ = try await chain(.mock())
        #expect(seen.withLock { $0 } == [1, 2])
    }

    private struct CountingPlugin: PulsePlugin {
        let identifier = "com.example.counting"
        let note: @Sendable (PluginContext) -> Void

        func prepare(_ request: inout URLRequest, for context: PluginContext) async throws { note(context) }
    }

    @Test func aCancelledCallDoesNotWaitForARetry() async throws {
        let (script, clock) = (Script("bad"), TestClock())
        let plugin = ValidatorPlugin([Self.onBad(.retry(.constant(5), otherwise: Fault()))])
        let call = Task { try await plugin.run(in: .mock(clock: clock)) { script.respond(to: $0) } }
        await clock.sleepers(atLeast: 1)
        call.cancel()
        let error = await #expect(throws: PulseError.self) { try await call.value }
        #expect(error?.kind == .cancelled)
        #expect(clock.sleeperCount == 0)
    }

    @Test(arguments: [10, 60, 300])
    func resendsToAHostStayWithinTheRetryBudgetOfItsClient(calls: Int) async throws {
        let clock = TestClock()
        let transport = MockTransport { PulseResponse(statusCode: 200, data: Data("bad".utf8), request: $0) }
        let client = ClientStage.client(
            .root, plugins: [ValidatorPlugin([Self.onBad(.retry(otherwise: Fault()))], maxRepeats: 1)], retry: .default,
            clock: clock, over: transport)
        for _ in 0..<calls {
            #expect(await Self.fault { _ = try await client.request(Request<Data>(.get, "/data")) } == Fault())
        }
        // 30 in any 10 seconds, or a fifth of the calls.
        #expect(transport.requests.count == calls + min(calls, max(30, calls / 5)))
        await client.shutdown()
    }
}
