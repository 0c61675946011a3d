// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulseTesting
import TestSupport
import Testing

@testable import PulsePlugins

@Suite(.throttled)
struct LoggerPluginTests {
    /// The lines that a plugin wrote.
    final class Lines: Sendable {
        private let lines = Locked<[String]>([])
        var all: [String] { lines.withLock { $0 } }

        var add: @Sendable (String) -> Void {
            { line in self.lines.withLock { $0.append(line) } }
        }
    }

    private static func response(_ request: URLRequest, at clock: TestClock) async -> PulseResponse {
        await clock.advance(by: 0.034)
        return PulseResponse(
            statusCode: 201,
            headers: ["Content-Type": "application/json", "Set-Cookie": "sid=hunter2; Path=/", "X-Page": "1"],
            data: Data(#"{"id":1,"session_token":"hunter2"}"#.utf8), request: request)
    }

    private static let login = URLRequest.mock(
        .post, "https://api.example.com/login?api_key=hunter2&page=1",
        headers: ["Content-Type": "application/json", "Authorization": "Bearer hunter2", "Accept": "application/json"],
        body: Data(#"{"password":"hunter2","user":"ada"}"#.utf8))

    /// The lines for one login.
    private static func text(
        _ verbosity: LoggerPlugin.Verbosity, _ request: URLRequest = login, includesCurl: Bool = false,
        body: PluginContext.Body = .inRequest, attempt: Int = 1, hop: Int = 0, maxBodyLength: Int = 4096,
        responding: (@Sendable (URLRequest) async throws -> PulseResponse)? = nil
    ) async throws -> String {
        let (lines, clock) = (Lines(), TestClock())
        let plugin = LoggerPlugin(
            options: .init(
                verbosity: verbosity, maxBodyLength: maxBodyLength, includesCurl: includesCurl, output: lines.add))
        let context = PluginContext.mock(
            for: request, body: body, attempt: attempt, hop: hop, clock: clock, randomness: SeededRandomness(seed: 1))
        let response = try? await plugin.run(request, in: context) { request in
            guard let responding else { return await Self.response(request, at: clock) }
            await clock.advance(by: 0.034)
            return try await responding(request)
        }
        if let stream = response?.bytes { for try await _ in stream {} }
        return lines.all.joined(separator: "\n").replacingOccurrences(of: LogText.shortID(context.id), with: "0a1b2c3d")
    }

    @Test func verbosityNoneWritesNothing() async throws {
        #expect(try await Self.text(.none) == "")
    }

    @Test func verbosityMinimalWritesOneLinePerCall() async throws {
        #expect(
            try await Self.text(.minimal) == """
                [0a1b2c3d] POST https://api.example.com/login?api_key=***REDACTED***&page=1 201, 34 bytes in 34 ms
                """)
        let failure = try await Self.text(.minimal) { _ in throw URLError(.timedOut) }
        #expect(
            failure == """
                [0a1b2c3d] POST https://api.example.com/login?api_key=***REDACTED***&page=1 failed in 34 ms: \
                timed out: POST https://api.example.com/login, \
                no byte was sent or received for the idle timeout
                """)
    }

    @Test func verbosityStandardWritesALinePerRequestAndResponse() async throws {
        #expect(
            try await Self.text(.standard) == """
                [0a1b2c3d] --> POST https://api.example.com/login?api_key=***REDACTED***&page=1, 35 bytes
                [0a1b2c3d] <-- 201 for POST https://api.example.com/login?api_key=***REDACTED***&page=1, 34 bytes in 34 ms
                """)
        let failure = try await Self.text(.standard, .mock(.get, "/a")) { _ in
            throw TransportFailure(code: .networkConnectionLost, phase: .maybeSent)
        }
        #expect(
            failure == """
                [0a1b2c3d] --> GET https://api.example.com/a
                [0a1b2c3d] <-- GET https://api.example.com/a failed in 34 ms: transport failed: networkConnectionLost, maybeSent, \
                GET https://api.example.com/a
                """)
    }

