// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulseStorage
import PulseTesting
import TestSupport
import Testing

@testable import PulsePlugins

/// Random traces of several users through one cache, against a model without a cache. Every response must be one that
/// the origin gave to that user for that request, and its directives must allow it at that time. 1,000 steps in
/// `swift test`, 8,000 where `PULSE_STEPS` is 100,000.
@Suite(.tags(.schedule), .throttled)
struct CacheTwoUsersScheduleTests {
    private static let steps =
        ProcessInfo.processInfo.environment["PULSE_STEPS"].flatMap(Int.init).map { $0 / 50 } ?? 250

    enum Identity: String, CaseIterable { case token, rotatingTokenOfAnAccount }

    @Test(arguments: [false, true], Identity.allCases)
    func aResponseFromAnotherUserOrOutdatedIsNeverServed(onDisk: Bool, identity: Identity) async throws {
        try await withStorage(onDisk: onDisk) { store in
            let trace = UserTrace(store, identity: identity, seed: 6)
            for step in 0..<Self.steps {
                await trace.step(step)
                if trace.hasFailed { return }
            }
            // Whether calls share a request, or a response becomes stale, depends on task scheduling. These steps make
            // sure that both happen.
            await trace.meet(Self.steps)
            await trace.client.shutdown()
            let wanted: Set<PulseResponse.Origin> = [.mock, .cache, .revalidated, .coalesced, .stale]
            #expect(trace.origins.isSuperset(of: wanted), "\(trace.origins)")
        }
    }
}

/// Each task has its own generator, so that a seed reproduces the same calls whatever other tasks draw.
private enum Chance {
    @TaskLocal static var own = SeededRandomness(seed: 0)
}

private final class UserTrace: Sendable {
    let client: PulseClient
    private let random: SeededRandomness
    private let clock = TestClock()
    private let origin: ModelOrigin
    private let cache: CachePlugin
    private let state = Locked((origins: Set<PulseResponse.Origin>(), hasFailed: false))

    init(_ store: any CacheStorage, identity: CacheTwoUsersScheduleTests.Identity, seed: UInt64) {
        random = SeededRandomness(seed: seed)
        origin = ModelOrigin(clock: clock)
        cache = CachePlugin(policy: .rfc9111, storage: store)
        client = ClientStage.client(
            .root, plugins: [UserPlugin(identity: identity), cache], clock: clock,
            over: MockTransport(recordsRequests: false) { [origin] in try await origin.respond(to: $0) })
    }

    var origins: Set<PulseResponse.Origin> { state.withLock { $0.origins } }
    var hasFailed: Bool { state.withLock { $0.hasFailed } }

    private func pick<Value>(_ values: [Value]) -> Value { values[Int(random.next() % UInt64(values.count))] }

    func step(_ number: Int) async {
        switch random.next() % 16 {
        case 0: origin.change(pick(ModelOrigin.conditions))
        case 1...4: clock.shiftWallClock(by: TimeInterval(random.next() % 30))
        case 5: await post(pick(["/a", "/b"]), user: pick(UserPlugin.users))
        case 6 where random.next() % 8 == 0: await cache.clearAll()
        default:
            // Several at a time, of the same or of different users.
            let calls = (0..<pick([1, 1, 2, 3])).map { _ in
                PlannedRequest(
                    path: pick(["/a", "/b"]), user: pick(UserPlugin.users), language: pick(["en", "fr"]),
                    mode: mode())
            }
            await get(calls, number)
        }
        // A background request would otherwise see the clock and changes of the next step.
        await cache.cache.flights.waitUntilIdle()
    }

    /// Two callers share one request, and one caller is served while the server fails.
    func meet(_ number: Int) async {
        let gate = Gate()
        origin.change(.well)
        origin.prescribe("max-age=10, stale-if-error=40", gate)
        let request = PlannedRequest(path: "/met", user: "alice", language: "en", mode: .default)
        let opener = Task { [cache] in
            await cache.cache.flights.waitUntil(waiters: 2)
            gate.open()
        }
        await get([request, request], number)
        await opener.value
        clock.shiftWallClock(by: 15)
        origin.change(.failing)
        await get([request], number + 1)
    }

    private struct PlannedRequest: Sendable {
        let path: String
        let user: String
        let language: String
        let mode: RequestOptions.Cache
    }

    private func get(_ requests: [PlannedRequest], _ step: Int) async {
        let started = origin.moment
        await withTaskGroup(of: Void.self) { group in
            for request in requests {
                let chance = SeededRandomness(seed: random.next())
                group.addTask {
                    await Chance.$own.withValue(chance) { await self.get(request, since: started, step) }
                }
            }
        }
    }

