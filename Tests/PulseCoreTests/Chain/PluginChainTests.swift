// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting
import TestSupport
import Testing

@Suite(.throttled)
struct PluginChainTests {
    private struct Fault: Error {}

    private let trace = Trace()

    private func plugin(_ name: String, _ scope: PluginScope = .attempt) -> ScriptedPlugin {
        ScriptedPlugin(name, scope, trace)
    }

    // MARK: Order

    @Test
    func pluginsAreSortedByScopeWithTheEndpointsFirst() {
        let pipeline = ChainUnderTest().pipeline(
            [plugin("a1"), plugin("c1", .call), plugin("r1", .retry), plugin("a2"), plugin("c2", .call)],
            endpoint: [plugin("ea"), plugin("ec", .call)])
        #expect(pipeline.plugins.map(\.identifier) == ["ec", "c1", "c2", "r1", "ea", "a1", "a2"])
    }

    @Test
    func theDefaultRetryLoopRunsBetweenTheScopes() {
        let pipeline = ChainUnderTest().pipeline([plugin("a"), plugin("c", .call)])
        #expect(pipeline.plugins.map(\.identifier) == ["c", "com.pulse.retry", "a"])
        #expect(ChainUnderTest().pipeline().plugins.map(\.identifier) == ["com.pulse.retry"])
    }

    @Test(arguments: [
        ([], [], false, "com.pulse.retry"), (["r1"], [], false, "r1"), (["r1", "r2"], [], false, "r2"),
        (["r1", "r2"], ["e1"], false, "e1"), (["r1"], ["e1", "e2"], false, "e2"), ([], ["e1"], false, "e1"),
        (["r1"], [], true, "com.pulse.retry"), (["r1"], ["e1"], true, "com.pulse.retry"),
    ])
    func exactlyOneRetryLoopRuns(client: [String], endpoint: [String], hasOption: Bool, winner: String) {
        let pipeline = ChainUnderTest().pipeline(
            client.map { plugin($0, .retry) }, endpoint: endpoint.map { plugin($0, .retry) },
            retry: hasOption ? RetryPolicy() : nil)
        #expect(pipeline.plugins.map(\.identifier) == [winner])
    }

    @Test
    func theOptionsPolicyOverridesTheConfigurations() async throws {
        for (option, count) in [(RetryPolicy?.none, 3), (.never, 1), (RetryPolicy(maxAttempts: 5), 5)] {
            let chain = ChainUnderTest(failing: PulseError.noConnection)
            _ = await chain.run(try request(), through: chain.pipeline(retry: option, configured: RetryPolicy()))
            #expect(chain.sent.count == count)
        }
    }

    // MARK: Hooks

