// SPDX-License-Identifier: MIT

import PulseCore
import PulseObservability
import PulsePlatform
import PulsePlugins
import PulseStorage
import PulseTesting
import TestSupport
import Testing

@testable import PulseTransfers
@testable import PulseTransports

/// Downloads over real sockets.
@Suite(.tags(.threads), .throttled)
struct DownloadTests {
    private struct Fetch: Endpoint {
        typealias Response = Data
        var path = "/file"
        var method = HTTPMethod.get
        var headers: [String: String] = [:]
    }

    /// A directory of the test's own, with the target in it.
    private static func withTarget(
        old: Data? = nil, _ body: (_ target: URL) async throws -> Void
    ) async throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("pulse-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let target = directory.appendingPathComponent("file.bin")
        try old?.write(to: target)
        try await body(target)
    }

    private static func client(_ server: MockServer, events: PulseEventBus = PulseEventBus()) -> PulseClient {
        ClientStage.client(of: server, retry: .immediate(2), clock: TestClock(), events: events)
    }

    private static let block = (0..<1 << 16).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }

    private static func content(_ count: Int, seed: UInt8 = 0) -> Data {
        let block = Data(seed == 0 ? block : block.map { $0 &+ seed })
        var data = Data(capacity: count)
        while data.count < count { data.append(block.prefix(count - data.count)) }
        return data
    }

    /// The target has those bytes, and nothing else is in its directory.
    private static func expect(_ target: URL, holds data: Data, _ location: SourceLocation = #_sourceLocation) throws {
        #expect(try Data(contentsOf: target) == data, sourceLocation: location)
        #expect(
            try names(in: target.deletingLastPathComponent()) == [target.lastPathComponent], sourceLocation: location)
    }

    private static func names(in directory: URL) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted()
    }

    @Test func aWholeFileReplacesTheOldOne() async throws {
        try await MockServer.run { server in
            let data = Self.content(300_000)
            server.serve(MockServer.File(data, etag: "\"a\""), at: "/file")
            try await Self.withTarget(old: Data("old".utf8)) { target in
                let client = Self.client(server)
                let response = try await client.download(Fetch(), to: target)
                #expect(response.statusCode == 200 && response.file == target)
                try Self.expect(target, holds: data)
                #expect(server.requests.map { $0.headers["Accept-Encoding"] } == ["identity"])
                await client.shutdown()
            }
        }
    }

    @Test func aPathWithValuesAndAQueryIsDownloaded() async throws {
        try await MockServer.run { server in
            let data = Self.content(100)
            server.serve(MockServer.File(data, etag: "\"a\""), at: "/files/{name}")
            try await Self.withTarget { target in
                let client = Self.client(server)
                let directory = target.deletingLastPathComponent()
                try await client.download(
                    "/files/{name}", path: ["name": "a/b"], query: ["version": 2], headers: ["X-A": "1"], to: target)
                try Self.expect(target, holds: data)
                let response = try await client.download(
                    "/files/{name}", path: ["name": "c"], query: ["version": 3], headers: ["X-A": "2"], into: directory)
                #expect(response.file?.lastPathComponent == "c")
                var last: PulseClient.TransferUpdate<PulseResponse>?
                let updates = client.downloading(
                    "/files/{name}", path: ["name": "d"], query: ["version": 4], headers: ["X-A": "3"], to: target)
                for try await update in updates { last = update }
                guard case .finished(let finished) = last else {
                    Issue.record("the last step is the response")
                    return
                }
                #expect(finished.file == target)
                let targets = ["/files/a%2Fb?version=2", "/files/c?version=3", "/files/d?version=4"]
                #expect(server.requests.map(\.target) == targets)
                #expect(server.requests.map { $0.headers["X-A"] } == ["1", "2", "3"])
                await client.shutdown()
            }
        }
    }

    @Test func lostConnectionsGoOnWhereTheyEnded() async throws {
        try await MockServer.run { server in
            let data = Self.content(1 << 20)
            let file = MockServer.File(data, etag: "\"a\"")
            for drop in [200_000, 0, 300_000, 1] { file.dropping(after: drop) }
            server.serve(file, at: "/file")
            try await Self.withTarget { target in
                let client = Self.client(server)
                try await client.download(Fetch(), to: target)
                try Self.expect(target, holds: data)
                await client.shutdown()
            }
        }
    }

    /// The retry policy does not retry it.
    @Test func aWaitForASlotThatEndedDoesNotEndABegunDownload() async throws {
        try await MockServer.run { server in
            let data = Self.content(1 << 20)
            let file = MockServer.File(data, etag: "\"a\"")
            file.dropping(after: 200_000)
            server.serve(file, at: "/file")
            try await Self.withTarget { target in
                let requests = Locked(0)
                let crowd = ClosurePlugin { request, _, next in
                    let number = requests.withLock { requests in
                        requests += 1
                        return requests
                    }
                    if number == 2 { throw PulseError.PoolTimeout(host: "server", limit: 60, connections: 6).failure }
                    return try await next(request)
                }
                let client = ClientStage.client(of: server, plugins: [crowd], clock: TestClock(autoAdvances: true))
                try await client.download(Fetch(), to: target)
                try Self.expect(target, holds: data)
                #expect(requests.withLock { $0 } == 3)
                await client.shutdown()
            }
        }
    }

    @Test(arguments: [403, 404, 500])
    func anErrorLeavesTheOldFile(status: Int) async throws {
        try await MockServer.run { server in
            server.on(.get, "/file") { _ in .text("an error page", status: status) }
            try await Self.withTarget(old: Data("old".utf8)) { target in
                let client = Self.client(server)
                let error = await #expect(throws: PulseError.self) {
                    try await client.download(
                        Fetch(), to: target, options: RequestOptions().with(\.acceptedStatuses, value: .any))
                }
                #expect(error?.statusCode == status)
                try Self.expect(target, holds: Data("old".utf8))
                await client.shutdown()
            }
        }
    }

    // MARK: Going on

    /// The value of `Range` of each request.
    private static func ranges(_ server: MockServer) -> [String?] {
        server.requests.map { $0.headers["Range"] }
    }

    /// The bytes that a download has kept beside its target.
    private static func partial(of target: URL) throws -> Data {
        try Data(contentsOf: target.deletingLastPathComponent().appendingPathComponent(".file.bin.part"))
    }

    @Test func aLaterDownloadGoesOnWithWhatCame() async throws {
        try await MockServer.run { server in
            let data = Self.content(1 << 20)
            let file = MockServer.File(data, etag: "\"a\"")
            file.dropping(after: 500_000).dropping(after: 0)
            server.serve(file, at: "/file")
            try await Self.withTarget(old: Data("old".utf8)) { target in
                let client = Self.client(server)
                let once = Download.Options().with(\.maxAttemptsWithoutProgress, value: 1)
                let options = RequestOptions().with(\.retry, value: RetryPolicy.none)
                await #expect(throws: PulseError.self) {
                    try await client.download(Fetch(), to: target, download: once, options: options)
                }
                #expect(try Data(contentsOf: target) == Data("old".utf8))
                let kept = try Self.partial(of: target)
                #expect(kept.count > 0 && kept == data.prefix(kept.count))
                let another = Self.client(server)
                let response = try await another.download(Fetch(), to: target)
                try Self.expect(target, holds: data)
                #expect(response.statusCode == 206)
                #expect(Self.ranges(server) == [nil, "bytes=\(kept.count)-", "bytes=\(kept.count)-"])
                #expect(server.requests.map { $0.headers["If-Range"] } == [nil, "\"a\"", "\"a\""])
                await client.shutdown()
                await another.shutdown()
            }
        }
    }

    /// Ends a download in the middle and returns the bytes that it has kept.
    private static func interrupted(
        _ client: PulseClient, _ file: MockServer.File, _ endpoint: Fetch, to target: URL,
        _ download: Download.Options = Download.Options()
    ) async throws -> Int {
        file.dropping(after: 200_000).dropping(after: 0)
        let options = RequestOptions().with(\.retry, value: RetryPolicy.none)
        await #expect(throws: PulseError.self) {
            try await client.download(
                endpoint, to: target, download: download.with(\.maxAttemptsWithoutProgress, value: 1), options: options)
        }
        return (try? partial(of: target).count) ?? 0
    }

    enum Resumption: CaseIterable { case tag, date, recentDate, weakTag, none, digest, anotherKey, sameKey }

    @Test(arguments: Resumption.allCases)
    func onlyAnIdentifiedContentIsResumed(by resumption: Resumption) async throws {
        try await MockServer.run { server in
            let data = Self.content(1 << 20)
            let now = Date()
            let file =
                switch resumption {
                case .date: MockServer.File(data, lastModified: now - 3600)
                case .recentDate: MockServer.File(data, lastModified: now + 3600)
                case .weakTag: MockServer.File(data, etag: "W/\"a\"", lastModified: now - 100)
                case .none, .digest: MockServer.File(data)
                default: MockServer.File(data, etag: "\"a\"")
                }
            server.serve(file, at: "/file")
            server.serve(file, at: "/signed")
            try await Self.withTarget { target in
                let client = Self.client(server)
                var download = Download.Options()
                let digest = try #require(SystemHashes.library?.sha256(data)?.hex)
                if resumption == .digest { download.digest = .sha256(digest) }
                if resumption == .sameKey { download.contentKey = "film" }
                var endpoint = Fetch()
                let kept = try await Self.interrupted(client, file, endpoint, to: target, download)
                let isResumed = [.tag, .date, .digest, .sameKey].contains(resumption)
                if [.anotherKey, .sameKey].contains(resumption) { endpoint.path = "/signed" }
                #expect((kept > 0) == (isResumed || resumption == .anotherKey))
                try await client.download(endpoint, to: target, download: download)
                try Self.expect(target, holds: data)
                let last = server.requests.last
                #expect(last?.headers["Range"] == (isResumed ? "bytes=\(kept)-" : nil))
                await client.shutdown()
            }
        }
    }

    /// A response for the rest seldom names the file.
    @Test func theNameIsThatOfTheFirstResponse() async throws {
        try await MockServer.run { server in
            let data = Self.content(1 << 20)
            let file = MockServer.File(data, etag: "\"a\"").answering { request, right in
                guard request.headers["Range"] == nil else { return right }
                return right.header("Content-Disposition", "attachment; filename=\"report.pdf\"")
            }
            server.serve(file, at: "/file")
            try await Self.withTarget { target in
                let client = Self.client(server)
                let directory = target.deletingLastPathComponent()
                file.dropping(after: 200_000).dropping(after: 0)
                await #expect(throws: PulseError.self) {
                    try await client.download(
                        Fetch(), into: directory, download: .init().with(\.maxAttemptsWithoutProgress, value: 1),
                        options: RequestOptions().with(\.retry, value: RetryPolicy.none))
                }
                let response = try await client.download(Fetch(), into: directory)
                #expect(response.statusCode == 206 && response.file?.lastPathComponent == "report.pdf")
                #expect(try Self.names(in: directory) == ["report.pdf"])
                await client.shutdown()
            }
        }
    }

    /// It would be asked for without end.
    @Test func aPartThatWasNotAskedForEndsForAnAccountToo() {
        var machine = DownloadRun.StateMachine(mayResume: true, hasDigest: false, maxAttemptsWithoutProgress: 5)
        _ = machine.start(nil, length: 0)
        let head = DownloadHead(status: 206, content: DownloadedContent(), range: 1..<10)
        for count in 1... {
            let action = machine.received(head, isForeign: true, error: .emptyBody)
            if case .fail = action { break }
            #expect(count < 3)
            if count > 3 { break }
        }
    }

    @Test func aChangedContentStartsAgain() async throws {
        try await MockServer.run { server in
            let (old, new) = (Self.content(1 << 20), Self.content(900_000, seed: 7))
            let file = MockServer.File(old, etag: "\"a\"")
            server.serve(file, at: "/file")
            try await Self.withTarget { target in
                let client = Self.client(server)
                _ = try await Self.interrupted(client, file, Fetch(), to: target)
                file.replace(with: new, etag: "\"b\"")
                let heard = Heard()
                try await client.download(Fetch(), to: target, progress: heard.take)
                try Self.expect(target, holds: new)
                // Nothing was told of the old content.
                #expect(heard.reports.first?.completed == 0 && heard.reports.last?.attempt == 1)
                await client.shutdown()
            }
        }
    }

    /// The server sends a part of the new content in spite of `If-Range`, once or always.
    @Test(arguments: [1, 99])
    func aPartThatDoesNotFitStartsAgainOnce(times: Int) async throws {
        try await MockServer.run { server in
            let data = Self.content(1 << 20)
            let file = MockServer.File(data, etag: "\"a\"")
            let left = Locked(times)
            server.serve(file, at: "/file")
            try await Self.withTarget(old: Data("old".utf8)) { target in
                let client = Self.client(server)
                let kept = try await Self.interrupted(client, file, Fetch(), to: target)
                file.answering { request, right in
                    guard
                        left.withLock({ left in
                            defer { left -= 1 }
                            return left > 0
                        })
                    else { return right }
                    var wrong = right
                    wrong.status = 206
                    wrong.headers["Content-Range"] = "bytes \(kept + 1)-\(data.count - 1)/\(data.count)"
                    return wrong
                }
                if times == 1 {
                    try await client.download(Fetch(), to: target)
                    try Self.expect(target, holds: data)
                } else {
                    let error = await #expect(throws: PulseError.self) {
                        try await client.download(Fetch(), to: target)
                    }
                    guard case .transport(.badServerResponse, let failure as TransferFailure) = error else {
                        Issue.record("\(String(describing: error))")
                        return
                    }
                    #expect(failure == .contentKeepsChanging)
                    try Self.expect(target, holds: Data("old".utf8))
                }
                await client.shutdown()
            }
        }
    }

    /// Connections are lost at random bytes; the rest is asked for from what is stored.
    /// What a server sends in place of the rest.
    enum Other: CaseIterable {
        case partAsWhole, wholeAsWhole, unreadablePart, restAsWhole, restAsWholeWithoutLength
        case earlierPart, partFromTheStart, partWithoutTag, severalParts, page, pageWithTag, newVersion

        /// Nil if the download succeeds.
        var failure: TransferFailure? {
            switch self {
            case .restAsWhole, .restAsWholeWithoutLength, .page, .pageWithTag: .unexpectedContent
            case .unreadablePart: .contentKeepsChanging
            default: nil
            }
        }

        /// How many requests the first download sends.
        var requestCount: Int { [.unreadablePart, .partWithoutTag, .severalParts].contains(self) ? 2 : 1 }

        /// Whether the next download asks for the rest again.
        var keepsPartial: Bool { failure == .unexpectedContent && self != .restAsWholeWithoutLength }

        func response(_ right: MockServer.Response, _ data: Data, from kept: Int) -> MockServer.Response {
            var response = right
            func send(from start: Int, status: Int, range: String?) {
                response.body = .data(data.dropFirst(start))
                response.status = status
                response.headers["Content-Range"] = range
            }
            func range(from start: Int) -> String { "bytes \(start)-\(data.count - 1)/\(data.count)" }
            switch self {
            case .partAsWhole: send(from: kept, status: 200, range: range(from: kept))
            case .wholeAsWhole: send(from: 0, status: 200, range: range(from: 0))
            case .unreadablePart: send(from: kept, status: 200, range: "bytes \(kept)")
            case .restAsWhole: send(from: kept, status: 200, range: nil)
            case .restAsWholeWithoutLength:
                send(from: kept, status: 200, range: nil)
                response.framing = .chunked()
            case .earlierPart: send(from: kept / 2, status: 206, range: range(from: kept / 2))
            case .partFromTheStart: send(from: 0, status: 206, range: range(from: 0))
            case .partWithoutTag: response.headers["ETag"] = nil
            case .severalParts:
                response.headers["Content-Range"] = nil
                response.headers["Content-Type"] = "multipart/byteranges; boundary=x"
            case .page, .pageWithTag:
                response = .data(Data("<html>please log in</html>".utf8), contentType: "text/html; charset=utf-8")
                if self == .pageWithTag { response.headers["ETag"] = "\"page\"" }
            case .newVersion:
                send(from: 0, status: 200, range: nil)
                response.headers["ETag"] = "\"b\""
            }
            return response
        }
    }

    /// Whatever a server sends in place of the rest, the target is the old file or the whole new one.
    @Test(arguments: Other.allCases)
    func whatIsNotTheRestIsNoFile(_ other: Other) async throws {
        try await MockServer.run { server in
            let data = Self.content(1 << 20)
            let file = MockServer.File(data, etag: "\"a\"")
            server.serve(file, at: "/file")
            try await Self.withTarget(old: Data("old".utf8)) { target in
                let client = Self.client(server)
                let kept = try await Self.interrupted(client, file, Fetch(), to: target)
                try #require(kept > 1)
                // A request for the whole content gets the same from a server that always errs so.
                file.answering { request, right in
                    request.headers["Range"] != nil || other == .unreadablePart
                        ? other.response(right, data, from: kept) : right
                }
                let sent = server.requests.count
                if let expected = other.failure {
                    for attempt in 1...(other.keepsPartial ? 2 : 1) {
                        let failure = await Self.failure { try await client.download(Fetch(), to: target) }
                        #expect(failure == expected)
                        #expect(try Data(contentsOf: target) == Data("old".utf8))
                        // A second refusal means that the content is another one now.
                        let isKept = other.keepsPartial && attempt == 1
                        #expect((try? Self.partial(of: target).count) == (isKept ? kept : nil))
                        if attempt == 1 { #expect(server.requests.count == sent + other.requestCount) }
                    }
                    file.answering { _, right in right }
                }
                try await client.download(Fetch(), to: target)
                try Self.expect(target, holds: data)
                if other.failure == nil { #expect(server.requests.count == sent + other.requestCount) }
                await client.shutdown()
            }
        }
    }

    /// As a crash between the last byte and the rename leaves it.
    @Test(arguments: [nil, 10, 11] as [Int64?])
    func aCompletePartNeedsNoLengthBehindItsEnd(total: Int64?) {
        var content = DownloadedContent()
        (content.entityTag, content.total) = ("\"a\"", 10)
        var machine = DownloadRun.StateMachine(mayResume: true, hasDigest: false, maxAttemptsWithoutProgress: 5)
        _ = machine.start(content, length: 10)
        var end = DownloadedContent()
        end.total = total
        let action = machine.received(DownloadHead(status: 416, content: end), error: .emptyBody)
        if total == 11 {
            guard case .send(from: 0, condition: nil) = action else { return _ = Issue.record("\(action)") }
        } else {
            guard case .finish = action else { return _ = Issue.record("\(action)") }
        }
    }

    @Test func aHundredLossesChangeNoByte() async throws {
        let random = SeededRandomness(seed: 100)
        try await MockServer.run { server in
            let data = Self.content(4 << 20)
            let file = MockServer.File(data, etag: "\"a\"")
            for _ in 0..<100 { file.dropping(after: Int(random.next() % 60_000)) }
            server.serve(file, at: "/file")
            try await Self.withTarget { target in
                let client = Self.client(server)
                let options = Download.Options().with(\.maxAttemptsWithoutProgress, value: 1000)
                try await client.download(Fetch(), to: target, download: options)
                try Self.expect(target, holds: data)
                let offsets = Self.ranges(server).map { $0.flatMap { Int($0.dropFirst(6).dropLast()) } ?? 0 }
                #expect(offsets == offsets.sorted() && offsets.count > 100)
                await client.shutdown()
            }
        }
    }

    @Test func eachRequestHasAFreshToken() async throws {
        try await MockServer.run { server in
            let data = Self.content(1 << 20)
            let file = MockServer.File(data, etag: "\"a\"")
            let (served, expired) = (Locked(0), Locked(false))
            file.dropping(after: 300_000)
            file.answering { request, right in
                let isOld = expired.withLock { expired in
                    defer { expired = true }
                    return expired && request.headers["Authorization"] == "Bearer t1"
                }
                served.withLock { $0 += 1 }
                return isOld ? .status(401) : right
            }
            server.serve(file, at: "/file")
            try await Self.withTarget { target in
                let client = ClientStage.client(of: server, plugins: [.auth(Tokens())], retry: .default)
                try await client.download(Fetch(), to: target)
                try Self.expect(target, holds: data)
                let tokens = server.requests.map { $0.headers["Authorization"] }
                #expect(tokens.last == "Bearer t2" && server.requests.last?.headers["Range"] != nil)
                await client.shutdown()
            }
        }
    }

    /// Once bytes have come, a failing server is waited out, but a refusal ends the download.
    @Test(arguments: [(503, true), (429, true), (500, true), (403, false), (404, false), (410, false)])
    func aStatusInTheMiddleIsWaitedOutOrEndsTheDownload(status: Int, isWaitedOut: Bool) async throws {
        try await MockServer.run { server in
            let data = Self.content(1 << 20)
            let file = MockServer.File(data, etag: "\"a\"")
            file.dropping(after: 300_000)
            let requests = Locked(0)
            file.answering { request, right in
                let number = requests.withLock { number in
                    number += 1
                    return number
                }
                return number == 1 || number > 5 ? right : .status(status)
            }
            server.serve(file, at: "/file")
            try await Self.withTarget(old: Data("old".utf8)) { target in
                let client = Self.client(server)
                if isWaitedOut {
                    try await client.download(Fetch(), to: target)
                    try Self.expect(target, holds: data)
                } else {
                    let error = await #expect(throws: PulseError.self) {
                        try await client.download(Fetch(), to: target)
                    }
                    #expect(error?.statusCode == status)
                    #expect(try Data(contentsOf: target) == Data("old".utf8))
                    let isKept = (try? Self.partial(of: target)) != nil
                    #expect(isKept == (status == 403))
                }
                await client.shutdown()
            }
        }
    }

    /// In stored blocks (RFC 1951, section 3.2.4).
    private static func gzip(_ data: Data) -> Data {
        func little<Value: FixedWidthInteger>(_ value: Value) -> Data {
            withUnsafeBytes(of: value.littleEndian) { Data($0) }
        }
        var coded = Data([0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255])
        for start in stride(from: 0, to: data.count, by: 65_535) {
            let block = data[start..<min(start + 65_535, data.count)]
            coded +=
                Data([start + 65_535 < data.count ? 0 : 1]) + little(UInt16(block.count)) + little(~UInt16(block.count))
            coded += block
        }
        return coded + little(data.withUnsafeBytes { Checksum.of($0) }) + little(UInt32(data.count))
    }

    /// A body that comes coded all the same is stored decoded, and never resumed.
    @Test func aCodedBodyIsNotResumed() async throws {
        let plain = Data(repeating: 65, count: 1_000_000)
        try await MockServer.run { server in
            let coded = Self.gzip(plain)
            let file = MockServer.File(coded, etag: "\"a\"")
            file.dropping(after: coded.count / 2)
            file.answering { _, right in right.header("Content-Encoding", "gzip") }
            server.serve(file, at: "/file")
            try await Self.withTarget { target in
                let client = Self.client(server)
                try await client.download(Fetch(), to: target)
                try Self.expect(target, holds: plain)
                #expect(Self.ranges(server) == [nil, nil])
                await client.shutdown()
            }
        }
    }

    #if canImport(FoundationNetworking)
    /// Foundation's transport on Linux cannot stream: it writes the file in one piece.
    @Test(arguments: [200, 404])
    func aTransportWithoutStreamsWritesTheFileInOnePiece(status: Int) async throws {
        try await MockServer.run { server in
            let data = Self.content(300_000)
            server.on(.get, "/file") { _ in .data(data, status: status) }
            try await Self.withTarget(old: Data("old".utf8)) { target in
                let client = ClientStage.client(
                    of: server, retry: .default, over: URLSessionTransport(), with: { $0.proxy = .environment })
                if status == 200 {
                    try await client.download(Fetch(), to: target)
                    try Self.expect(target, holds: data)
                } else {
                    await #expect(throws: PulseError.self) { try await client.download(Fetch(), to: target) }
                    try Self.expect(target, holds: Data("old".utf8))
                }
                await client.shutdown()
            }
        }
    }
    #endif

    // MARK: The file

    private static func failure(_ body: () async throws -> PulseResponse) async -> TransferFailure? {
        do {
            _ = try await body()
            return nil
        } catch {
            guard case .transport(_, let failure as TransferFailure) = PulseError(wrapping: error) else {
                Issue.record("\(error)")
                return nil
            }
            return failure
        }
    }

    @Test func aWrongDigestIsNeverInstalled() async throws {
        try await MockServer.run { server in
            let data = Self.content(1000)
            let file = MockServer.File(data, etag: "\"a\"")
            server.serve(file, at: "/file")
            try await Self.withTarget(old: Data("old".utf8)) { target in
                let client = Self.client(server)
                let wrong = Download.Options().with(\.digest, value: .sha256(String(repeating: "0", count: 64)))
                #expect(
                    await Self.failure { try await client.download(Fetch(), to: target, download: wrong) }
                        == .digestMismatch)
                let field = "sha-256=:\(Data(count: 32).base64EncodedString()):"
                file.answering { _, right in right.header("Repr-Digest", field) }
                #expect(await Self.failure { try await client.download(Fetch(), to: target) } == .digestMismatch)
                try Self.expect(target, holds: Data("old".utf8))
                await client.shutdown()
            }
        }
    }

    @Test func aDestinationThatCannotBeUsedIsTypedBeforeAnythingIsSent() async throws {
        try await MockServer.run { server in
            server.serve(MockServer.File(Self.content(10)), at: "/file")
            try await Self.withTarget(old: Data("old".utf8)) { target in
                let client = Self.client(server)
                let directory = target.deletingLastPathComponent()
                let keeps = Download.Options().with(\.replacesFile, value: false)
                #expect(
                    await Self.failure { try await client.download(Fetch(), to: target, download: keeps) }
                        == .fileExists)
                for place in [directory, directory.appendingPathComponent("no/where")] {
                    #expect(
                        await Self.failure { try await client.download(Fetch(), to: place) } == .unusableDestination)
                }
                for (url, options) in [
                    (URL(string: "https://example.com/a")!, Download.Options()),
                    (target, Download.Options().with(\.digest, value: .sha256("12"))),
                    (target, Download.Options().with(\.maxAttemptsWithoutProgress, value: -1)),
                ] {
                    let error = await #expect(throws: PulseError.self) {
                        try await client.download(Fetch(), to: url, download: options)
                    }
                    #expect(error?.kind == .invalidRequest)
                }
                let ranged = await #expect(throws: PulseError.self) {
                    try await client.download(Fetch(headers: ["range": "bytes=0-1"]), to: target)
                }
                #expect(ranged?.kind == .invalidRequest)
                #expect(server.requests.isEmpty)
                try Self.expect(target, holds: Data("old".utf8))
                await client.shutdown()
            }
        }
    }

    @Test func aSecondDownloadToOneFileIsBusy() async throws {
        try await MockServer.run { server in
            let (gate, open) = AsyncStream<Data>.makeStream()
            server.on(.get, "/file") { _ in MockServer.Response(body: .stream(gate)) }
            try await Self.withTarget { target in
                let client = Self.client(server)
                let first = Task { try await client.download(Fetch(), to: target) }
                try await server.requests(atLeast: 1)
                #expect(await Self.failure { try await client.download(Fetch(), to: target) } == .busy)
                open.yield(Data("whole".utf8))
                open.finish()
                _ = try await first.value
                try Self.expect(target, holds: Data("whole".utf8))
                await client.shutdown()
            }
        }
    }

    @Test func theServerNamesAFileInADirectory() async throws {
        try await MockServer.run { server in
            let data = Self.content(100)
            let file = MockServer.File(data)
            server.serve(file, at: "/files/a%20b.txt")
            try await Self.withTarget { target in
                let client = Self.client(server)
                let directory = target.deletingLastPathComponent()
                var names: [String?] = []
                for name in [nil, nil, "../../x.pdf", "..."] {
                    let field = name.map { "attachment; filename=\"\($0)\"" }
                    file.answering { _, right in field.map { right.header("Content-Disposition", $0) } ?? right }
                    let response = try await client.download(Fetch(path: "/files/a%20b.txt"), into: directory)
                    names.append(response.file?.lastPathComponent)
                    #expect(try response.file.map { try Data(contentsOf: $0) } == data)
                }
                #expect(names == ["a b.txt", "a b (1).txt", "x.pdf", "a b (2).txt"])
                #expect(try Self.names(in: directory) == names.compactMap { $0 }.sorted())
                await client.shutdown()
            }
        }
    }

    // MARK: Progress

    @Test func theProgressSpansAllRequests() async throws {
        try await MockServer.run { server in
            let data = Self.content(1 << 20)
            let file = MockServer.File(data, etag: "\"a\"")
            file.dropping(after: 300_000).dropping(after: 0).dropping(after: 200_000)
            server.serve(file, at: "/file")
            try await Self.withTarget { target in
                let sink = RecordingSink()
                let client = Self.client(server, events: PulseEventBus(sink: sink))
                let heard = Heard()
                try await client.download(Fetch(), to: target, progress: heard.take)
                let reports = heard.reports
                #expect(reports.first?.completed == 0 && reports.last?.completed == 1 << 20)
                #expect(reports.allSatisfy { $0.total == 1 << 20 && $0.attempt == 1 })
                #expect(zip(reports, reports.dropFirst()).allSatisfy { $0.completed < $1.completed })
                let names = sink.names
                #expect(names.filter { $0 == "requestStarted" || $0 == "requestCompleted" }.count == 2)
                #expect(names.filter { $0 == "transferProgress" }.count == reports.count)
                await client.shutdown()
            }
        }
    }

    @Test func anEmptyFileIsReported() async throws {
        try await MockServer.run { server in
            server.serve(MockServer.File(Data()), at: "/file")
            try await Self.withTarget { target in
                let client = Self.client(server)
                var updates: [PulseClient.TransferUpdate<Int>] = []
                for try await update in client.downloading(Fetch(), to: target) {
                    switch update {
                    case .progress(let progress): updates.append(.progress(progress))
                    case .finished(let response): updates.append(.finished(response.statusCode))
                    }
                }
                #expect(updates == [.progress(TransferProgress(completed: 0, total: 0)), .finished(200)])
                try Self.expect(target, holds: Data())
                await client.shutdown()
            }
        }
    }

    // MARK: Ends

    enum End: CaseIterable { case task, all, tag, shutdown, deadline, loop }

    @Test(arguments: End.allCases)
    func anEndClosesTheWireAndKeepsWhatCame(by end: End) async throws {
        try await MockServer.run { server in
            let data = Self.content(300_000)
            let (chunks, source) = AsyncStream<Data>.makeStream()
            source.yield(data)
            server.on(.get, "/file") { _ in
                MockServer.Response(headers: ["ETag": "\"a\""], body: .stream(chunks), framing: .chunked())
            }
            try await Self.withTarget(old: Data("old".utf8)) { target in
                let clock = TestClock()
                let client = ClientStage.client(of: server, retry: .default, clock: clock)
                let (arrivals, arrival) = AsyncStream<Void>.makeStream()
                let options = RequestOptions().with(\.deadline, value: 50).with(\.tag, value: "tag")
                    .with(\.timeout, value: 1000)
                let call = Task {
                    if end == .loop {
                        for try await _ in client.downloading(Fetch(), to: target, options: options) { return }
                    }
                    try await client.download(Fetch(), to: target, options: options) { progress in
                        // The clock stands still: only a total that is reached would be reported again.
                        arrival.yield()
                    }
                }
                if end != .loop { for await _ in arrivals { break } }
                switch end {
                case .task: call.cancel()
                case .all: client.cancelAll()
                case .tag: client.cancelAll(tag: "tag")
                case .shutdown: await client.shutdown()
                case .deadline: await clock.advance(by: 50)
                case .loop: break
                }
                if end == .loop {
                    try await call.value
                } else {
                    let error = await #expect(throws: PulseError.self) { try await call.value }
                    #expect(error?.kind == (end == .deadline ? .deadlineExceeded : .cancelled))
                }
                try await server.connectionsClosedByClient()
                await client.shutdown()
                #expect(try Data(contentsOf: target) == Data("old".utf8))
            }
        }
    }
}