    private func mode() -> RequestOptions.Cache {
        random.next() % 2 == 0
            ? .default : pick([.reload, .revalidate, .cacheElseNetwork, .onlyIfCached, .staleWhileRevalidate])
    }

    private func options(_ user: String, _ language: String, _ mode: RequestOptions.Cache) -> RequestOptions {
        RequestOptions().with(\.headers, value: ["X-Test-User": user, "Accept-Language": language])
            .with(\.cache, value: mode).with(\.acceptedStatuses, value: .any)
    }

    private func post(_ path: String, user: String) async {
        let response = await Chance.$own.withValue(SeededRandomness(seed: random.next())) {
            try? await client.rawRequest(
                Request<EmptyResponse>(.post, PathTemplate(path)), options: options(user, "en", .default))
        }
        if response?.statusCode == 200 { origin.invalidate(path) }
    }

    private func get(_ request: PlannedRequest, since started: Int, _ step: Int) async {
        let (path, user, language, mode) = (request.path, request.user, request.language, request.mode)
        let response: PulseResponse
        do {
            response = try await client.rawRequest(
                Request<EmptyResponse>(.get, PathTemplate(path)), options: options(user, language, mode))
        } catch {
            return
        }
        state.withLock { _ = $0.origins.insert(response.origin) }
        guard response.statusCode == 200 else { return }
        let problem = origin.problem(with: response, path, user, language, mode, since: started)
        guard let problem else { return }
        let isFirst = state.withLock { state in
            defer { state.hasFailed = true }
            return !state.hasFailed
        }
        if isFirst {
            Issue.record("seed \(random.seed), step \(step): \(user) \(path) \(language) \(mode): \(problem)")
        }
    }
}

/// Sets the credentials of the user that a test header names, and removes that header.
private struct UserPlugin: PulsePlugin {
    static let users = ["alice", "bob", "guest"]

    let identifier = "com.pulse.tests.user"
    let scope = PluginScope.call
    let identity: CacheTwoUsersScheduleTests.Identity

    func prepare(_ request: inout URLRequest, for context: PluginContext) async throws {
        let user = request.value(forHTTPHeaderField: "X-Test-User") ?? ""
        request.setValue(nil, forHTTPHeaderField: "X-Test-User")
        guard user != "guest" else { return }
        switch identity {
        case .token:
            request.setValue("Bearer \(user)", forHTTPHeaderField: "Authorization")
        case .rotatingTokenOfAnAccount:
            context.account = .known(user)
            request.setValue("Bearer \(user).\(Chance.own.next() % 3)", forHTTPHeaderField: "Authorization")
        }
    }
}

/// A server that records every response, its user and its time.
private final class ModelOrigin: Sendable {
    enum Condition: Sendable { case well, failing, unreachable, offline }

    static let conditions: [Condition] = [.well, .well, .well, .failing, .unreachable, .offline]

    private struct Given: Sendable {
        let user: String
        let path: String
        /// Nil if the response is the same for all languages.
        let language: String?
        let directives: String
        /// When it was given or last confirmed, by the clock and in the order of events.
        var time: Date
        var moment: Int
    }

    private struct State {
        var condition = Condition.well
        var given: [Given] = []
        var moment = 0
        var invalidated: [String: Int] = [:]
        var lastTrouble = -1
        /// Fixed directives in place of random ones, and the gate that holds the response.
        var prescribed: (directives: String, gate: Gate)?

        mutating func next() -> Int {
            moment += 1
            return moment
        }
    }

    private static let directives = [
        "max-age=20", "max-age=20, must-revalidate", "no-store", "max-age=10, stale-while-revalidate=20",
        "max-age=10, stale-if-error=40", "no-cache", "max-age=0", "max-age=15, private", "",
    ]

    private let clock: TestClock
    private let state = Locked(State())

    init(clock: TestClock) {
        self.clock = clock
    }

    var moment: Int { state.withLock { $0.moment } }

    func change(_ condition: Condition) {
        state.withLock { $0.condition = condition }
    }

    func prescribe(_ directives: String, _ gate: Gate) {
        state.withLock { $0.prescribed = (directives, gate) }
    }

    func invalidate(_ path: String) {
        state.withLock { $0.invalidated[path] = $0.next() }
    }

