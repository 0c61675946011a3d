// SPDX-License-Identifier: MIT

import PulseCore
import PulseObservability
import PulseStorage
import PulseTesting
import TestSupport
import Testing

@testable import PulseCalls
@testable import PulsePlugins

/// Separation of users, shared requests, and streams. Over sockets, under a stopped clock.
@Suite(.tags(.threads), .throttled)
struct CacheSharingWireTests {
    // MARK: Partitions

    @Test(arguments: ["Authorization", "Cookie", "X-API-Key", "X-Session-Token"])
    func responsesForDifferentCredentialsAreSeparated(name: String) async throws {
        try await CacheStage.run { stage in
            stage.serve(["Cache-Control": "max-age=60"])
            for user in ["alice", "bob"] { try await stage.get("/a", [name: user]) }
            #expect(try await stage.text("/a", [name: "alice"]) == "body 1 cache")
            #expect(try await stage.text("/a", [name: "bob"]) == "body 2 cache")
            #expect(try await stage.text("/a") == "body 3 network")
        }
    }

    @Test func responsesForDifferentHostFieldsAreSeparated() async throws {
        try await CacheStage.run { stage in
            stage.serve(["Cache-Control": "max-age=60"])
            for host in ["a.example", "b.example"] { try await stage.get("/a", ["Host": host]) }
            #expect(try await stage.text("/a", ["Host": "A.example:80"]) == "body 1 cache")
            #expect(try await stage.text("/a", ["host": "b.example"]) == "body 2 cache")
            #expect(try await stage.text("/a") == "body 3 network")
            let own = stage.server.baseURL.absoluteString.dropFirst("http://".count)
            #expect(try await stage.text("/a", ["Host": String(own)]) == "body 3 cache")
            await stage.cache.invalidate(url: stage.server.baseURL.appendingPathComponent("a"))
            #expect(try await stage.text("/a", ["Host": "a.example"]) == "body 4 network")
        }
    }

    @Test func aResponseToAnUnseenHostFieldIsNotStored() async throws {
        try await CacheStage.run(after: [HeadersPlugin(["Host": "inner.example"])]) { stage in
            stage.serve(["Cache-Control": "max-age=60"])
            for _ in 0..<2 { try await stage.get() }
            #expect(stage.sent == 2)
            #expect(stage.warnings.first?.contains("header host") == true)
        }
    }

    @Test func anAccountsStoredResponsesOutliveItsTokens() async throws {
        let account = Locked<String?>("alice")
        try await CacheStage.run(before: [AccountPlugin(account: account)]) { stage in
            stage.serve(["Cache-Control": "max-age=60"])
            try await stage.get("/a", ["Authorization": "Bearer 1"])
            #expect(try await stage.text("/a", ["Authorization": "Bearer 2"]) == "body 1 cache")
            account.withLock { $0 = "bob" }
            #expect(try await stage.text("/a", ["Authorization": "Bearer 2"]) == "body 2 network")
            await stage.cache.clearAll(account: "alice")
            #expect(try await stage.text("/a", ["Authorization": "Bearer 2"]) == "body 2 cache")
            account.withLock { $0 = "alice" }
            #expect(try await stage.text("/a", ["Authorization": "Bearer 2"]) == "body 3 network")
        }
    }

    @Test func aResponseToAnUnseenCredentialIsNotStoredAndWarnedAboutOnce() async throws {
        try await CacheStage.run(after: [HeadersPlugin(["X-API-Key": "inner"])]) { stage in
            stage.serve(["Cache-Control": "max-age=60"])
            for _ in 0..<3 { try await stage.get() }
            #expect(stage.sent == 3)
            #expect(stage.warnings.count == 1)
            #expect(stage.warnings.first?.contains("x-api-key") == true)
            #expect(stage.warnings.first?.contains("inner") == false)
        }
    }

    @Test(arguments: URLCredentialPlugin.all.indices)
    func aResponseToAnUnseenCredentialInTheURLIsNotStored(index: Int) async throws {
        let plugin = URLCredentialPlugin.all[index]
        try await CacheStage.run(after: [plugin]) { stage in
            stage.serve(["Cache-Control": "max-age=60"])
            for _ in 0..<3 { try await stage.get() }
            #expect(stage.sent == 3)
            #expect(stage.warnings.count == 1)
            #expect(stage.warnings.first?.contains("inner") == false)
        }
    }