    @Test
    func hooksRunInOrderOnTheWayInAndInReverseOnTheWayOut() async throws {
        let chain = ChainUnderTest()
        let pipeline = chain.pipeline([plugin("c", .call), plugin("a"), plugin("b")])
        #expect(await chain.run(try request(), through: pipeline).status == 200)
        #expect(
            trace.all == [
                "prepare c", "prepare a", "prepare b", "receive b", "receive a", "receive c", "complete b",
                "complete a",
                "complete c",
            ])
    }

    @Test
    func eachPluginSeesTheChangesOfThePluginsBeforeIt() async throws {
        let chain = ChainUnderTest()
        let pipeline = chain.pipeline([
            plugin("c", .call).with(\.preparing) { request, _ in request.setValue("1", forHTTPHeaderField: "X") },
            plugin("a").with(\.preparing) { request, _ in
                request.setValue((request.value(forHTTPHeaderField: "X") ?? "") + "2", forHTTPHeaderField: "X")
            },
        ])
        _ = await chain.run(try request(), through: pipeline)
        #expect(chain.sent.first?.request.value(forHTTPHeaderField: "X") == "12")
    }

    @Test
    func aThrowingPrepareAbortsTheCallWithoutItsOwnDidReceive() async throws {
        let chain = ChainUnderTest()
        let pipeline = chain.pipeline([
            plugin("a"), plugin("b").with(\.preparing) { _, _ in throw PulseError.cacheMiss }, plugin("c"),
        ])
        #expect(await chain.run(try request(), through: pipeline).error?.kind == .cacheMiss)
        #expect(trace.all == ["prepare a", "prepare b", "receive a", "complete b", "complete a"])
        #expect(chain.sent.isEmpty)
    }

    @Test
    func didReceiveGetsStatusesAsResponsesAndFailuresAsPulseErrors() async throws {
        let seen = Trace()
        let watch = plugin("a").with(\.receiving) { result, _ in
            seen.note(result.status.map { "\($0)" } ?? "\(result.error?.kind.rawValue ?? "")")
            return nil
        }
        for outcome in [ChainUnderTest.Outcome.success(.sample(503)), .failure(URLError(.notConnectedToInternet))] {
            let chain = ChainUnderTest([outcome])
            _ = await chain.run(try request(), through: chain.pipeline([watch]))
        }
        #expect(seen.all == ["503", "noConnection"])
    }

    @Test
    func didReceiveMayReplaceASuccessOrAFailure() async throws {
        let recovering = plugin("a").with(\.receiving) { _, _ in .success(.sample(203)) }
        let failing = plugin("b").with(\.receiving) { _, _ in .failure(.emptyBody) }
        let chain = ChainUnderTest()
        #expect(await chain.run(try request(), through: chain.pipeline([recovering, failing])).status == 203)
        #expect(
            await chain.run(try request(), through: chain.pipeline([failing, recovering])).error?.kind == .emptyBody)
    }

    @Test
    func aThrowingDidReceiveReplacesTheResponse() async throws {
        let chain = ChainUnderTest()
        let pipeline = chain.pipeline([plugin("a"), plugin("b").with(\.receiving) { _, _ in throw Fault() }])
        #expect(await chain.run(try request(), through: pipeline).error?.kind == .custom)
        #expect(trace.all == ["prepare a", "prepare b", "receive b", "receive a", "complete b", "complete a"])
    }

    @Test(arguments: ["keep", "replace", "fail", "throw", "same"])
    func aReplacedStreamedResponseIsCancelled(how: String) async throws {
        let stream = ByteStream([Data("x".utf8)])
        let ends = Locked<[PulseError.Kind?]>([])
        stream.onEnd { error in ends.withLock { $0.append(error?.kind) } }
        let chain = ChainUnderTest([.success(.sample(bytes: stream))])
        let pipeline = chain.pipeline([
            plugin("a").with(\.receiving) { result, _ in
                switch how {
                case "replace": return .success(.sample(204))
                case "fail": return .failure(.emptyBody)
                case "throw": throw Fault()
                case "same":
                    return result.map { response in
                        var response = response
                        response.statusCode = 299
                        return response
                    }
                default: return nil
                }
            }
        ])
        let result = await chain.run(try request(), through: pipeline)
        let isKept = how == "keep" || how == "same"
        #expect(ends.withLock { $0 } == (isKept ? [] : [.cancelled]))
        #expect(((try? result.get())?.bytes === stream) == isKept)
    }

    @Test(arguments: ["keep", "replace", "fail", "stream"])
    func aReplacedConnectionIsClosed(how: String) async throws {
        let connection = CountedConnection()
        var upgraded = PulseResponse.sample(101)
        upgraded.body = .connection(connection)
        let chain = ChainUnderTest([.success(upgraded)])
        let pipeline = chain.pipeline([
            plugin("a").with(\.receiving) { _, _ in
                switch how {
                case "replace": .success(.sample(204))
                case "fail": .failure(.emptyBody)
                case "stream": .success(.sample(bytes: ByteStream { try await connection.read() }))
                default: nil
                }
            }
        ])
        let result = await chain.run(try request(), through: pipeline)
        #expect(connection.closeCount == (how == "replace" || how == "fail" ? 1 : 0))
        #expect(((try? result.get())?.connection === connection) == (how == "keep"))
    }

    @Test
    func aStreamedResponseMayBeWrapped() async throws {
        let inner = ByteStream([Data("a".utf8), Data("b".utf8)])
        let chain = ChainUnderTest([.success(.sample(bytes: inner))])
        let pipeline = chain.pipeline([
            plugin("a").with(\.receiving) { result, _ in
                result.map { response in
                    guard let bytes = response.bytes else { return response }
                    let chunks = bytes.makeAsyncIterator()
                    var response = response
                    response.body = .stream(
                        ByteStream(next: {
                            var chunks = chunks
                            return try await chunks.next()
                        }))
                    return response
                }
            }
        ])
        let response = try await chain.run(try request(), through: pipeline).get()
        #expect(try await response.bytes?.collect(upTo: 10) == Data("ab".utf8))
    }

    // MARK: Intercepting

    @Test
    func aPluginMayRespondWithoutTheChain() async throws {
        let chain = ChainUnderTest()
        let pipeline = chain.pipeline([
            plugin("a"), plugin("b").with(\.intercepting) { _, _, _ in .sample(304) }, plugin("c"),
        ])
        #expect(await chain.run(try request(), through: pipeline).status == 304)
        #expect(trace.all == ["prepare a", "intercept b", "receive a", "complete b", "complete a"])
        #expect(chain.sent.isEmpty)
    }

    @Test
    func aPluginMayRunTheChainSeveralTimes() async throws {
        let chain = ChainUnderTest([.failure(Fault()), .failure(Fault()), .success(.sample(201))])
        let pipeline = chain.pipeline([
            plugin("a").with(\.intercepting) { request, context, next in
                for attempt in 1...2 {
                    let result = await next.result(request, context: context.with(attempt: attempt))
                    if case .success(let response) = result { return response }
                }
                return try await next(request)
            },
            plugin("b"),
        ])
        #expect(await chain.run(try request(), through: pipeline).status == 201)
        #expect(
            trace.all == [
                "intercept a", "prepare b", "receive b", "prepare b", "receive b", "prepare b", "receive b",
                "complete b",
                "complete a",
            ])
        #expect(chain.sent.map(\.context.wireAttempt) == [1, 2, 3])
    }

    @Test
    func aPluginMayRunTheChainConcurrently() async throws {
        let chain = ChainUnderTest()
        let pipeline = chain.pipeline([
            plugin("a").with(\.intercepting) { request, _, next in
                await withTaskGroup(of: Void.self) { group in
                    for _ in 0..<50 { group.addTask { _ = try? await next(request) } }
                }
                return try await next(request)
            },
            plugin("b"),
        ])
        #expect(await chain.run(try request(), through: pipeline).status == 200)
        #expect(chain.sent.map(\.context.wireAttempt).sorted() == Array(1...51))
        #expect(trace.all.filter { $0 == "complete b" }.count == 1)
    }

    @Test(
        arguments: [
            (Fault(), .custom), (CancellationError(), .cancelled), (URLError(.cannotFindHost), .transport),
            (TransportFailure(code: .notConnectedToInternet, phase: .beforeSend), .noConnection),
            (URLError(.timedOut), .timeout), (PulseError.cacheMiss, .cacheMiss),
        ] as [(any Error, PulseError.Kind)])
    func anyErrorOfAPluginBecomesAPulseError(error: any Error, kind: PulseError.Kind) async throws {
        let fromPrepare = plugin("a").with(\.preparing) { _, _ in throw error }
        let fromIntercept = plugin("a").with(\.intercepting) { _, _, _ in throw error }
        let fromReceive = plugin("a").with(\.receiving) { _, _ in throw error }
        for thrower in [fromPrepare, fromIntercept, fromReceive, plugin("a")] {
            let chain = ChainUnderTest(failing: error)
            let request = try request()
            let context = chain.context(for: request)
            let next = PluginChain(chain.pipeline([thrower]), context: context)
            let thrown = await #expect(throws: PulseError.self) { try await next(request) }
            #expect(thrown?.kind == kind)
        }
    }

    // MARK: Completing

    @Test(arguments: [true, false])
    func didCompleteRunsOncePerEnteredPluginInReverse(succeeds: Bool) async throws {
        let chain = ChainUnderTest(succeeds ? [.success(.sample())] : [.failure(PulseError.noConnection)])
        let policy = RetryPolicy(backoffStrategy: .immediate)
        let pipeline = chain.pipeline([plugin("c", .call), plugin("a"), plugin("b")], configured: policy)
        let request = try request()
        let context = chain.context(for: request)
        _ = await chain.run(request, in: context, through: pipeline)
        await PluginChain.complete(context.call, pipeline)
        #expect(trace.all.filter { $0.hasPrefix("complete") } == ["complete b", "complete a", "complete c"])
    }

    @Test
    func onlyDeclaredHooksAreCalled() async throws {
        struct DeclaringPlugin: HookDeclaring {
            let identifier: String
            let hooks: PluginHooks
            let trace: Trace

            func willSend(_ request: URLRequest, for context: PluginContext) async {
                trace.note("send \(identifier)")
            }

            func didComplete(_ context: PluginContext) async {
                trace.note("complete \(identifier)")
            }
        }
        let plugins: [any PulsePlugin] = [
            DeclaringPlugin(identifier: "none", hooks: [], trace: trace),
            DeclaringPlugin(identifier: "sends", hooks: .willSend, trace: trace), plugin("undeclared"),
            DeclaringPlugin(identifier: "ends", hooks: .didComplete, trace: trace),
        ]
        let chain = ChainUnderTest([.success(.sample())])
        let pipeline = chain.pipeline(plugins)
        #expect(pipeline.observers.map(\.identifier) == ["sends", "undeclared"])
        #expect(pipeline.hasPlugins)
        #expect(!chain.pipeline([]).hasPlugins)
        _ = await chain.run(try request(), through: pipeline)
        #expect(trace.all.filter { $0.hasPrefix("complete") } == ["complete ends", "complete undeclared"])
    }

    @Test
    func didCompleteGetsThePluginsLastContext() async throws {
        let attempts = Trace()
        let chain = ChainUnderTest(failing: PulseError.noConnection)
        let note: @Sendable (String) -> ScriptedPlugin = { name in
            ScriptedPlugin(name, name == "c" ? .call : .attempt).with(\.completing) { context in
                attempts.note("\(name) \(context.attempt)")
            }
        }
        let policy = RetryPolicy(backoffStrategy: .immediate)
        _ = await chain.run(try request(), through: chain.pipeline([note("c"), note("a")], configured: policy))
        #expect(attempts.all == ["a 3", "c 1"])
    }

    @Test
    func aCancelledCallIsCompleted() async throws {
        let chain = ChainUnderTest(failing: CancellationError())
        #expect(await chain.run(try request(), through: chain.pipeline([plugin("a")])).error?.kind == .cancelled)
        #expect(trace.all == ["prepare a", "receive a", "complete a"])
    }

    // MARK: After the end

    /// Runs a call with two plugins and returns the chain that the outer one has kept.
    private func chainKept(by chain: ChainUnderTest) async throws -> (rest: PluginChain, call: Call) {
        let kept = Locked<PluginChain?>(nil)
        let keeping = plugin("a", .call).with(\.intercepting) { request, _, next in
            kept.withLock { $0 = next }
            return try await next(request)
        }
        let context = chain.context(for: try request())
        let result = await chain.run(try request(), in: context, through: chain.pipeline([keeping, plugin("b")]))
        #expect(result.status == 200)
        // Taken out, since the plugin that keeps the chain is part of it.
        let rest = kept.withLock { kept in
            defer { kept = nil }
            return kept
        }
        return (try #require(rest), context.call)
    }

    @Test
    func aChainUsedAfterItsCallSendsNothing() async throws {
        let chain = ChainUnderTest()
        let (rest, _) = try await chainKept(by: chain)
        let before = trace.all
        #expect(before.last == "complete b" || before.last == "complete a")
        #expect(await rest.result(try request()).error?.kind == .cancelled)
        #expect(chain.sent.count == 1)
        #expect(trace.all == before)
    }

    @Test
    func aChainWithoutPluginsSendsNothingAfterItsCall() async throws {
        let chain = ChainUnderTest()
        let pipeline = chain.pipeline()
        let context = chain.context(for: try request())
        _ = await chain.run(try request(), in: context, through: pipeline)
        #expect(await PluginChain(pipeline, context: context).result(try request()).error?.kind == .cancelled)
        #expect(chain.sent.count == 1)
    }

    @Test
    func aChainUsedAfterItsCallRetainsNothing() async throws {
        weak var call: Call?
        do {
            let (rest, ended) = try await chainKept(by: ChainUnderTest())
            call = ended
            _ = await rest.result(try request())
            #expect(call != nil)
        }
        #expect(call == nil)
    }

    @Test
    func aDetachedChainMayRunSeveralTimes() async throws {
        let chain = ChainUnderTest()
        let next = PluginChain(chain.pipeline([plugin("b")]), context: chain.context(for: try request()))
        let detached = next.detached()
        for _ in 0..<2 { #expect(await detached.result(try request()).status == 200) }
        #expect(Set(chain.sent.map(\.context.id)).count == 2)
        #expect(trace.all.filter { $0 == "complete b" }.count == 2)
    }

    // MARK: Detached

    private enum Account: PluginContext.Key { typealias Value = String }

    /// A plugin whose response comes from a detached chain.
    private func detaching(
        _ context: @escaping @Sendable (PluginContext) -> PluginContext? = { _ in nil }
    ) -> ScriptedPlugin {
        plugin("a").with(\.intercepting) { request, own, next in
            own.store["name"] = "value"
            own.store[Account.self] = "account"
            own.idempotencyKey = "key"
            let rest = next.detached()
            if let context = context(own) { return try await rest(request, context: context) }
            return try await rest(request)
        }
    }

    @Test(arguments: [false, true])
    func aDetachedChainIsASeparateCall(isGivenTheOldContext: Bool) async throws {
        let chain = ChainUnderTest()
        let plugins = [detaching { isGivenTheOldContext ? $0.with(attempt: 4) : nil }, plugin("b")]
        let pipeline = chain.pipeline(plugins)
        let request = try request()
        let context = chain.context(for: request, deadline: 5)
        let next = PluginChain(pipeline, context: context)
        #expect(await next.result(request).status == 200)
        // The detached call's plugins are complete, the outer call's are not.
        #expect(trace.all == ["intercept a", "prepare b", "receive b", "complete b"])
        let inner = try #require(chain.sent.first).context
        #expect(inner.id != context.id)
        #expect(inner.deadline == nil)
        #expect(inner.store["name"] == nil)
        #expect(inner.store[Account.self] == "account")
        #expect(inner.idempotencyKey == "key")
        #expect(inner.attempt == (isGivenTheOldContext ? 4 : 1))
        #expect(inner.wireAttempt == 1)
        #expect(context.deadline == 5)
        #expect(context.store["name"] as? String == "value")
        await PluginChain.complete(context.call, pipeline)
        #expect(trace.all.last == "complete a")
    }

    @Test
    func aFailedDetachedCallIsCompleted() async throws {
        let chain = ChainUnderTest(failing: Fault())
        let result = await chain.run(try request(), through: chain.pipeline([detaching(), plugin("b")]))
        #expect(result.error?.kind == .custom)
        #expect(trace.all == ["intercept a", "prepare b", "receive b", "complete b", "complete a"])
    }

    @Test
    func aDetachedStreamIsCompletedWhenItsBodyEnds() async throws {
        let stream = ByteStream([Data("x".utf8)])
        let chain = ChainUnderTest([.success(.sample(bytes: stream))])
        let (completions, completed) = AsyncStream<Void>.makeStream()
        let inner = plugin("b").with(\.completing) { _ in completed.yield() }
        let result = await chain.run(try request(), through: chain.pipeline([detaching(), inner]))
        #expect(trace.all == ["intercept a", "prepare b", "receive b", "complete a"])
        _ = try await result.get().bytes?.collect(upTo: 10)
        for await _ in completions { break }
        #expect(trace.all.last == "complete b")
    }
}