    func respond(to request: URLRequest) async throws -> PulseResponse {
        for _ in 0..<(Chance.own.next() % 4) { await Task.yield() }
        await state.withLock { $0.prescribed?.gate }?.pass()
        let condition = state.withLock { state in
            if state.condition != .well { state.lastTrouble = state.next() }
            return state.condition
        }
        switch condition {
        case .offline: throw PulseError.noConnection
        case .unreachable:
            throw TransportFailure(
                code: .cannotConnectToHost, phase: .beforeSend, underlying: URLError(.cannotConnectToHost))
        case .failing: return PulseResponse(statusCode: 503, request: request)
        case .well: break
        }
        guard request.httpMethod != "POST" else { return PulseResponse(statusCode: 200, request: request) }
        return give(request)
    }

    private func give(_ request: URLRequest) -> PulseResponse {
        let path = request.url?.path ?? ""
        let bearer = request.value(forHTTPHeaderField: "Authorization")?.dropFirst("Bearer ".count)
        let user = bearer.map { String($0.split(separator: ".")[0]) } ?? "guest"
        let language = request.value(forHTTPHeaderField: "Accept-Language") ?? ""
        return state.withLock { state in
            let (moment, now) = (state.next(), clock.now)
            // Half of the time the previous response is still valid.
            if let tags = request.value(forHTTPHeaderField: "If-None-Match"), Chance.own.next() % 2 == 0 {
                let last = state.given.indices.last { index in
                    tags.contains("\"\(index)\"") && state.given[index].language ?? language == language
                }
                if let last, state.given[last].user == user {
                    state.given[last].time = now
                    state.given[last].moment = moment
                    return PulseResponse(
                        statusCode: 304, headers: headers(last, state.given[last], now), request: request)
                }
            }
            let varies = path == "/b"
            state.given.append(
                Given(
                    user: user, path: path, language: varies ? language : nil,
                    directives: state.prescribed?.directives
                        ?? Self.directives[Int(Chance.own.next() % UInt64(Self.directives.count))],
                    time: now, moment: moment))
            let number = state.given.count - 1
            return PulseResponse(
                statusCode: 200, headers: headers(number, state.given[number], now), data: Data("\(number)".utf8),
                request: request)
        }
    }

    private func headers(_ number: Int, _ given: Given, _ now: Date) -> HTTPHeaders {
        var headers: HTTPHeaders = ["ETag": "\"\(number)\"", "Date": HTTPDate.format(now)]
        if !given.directives.isEmpty { headers["Cache-Control"] = given.directives }
        if given.language != nil { headers["Vary"] = "Accept-Language" }
        return headers
    }

    /// Why this user must not have gotten this response; nil if it is correct.
    func problem(
        with response: PulseResponse, _ path: String, _ user: String, _ language: String, _ mode: RequestOptions.Cache,
        since start: Int
    ) -> String? {
        guard let number = Int(String(decoding: response.data, as: UTF8.self)) else {
            return "no response of the origin"
        }
        let (given, invalidated, lastTrouble) = state.withLock { state in
            (state.given[number], state.invalidated[path] ?? -1, state.lastTrouble)
        }
        guard given.user == user else { return "the response of \(given.user)" }
        guard given.path == path else { return "the response of \(given.path)" }
        guard given.language ?? language == language else { return "the response in \(given.language ?? "")" }
        // Given to, or confirmed for, this very call: the server's own response.
        if given.moment > start, response.origin == .mock || response.origin == .revalidated { return nil }
        guard given.moment > invalidated else { return "outdated since the change \(invalidated)" }
        guard !given.directives.contains("no-store") else { return "a response that must not be stored" }
        guard mode != .reload, mode != .revalidate else { return "a stored response in spite of the mode" }
        guard !given.directives.contains("no-cache") else { return "a response that must be validated" }
        let staleness = clock.now.timeIntervalSince(given.time) - (Self.seconds("max-age", given.directives) ?? 0)
        if staleness < 0 { return nil }
        guard response.origin == .stale else { return "stale by \(staleness) as \(response.origin)" }
        guard !given.directives.contains("must-revalidate") else { return "stale by \(staleness), which is forbidden" }
        if [.cacheElseNetwork, .onlyIfCached, .staleWhileRevalidate].contains(mode) { return nil }
        if staleness <= Self.seconds("stale-while-revalidate", given.directives) ?? -1 { return nil }
        // Without a connection anything may be served; while the server fails, only what the directives permit.
        if lastTrouble > start {
            let isOffline = state.withLock { $0.condition == .offline }
            if isOffline || staleness <= Self.seconds("stale-if-error", given.directives) ?? -1 { return nil }
        }
        return "stale by \(staleness) without permission"
    }

    private static func seconds(_ name: String, _ directives: String) -> TimeInterval? {
        directives.components(separatedBy: ", ").first { $0.hasPrefix(name + "=") }
            .flatMap { TimeInterval($0.dropFirst(name.count + 1)) }
    }
}