    /// Other items that a plugin adds do not identify the user.
    @Test func anAddedQueryItemIsNoCredential() async throws {
        try await CacheStage.run(after: [URLCredentialPlugin(query: "?page=1")]) { stage in
            stage.serve(["Cache-Control": "max-age=60"])
            for _ in 0..<3 { try await stage.get() }
            #expect(stage.sent == 1)
            #expect(stage.warnings.isEmpty)
        }
    }

    /// An inner plugin that gives each call its own key, unseen by outer plugins.
    private static func keys() -> HeadersPlugin {
        let count = Locked(0)
        return HeadersPlugin { _ in
            let number = count.withLock { count in
                count += 1
                return count
            }
            return ["X-API-Key": "user \(number)"]
        }
    }

    @Test func aFailureDerivedFromAResponseIsNeverSharedWithAnotherUser() async throws {
        let validator = Validator { _, response, _ in .fail(PulseError.http(response)) }
        try await CacheStage.run(after: [Self.keys(), ValidatorPlugin([validator])]) { stage in
            let gate = Gate()
            stage.server.on(.get, "/a") { request in
                await gate.pass()
                return .text(request.headers["X-API-Key"] ?? "")
            }
            let calls = (0..<2).map { _ in Task { try await stage.get() } }
            await stage.cache.cache.flights.waitUntil(waiters: 2)
            gate.open()
            var texts: Set<String> = []
            for call in calls {
                let error = await #expect(throws: PulseError.self) { try await call.value }
                texts.insert(String(decoding: error?.response?.data ?? Data(), as: UTF8.self))
            }
            #expect(texts == ["user 1", "user 2"])
        }
    }