    @Test func verbosityVerboseWritesReadableBlocks() async throws {
        #expect(
            try await Self.text(.verbose) == """
                [0a1b2c3d] --> POST https://api.example.com/login?api_key=***REDACTED***&page=1, 35 bytes
                    Accept: application/json
                    Authorization: ***REDACTED***
                    Content-Type: application/json

                    {"password":"***REDACTED***","user":"ada"}
                [0a1b2c3d] <-- 201 for POST https://api.example.com/login?api_key=***REDACTED***&page=1, 34 bytes in 34 ms
                    Content-Type: application/json
                    Set-Cookie: ***REDACTED***
                    X-Page: 1

                    {"id":1,"session_token":"***REDACTED***"}
                """)
    }

    @Test func theRequestIsShownAsCurlOnDemand() async throws {
        let text = try await Self.text(.verbose, .mock(.put, "/a", body: Data("a\nb".utf8)), includesCurl: true)
        #expect(
            text.hasPrefix(
                #"""
                [0a1b2c3d] --> PUT https://api.example.com/a, 3 bytes

                    a
                    b

                    printf 'a\012b' | curl 'https://api.example.com/a' \
                      -X 'PUT' \
                      -H 'Content-Type:' \
                      --data-binary @-
                [0a1b2c3d] <-- 201
                """#))
        #expect(try await !Self.text(.standard, includesCurl: true).contains("curl"))
    }

    @Test func linesDistinguishAttemptsAndRedirects() async throws {
        let text = try await Self.text(.standard, .mock(.get, "/a"), attempt: 2, hop: 1)
        #expect(text.contains("--> GET https://api.example.com/a (attempt 2, redirect 1)"))
    }

    @Test func aFollowedRedirectIsShownAsSuch() async throws {
        let text = try await Self.text(.standard, .mock(.get, "/a")) { request in
            PulseResponse(statusCode: 302, headers: ["Location": "/b?token=hunter2"], request: request)
        }
        #expect(
            text.contains(
                "<-- 302 for GET https://api.example.com/a, redirected to /b?token=***REDACTED***, 0 bytes in"))
        let last = try await Self.text(.standard, .mock(.get, "/a")) { request in
            PulseResponse(statusCode: 304, request: request)
        }
        #expect(!last.contains("redirected"))
    }

    // MARK: Bodies

    @Test func loggingNeverConsumesAStream() async throws {
        let taken = Locked(0)
        let lines = Lines()
        let plugin = LoggerPlugin(options: .init(verbosity: .verbose, output: lines.add))
        let response = try await plugin.run(.mock()) { request in
            var response = PulseResponse(statusCode: 200, headers: ["Content-Type": "text/plain"], request: request)
            let rest = Locked(["one", "two"])
            response.body = .stream(
                ByteStream(next: {
                    taken.withLock { $0 += 1 }
                    return rest.withLock { $0.isEmpty ? nil : Data($0.removeFirst().utf8) }
                }))
            return response
        }
        #expect(taken.withLock { $0 } == 0)
        #expect(lines.all.last?.contains("a stream in") == true)
        #expect(lines.all.last?.contains("one") == false)
        let stream = try #require(response.bytes)
        #expect(try await stream.collect(upTo: 100) == Data("onetwo".utf8))
        #expect(lines.all.last?.contains("<-- the stream of GET https://api.example.com/ ended after") == true)
    }

    @Test func theFailureOfAStreamIsLogged() async throws {
        let failing: @Sendable (URLRequest) -> PulseResponse = { request in
            var response = PulseResponse(statusCode: 200, request: request)
            response.body = .stream(
                ByteStream(next: { throw PulseError.socketClosed(code: 1, reason: "token=hunter2") }))
            return response
        }
        for verbosity in [LoggerPlugin.Verbosity.standard, .verbose] {
            let lines = Lines()
            let plugin = LoggerPlugin(options: .init(verbosity: verbosity, output: lines.add))
            let response = try await plugin.run(.mock()) { failing($0) }
            await #expect(throws: PulseError.self) { try await response.bytes?.collect(upTo: 1) }
            #expect(lines.all.last?.hasSuffix("socket closed, 1: token=***REDACTED***") == true)
        }
    }

    @Test func verbosityMinimalWaitsForTheEndOfAStream() async throws {
        let (lines, written) = (Lines(), AsyncStream<Void>.makeStream())
        let plugin = LoggerPlugin(
            options: .init(verbosity: .minimal) { line in
                lines.add(line)
                written.continuation.yield()
            })
        let response = try await plugin.run(.mock()) { request in
            var response = PulseResponse(statusCode: 200, request: request)
            response.body = .stream(
                ByteStream(next: {
                    throw TransportFailure(code: .networkConnectionLost, phase: .responseStarted)
                }))
            return response
        }
        #expect(lines.all == [])
        await #expect(throws: PulseError.self) { try await response.bytes?.collect(upTo: 1) }
        for await _ in written.stream { break }
        #expect(lines.all.count == 1)
        #expect(lines.all.first?.contains("failed in") == true)
        #expect(lines.all.first?.contains("networkConnectionLost") == true)
    }

    @Test func filesAndStreamsAreShownBySizeWithoutAPath() async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("diary-\(UUID()).txt")
        try Data("0123456789".utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let text = try await Self.text(.verbose, .mock(.post, "/a"), includesCurl: true, body: .file(file)) { request in
            var response = PulseResponse(statusCode: 200, request: request)
            response.body = .file(file)
            return response
        }
        #expect(text.contains("--> POST https://api.example.com/a, a file of 10 bytes"))
        #expect(text.contains("<-- 200 for POST https://api.example.com/a, a file of 10 bytes in"))
        #expect(!text.contains("diary"))
        let upgrade = try await Self.text(.verbose, .mock(.get, "/a")) { request in
            var response = PulseResponse(statusCode: 101, request: request)
            response.body = .connection(CountedConnection())
            return response
        }
        #expect(upgrade.contains("<-- 101 for GET https://api.example.com/a, a connection in"))
        let missing = PluginContext.Body.file(URL(fileURLWithPath: "/no/such/diary"))
        #expect(try await Self.text(.standard, .mock(.post, "/a"), body: missing).contains("/a, a file\n"))
        let stream = PluginContext.Body.stream(RequestBody.Stream(length: 1) { throw CancellationError() })
        #expect(try await Self.text(.standard, .mock(.post, "/a"), body: stream).contains("/a, a stream of 1 byte\n"))
    }

    @Test func aBinaryBodyIsShownAsItsSize() async throws {
        let text = try await Self.text(
            .verbose, .mock(.post, "/a", headers: ["Content-Type": "image/png"], body: Data([0x89, 0x50, 0, 1]))
        ) { request in
            PulseResponse(
                statusCode: 200, headers: ["Content-Type": "application/json", "Content-Encoding": "br"],
                data: Data("abc".utf8), request: request)
        }
        #expect(text.contains("\n    <4 bytes of image/png>\n"))
        #expect(text.hasSuffix("\n    <3 bytes of application/json>"))
    }

    @Test func aBodyIsTruncatedAtTheMaximumLength() async throws {
        let text = try await Self.text(
            .verbose, .mock(.post, "/a", body: Data("é0123456789".utf8)), maxBodyLength: 5)
        #expect(text.contains("\n    é012… (12 bytes in all)\n"))
        #expect(try await Self.text(.verbose, maxBodyLength: 0).contains("\n    <35 bytes of application/json>\n"))
    }

    // MARK: Hostile servers

    @Test(arguments: [
        "\n[0a1b2c3d] <-- 200 for GET https://bank.example/", "\r\n    X: y", "\u{1B}[2J\u{1B}]0;x\u{7}", "\u{85}",
        "\u{2028}", "\u{202E}", "\u{0}", "\u{9B}2K",
    ])
    func aServerCannotForgeALogLineOrControlTheTerminal(text: String) async throws {
        let written = try await Self.text(.verbose, .mock(.get, "/a")) { request in
            PulseResponse(
                statusCode: 302,
                headers: ["Location": "/b\(text)", "X\(text)": "a\(text)b", "Content-Type": "text/plain\(text)"],
                data: Data("one\(text)two".utf8), request: request)
        }
        let lines = written.split(separator: "\n")
        #expect(lines.filter { $0.hasPrefix("[") }.count == 2, "\(written)")
        #expect(lines.filter { !$0.hasPrefix("[") }.allSatisfy { $0.hasPrefix("    ") }, "\(written)")
        for scalar in written.unicodeScalars where scalar != "\n" {
            #expect(scalar.properties.generalCategory != .control && !scalar.properties.isBidiControl)
            #expect(scalar != "\u{2028}")
        }
    }

    @Test func aHugeResponseHeadIsTruncated() async throws {
        let text = try await Self.text(.verbose, .mock(.get, "/a")) { request in
            var headers = HTTPHeaders()
            headers.add(name: String(repeating: "N", count: 100_000), value: "x")
            headers.add(name: "X-Long", value: String(repeating: "v", count: 100_000))
            for index in 0..<1000 { headers.add(name: "X-\(index)", value: "y") }
            headers.add(name: "Location", value: "/" + String(repeating: "l", count: 100_000))
            return PulseResponse(statusCode: 302, headers: headers, request: request)
        }
        #expect(text.utf8.count < 10_000)
        #expect(text.contains("… (903 more fields)"))
    }

    // MARK: Secrets

    @Test func secretNamesOfOptionsConfigurationAndPluginsAreMasked() async throws {
        let lines = Lines()
        let transport = MockTransport { request in
            PulseResponse(
                statusCode: 200, headers: ["X-Tenant": "hunter2", "X-Marked": "hunter2", "X-Own": "hunter2"],
                data: Data(#"{"x_tenant":"hunter2","xMarked":"hunter2","own":1,"x-own":"hunter2"}"#.utf8),
                request: request)
        }
        let marking = Marking()
        let client = ClientStage.client(
            .root.with(\.secretHeaders, value: ["X-Tenant"])
                .with(\.defaultHeaders, value: ["X-Tenant": "hunter2", "X-Own": "hunter2"]),
            plugins: [
                marking,
                .logger(
                    options: .init(
                        verbosity: .verbose, sensitiveHeaders: ["X-Own"], includesCurl: true, output: lines.add)),
            ], retry: .default, over: transport)
        _ = try await client.rawRequest(Request<String>(.get, "/a").query("x_own", "hunter2"))
        await client.shutdown()
        let text = lines.all.joined(separator: "\n")
        #expect(!text.contains("hunter2"), "\(text)")
        #expect(text.contains(#""own":1"#))
        #expect(text.contains("X-Marked: ***REDACTED***"))
    }

    private struct Marking: PulsePlugin {
        let identifier = "marking"

        func prepare(_ request: inout URLRequest, for context: PluginContext) async throws {
            context.markSecret(header: "X-Marked")
            request.setValue("hunter2", forHTTPHeaderField: "X-Marked")
        }
    }

    // MARK: A whole client

    @Test func theLoggerSeesTheRequestAsSentAfterOtherPlugins() async throws {
        let lines = Lines()
        let transport = MockTransport { PulseResponse(statusCode: 200, request: $0) }
        let client = ClientStage.client(
            .root,
            plugins: [
                .logger(options: .init(verbosity: .verbose, output: lines.add)),
                .headers(["X-Late": "1", "Authorization": "Bearer x"]),
            ], retry: .default, over: transport)
        _ = try await client.rawRequest(Request<String>(.get, "https://elsewhere.example/a"))
        await client.shutdown()
        let block = try #require(lines.all.first)
        #expect(block.contains("X-Late: 1"))
        // The transport removed it: it is sent to home origins only.
        #expect(!block.contains("Authorization"))
        #expect(transport.requests.first?.allHTTPHeaderFields?["Authorization"] == nil)
    }

    @Test func theCallLineCountsRetriesAndRedirects() async throws {
        let (minimal, standard) = (Lines(), Lines())
        let statuses = Locked([503, 302, 503, 200])
        let clock = TestClock(autoAdvances: true)
        let client = ClientStage.client(
            .root,
            plugins: [
                .logger(options: .init(verbosity: .minimal, output: minimal.add)),
                .logger(options: .init(verbosity: .standard, output: standard.add)),
            ], retry: RetryPolicy(maxAttempts: 3, backoffStrategy: .constant(1)), clock: clock
        ) { request in
            PulseResponse(
                statusCode: statuses.withLock { $0.removeFirst() }, headers: ["Location": "/b"], request: request)
        }
        _ = try await client.rawRequest(Request<String>(.get, "/a"))
        await client.shutdown()
        #expect(minimal.all.count == 1)
        #expect(
            minimal.all.first?.hasSuffix(
                "GET https://api.example.com/b 200, 0 bytes in 2000 ms, 4 requests, 1 redirect") == true,
            "\(minimal.all)")
        let lines = standard.all.map { String($0.dropFirst(9)) }
        #expect(
            lines == [
                "] --> GET https://api.example.com/a",
                "] <-- 503 for GET https://api.example.com/a, 0 bytes in 0 ms",
                ".2] --> GET https://api.example.com/a (attempt 2)",
                ".2] <-- 302 for GET https://api.example.com/a, redirected to /b, 0 bytes in 0 ms",
                ".3] --> GET https://api.example.com/b (redirect 1)",
                ".3] <-- 503 for GET https://api.example.com/b, 0 bytes in 0 ms",
                ".4] --> GET https://api.example.com/b (attempt 2, redirect 1)",
                ".4] <-- 200 for GET https://api.example.com/b, 0 bytes in 0 ms",
            ])
        #expect(Set(standard.all.map { $0.prefix(9) }).count == 1)
    }

    @Test func aCancelledCopyDoesNotReplaceTheWinnersResponse() async throws {
        let lines = Lines()
        let plugin = LoggerPlugin(options: .init(verbosity: .minimal, output: lines.add))
        let context = PluginContext.mock()
        let responding = PluginChain.mock(context: context) { PulseResponse(statusCode: 200, request: $0) }
        let cancelled = PluginChain.mock(context: context) { _ in throw CancellationError() }
        _ = try await plugin.intercept(.mock(), for: context, next: responding)
        _ = try? await plugin.intercept(.mock(), for: context, next: cancelled)
        await plugin.didComplete(context)
        #expect(lines.all.count == 1)
        #expect(lines.all.first?.contains("200, 0 bytes") == true)
    }

    // MARK: Default verbosity

    @Test func theLoggerIsSilentInAReleaseBuildByDefault() {
        typealias Verbosity = LoggerPlugin.Verbosity
        #expect(Verbosity.unasked(hasOutput: false, isDebugBuild: false) == .none)
        #expect(Verbosity.unasked(hasOutput: true, isDebugBuild: false) == .standard)
        #expect(Verbosity.unasked(hasOutput: false, isDebugBuild: true) == .standard)
        #expect(LoggerPlugin.Options(verbosity: .minimal).verbosity == .minimal)
        #expect(LoggerPlugin.Options(verbosity: .none) { _ in }.verbosity == .none)
        #expect(LoggerPlugin.Options { _ in }.verbosity == .standard)
        #expect(LoggerPlugin.Options().maxBodyLength == 4096)
    }

    @Test func standsAroundEachAttempt() {
        let plugin: any PulsePlugin = .logger()
        #expect(plugin.identifier == "com.pulse.logger")
        #expect(plugin.scope == .attempt)
    }
}