    @Test func anUnseenCredentialIsNoticedAlthoughTheResponseHidesItsRequest() async throws {
        let hidesRequest = TransformPlugin(everyAttempt: true) { response, _ in
            PulseResponse(
                statusCode: 200, headers: response.headers, data: response.data,
                request: URLRequest(url: try #require(response.request.url)))
        }
        try await CacheStage.run(after: [hidesRequest, Self.keys()]) { stage in
            stage.serve(["Cache-Control": "max-age=60"])
            let texts = [try await stage.text(), try await stage.text()]
            #expect(texts == ["body 1 network", "body 2 network"])
        }
    }

    @Test func anUnsafeRequestInvalidatesAlthoughAPluginRejectsItsResponse() async throws {
        struct Refused: Error {}
        let validator = Validator { request, _, _ in request.httpMethod == "POST" ? .fail(Refused()) : .accept }
        try await CacheStage.run(after: [ValidatorPlugin([validator])]) { stage in
            stage.serve(["Cache-Control": "max-age=60"])
            stage.server.on(.post, "/a") { _ in .status(200) }
            try await stage.get()
            await #expect(throws: PulseError.self) { try await stage.get(method: .post) }
            #expect(try await stage.text() == "body 2 network")
        }
    }

    @Test func aSignatureIsNotAnUnseenCredential() async throws {
        try await CacheStage.run(after: [HeadersPlugin(["X-Signature-256": "abc"])]) { stage in
            stage.serve(["Cache-Control": "max-age=60"])
            try await stage.get()
            #expect(try await stage.text() == "body 1 cache")
            #expect(stage.warnings.isEmpty)
        }
    }

    @Test func aSharedKeyIDIsNotAnUnseenCredential() async throws {
        try await CacheStage.run(after: [RequestSigningPlugin(secret: "s3cret", keyID: "2026-11")]) { stage in
            stage.serve(["Cache-Control": "max-age=60"])
            try await stage.get()
            #expect(try await stage.text() == "body 1 cache")
            #expect(stage.warnings.isEmpty)
        }
    }

    /// Another user's client with the same cache. The server knows the user by the key id.
    private static func signing(_ keyID: String, on stage: CacheStage) -> PulseClient {
        ClientStage.client(
            of: stage.server,
            plugins: [stage.cache, .signing(secret: "s3cret", keyID: keyID, keyIDNamesUser: true)], clock: stage.clock)
    }

    @Test func aKeyIDThatNamesTheUserPreventsStoringAndWarnsOnce() async throws {
        let signing = RequestSigningPlugin(secret: "s3cret", keyID: "ada", keyIDNamesUser: true)
        try await CacheStage.run(after: [signing]) { stage in
            stage.serve(["Cache-Control": "max-age=60"])
            #expect(try await stage.text() == "body 1 network")
            let bob = Self.signing("bob", on: stage)
            let response = try await bob.rawRequest(Request<EmptyResponse>(.get, "/a"))
            #expect(response.origin == .network)
            #expect(try await stage.text() == "body 3 network")
            #expect(stage.server.requests.map { $0.headers["X-Pulse-Key-ID"] } == ["ada", "bob", "ada"])
            #expect(stage.warnings.count == 1)
            #expect(stage.warnings.first?.contains("x-pulse-key-id") == true)
            await bob.shutdown()
        }
    }

    /// A served call does not wait for its background validation.
    @Test func aBackgroundValidationWithAUserKeyIDIsNotStored() async throws {
        try await CacheStage.run { stage in
            stage.serve(["Cache-Control": "max-age=1, stale-while-revalidate=600"])
            try await stage.get()
            await stage.pass(2)
            let bob = Self.signing("bob", on: stage)
            let response = try await bob.rawRequest(Request<EmptyResponse>(.get, "/a"))
            #expect(response.origin == .stale)
            await stage.cache.cache.flights.waitUntilIdle()
            #expect(stage.server.requests.last?.headers["X-Pulse-Key-ID"] == "bob")
            #expect(try await stage.text() == "body 3 network")
            await bob.shutdown()
        }
    }

    @Test func aVaryFieldWhoseValueHoldsASecretIsStoredOnlyAsAFingerprint() async throws {
        let store = MemoryCacheStorage()
        try await CacheStage.run(CachePlugin(policy: .rfc9111, storage: store)) { stage in
            stage.serve(["Cache-Control": "max-age=60", "Vary": "X-Plain"])
            try await stage.get("/a", ["X-Plain": "Bearer secret1"])
            #expect(try await stage.text("/a", ["X-Plain": "Bearer secret1"]) == "body 1 cache")
            let found = try #require(await store.responses(for: CacheKey(url: "\(stage.server.baseURL)/a")).first)
            #expect(found.head.selectingFields.first?.name == "x-plain")
            #expect(found.head.selectingFields.first?.value?.contains("secret1") == false)
        }
    }

    @Test func theValueOfASecretVaryFieldIsStoredOnlyAsAFingerprint() async throws {
        let store = MemoryCacheStorage()
        try await CacheStage.run(CachePlugin(policy: .rfc9111, storage: store)) { stage in
            stage.serve(["Cache-Control": "max-age=60", "Vary": "Authorization"])
            try await stage.get("/a", ["Authorization": "Bearer secret"])
            #expect(try await stage.text("/a", ["Authorization": "Bearer secret"]) == "body 1 cache")
            let partition = CachePartition.name(account: nil, ["Authorization": "Bearer secret"]) { _ in true }
            let key = CacheKey(partition: partition, url: "\(stage.server.baseURL)/a")
            let found = try #require(await store.responses(for: key).first)
            #expect(found.head.selectingFields.first?.name == "authorization")
            #expect(found.head.selectingFields.first?.value?.contains("secret") == false)
            #expect(!partition.contains("secret"))
        }
    }

    // MARK: Shared requests

    @Test func concurrentMissesForOneKeySendOneRequest() async throws {
        try await CacheStage.run { stage in
            let gate = Gate()
            stage.server.on(.get, "/a") { _ in
                await gate.pass()
                return .text("body", headers: ["Cache-Control": "max-age=60", "Date": stage.date()])
            }
            let texts = try await stage.many(20, whenWaiting: { gate.open() }) { try await stage.text() }
            #expect(texts.filter { $0 == "body network" }.count == 1)
            #expect(texts.filter { $0 == "body coalesced" }.count == 19)
            #expect(stage.sent == 1)
        }
    }

    @Test func waitersSendTheirOwnRequestsIfTheResponseIsUncacheable() async throws {
        try await CacheStage.run { stage in
            let gate = Gate()
            stage.server.on(.get, "/a") { _ in
                await gate.pass()
                return .text("body", headers: ["Cache-Control": "no-store"])
            }
            let texts = try await stage.many(5, whenWaiting: { gate.open() }) { try await stage.text() }
            #expect(texts == Array(repeating: "body network", count: 5))
            #expect(stage.sent == 5)
            // No call waits for the next response.
            try await stage.get()
            #expect(stage.cache.cache.flights.runCount == 0)
        }
    }

    @Test func waitersForAnotherVariantSendTheirOwnRequests() async throws {
        try await CacheStage.run { stage in
            let gate = Gate()
            stage.server.on(.get, "/a") { request in
                await gate.pass()
                return .text(
                    request.headers["Accept-Language"] ?? "",
                    headers: ["Cache-Control": "max-age=60", "Vary": "Accept-Language", "Date": stage.date()])
            }
            let languages = Locked(["en", "fr"][...])
            let texts = try await stage.many(2, whenWaiting: { gate.open() }) {
                let language = languages.withLock { $0.popFirst() } ?? ""
                return try await language + " " + stage.text("/a", ["Accept-Language": language])
            }
            #expect(texts.sorted() == ["en en network", "fr fr network"])
        }
    }

    @Test func aCancelledCallLeavesAloneAndTheLastOneCancelsTheRequest() async throws {
        try await CacheStage.run { stage in
            stage.server.on(.get, "/a") { _ in .raw([.stall]) }
            let calls = (0..<3).map { _ in Task { try await stage.get() } }
            await stage.cache.cache.flights.waitUntil(waiters: 3)
            try await stage.server.requests(atLeast: 1)
            for call in calls.dropLast() {
                call.cancel()
                let error = await #expect(throws: PulseError.self) { try await call.value }
                #expect(error?.kind == .cancelled)
            }
            #expect(stage.server.activity.connectionsClosedByClient.isEmpty)
            calls[2].cancel()
            _ = await calls[2].result
            try await stage.server.connectionsClosedByClient()
            #expect(stage.sent == 1)
        }
    }

    @Test func aWaiterHasItsOwnDeadline() async throws {
        try await CacheStage.run { stage in
            stage.server.on(.get, "/a") { _ in .raw([.stall]) }
            let patient = Task { try await stage.get() }
            try await stage.server.requests(atLeast: 1)
            var options = RequestOptions()
            options.deadline = 5
            let hasty = Task { [options] in
                try await stage.client.rawRequest(Request<EmptyResponse>(.get, "/a"), options: options)
            }
            await stage.clock.sleepers(atLeast: 1, for: .deadline)
            await stage.pass(5)
            let error = await #expect(throws: PulseError.self) { try await hasty.value }
            #expect(error?.kind == .deadlineExceeded)
            patient.cancel()
            _ = await patient.result
        }
    }

    @Test func allWaitersGetTheSameError() async throws {
        try await CacheStage.run { stage in
            let gate = Gate()
            stage.server.on(.get, "/a") { _ in
                await gate.pass()
                return .raw([.close])
            }
            let failures = try await stage.many(4, whenWaiting: { gate.open() }) {
                do {
                    return try await stage.text()
                } catch let error as PulseError {
                    return "\(error.kind)"
                }
            }
            #expect(Set(failures).count == 1)
        }
    }

    @Test func aCallAfterAChangeDoesNotShareARequestFromBeforeIt() async throws {
        try await CacheStage.run { stage in
            let gate = Gate()
            let count = Locked(0)
            stage.server.on(.get, "/a") { _ in
                let number = count.withLock { count in
                    count += 1
                    return count
                }
                if number == 1 { await gate.pass() }
                return .text("body \(number)", headers: ["Cache-Control": "max-age=60", "Date": stage.date()])
            }
            stage.server.on(.post, "/a") { _ in .status(204) }
            let before = Task { try await stage.text() }
            await gate.arrivals(atLeast: 1)
            try await stage.get(method: .post)
            #expect(try await stage.text() == "body 2 network")
            gate.open()
            let first = try await before.value
            #expect(first == "body 1 network")
            #expect(try await stage.text() == "body 2 cache")
        }
    }

    // MARK: Streams

    @Test(arguments: [true, false])
    func aCompleteStreamIsStored(onDisk: Bool) async throws {
        try await withStorage(onDisk: onDisk) { store in
            try await CacheStage.run(CachePlugin(policy: .rfc9111, storage: store)) { stage in
                let body = Data(repeating: 7, count: 300_000)
                stage.server.on(.get, "/a") { _ in
                    .data(body, headers: ["Cache-Control": "max-age=60", "Date": stage.date()])
                }
                let first = try await stage.stream("/a")
                #expect(first == .init(origin: .network, body: body))
                let again = try await stage.stream("/a")
                #expect(again == .init(origin: .cache, body: body))
                let buffered = try await stage.get()
                #expect(buffered.origin == .cache && buffered.data == body)
                #expect(stage.sent == 1)
            }
        }
    }

    @Test func anAbandonedOrTruncatedStreamIsNotStored() async throws {
        try await CacheStage.run { stage in
            let whole: MockServer.Response = .data(
                Data(repeating: 7, count: 1_000_000), headers: ["Cache-Control": "max-age=60", "Date": stage.date()])
            stage.server.on(.get, "/a", script: [whole, whole.truncated(after: 500_000), whole])
            let left = try await stage.open("/a")
            for try await _ in try #require(left.bytes) { break }
            #expect(await stage.cache.statistics.entries == 0)
            let cut = try await stage.open("/a")
            await #expect(throws: PulseError.self) { for try await _ in try #require(cut.bytes) {} }
            #expect(await stage.cache.statistics.entries == 0)
            let stored = try await stage.stream("/a")
            #expect(stored.body.count == 1_000_000)
            #expect(await stage.cache.statistics.entries == 1)
        }
    }

    @Test func aStreamTooLargeForTheStoreReachesTheCallerWhole() async throws {
        try await CacheStage.run(CachePlugin(policy: .rfc9111, storage: MemoryCacheStorage(maxBytes: 100_000))) {
            stage in
            let body = Data(repeating: 7, count: 300_000)
            stage.server.on(.get, "/a") { _ in
                .data(body, headers: ["Cache-Control": "max-age=60", "Date": stage.date()])
            }
            let first = try await stage.stream("/a")
            #expect(first.body == body)
            #expect(await stage.cache.statistics.entries == 0)
        }
    }

    @Test func aStoredBodyOverACallsLimitFailsTheCall() async throws {
        try await CacheStage.run { stage in
            stage.serve(["Cache-Control": "max-age=60"])
            try await stage.get()
            var options = RequestOptions()
            options.maxBufferedBodySize = 3
            let error = await #expect(throws: PulseError.self) {
                try await stage.client.rawRequest(Request<EmptyResponse>(.get, "/a"), options: options)
            }
            #expect(error?.kind == .responseTooLarge)
        }
    }
}

/// Sets the account of the call, as authentication does.
struct AccountPlugin: PulsePlugin {
    let identifier = "com.pulse.tests.account"
    let scope = PluginScope.call
    let account: Locked<String?>

    func prepare(_ request: inout URLRequest, for context: PluginContext) async throws {
        context.account = account.withLock { $0 }.map { .known($0) } ?? .unknown
    }
}

/// A stream that was read to its end.
struct ReadStream: Equatable {
    let origin: PulseResponse.Origin
    let body: Data
}

extension CacheStage {
    func open(_ path: String) async throws -> PulseResponse {
        try await client.perform(
            client.plan(
                Request<EmptyResponse>(.get, PathTemplate(path)), RequestOptions(), CallShape(delivery: .streamed)))
    }

    func stream(_ path: String) async throws -> ReadStream {
        let response = try await open(path)
        let body = try await response.bytes?.collect(upTo: .max)
        return ReadStream(origin: response.origin, body: body ?? response.data)
    }

    /// Runs calls together. When all of them share one request, `whenWaiting` lets the server continue.
    func many(
        _ count: Int, whenWaiting body: () -> Void, _ call: @escaping @Sendable () async throws -> String
    ) async throws -> [String] {
        let tasks = (0..<count).map { _ in Task { try await call() } }
        await cache.cache.flights.waitUntil(waiters: count)
        body()
        var texts: [String] = []
        for task in tasks { texts.append(try await task.value) }
        return texts
    }
}
