// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulseObservability
import PulsePlugins
import PulseTesting
import TestSupport
import Testing

@Suite(.throttled)
struct CassetteTests {
    private static let home = URL(string: "https://api.example.com") ?? URL(fileURLWithPath: "/")

    private func client(_ transport: any Transport, at home: URL = home) -> PulseClient {
        ClientStage.client(PulseConfiguration(baseURL: home), retry: .never, over: transport)
    }

    /// The recording of those calls.
    private func record(
        secretHeaders: Set<String> = [], _ calls: [Request<String>],
        responding respond: @escaping @Sendable (URLRequest) async throws -> PulseResponse
    ) async throws -> Cassette {
        let recorder = CassetteRecorder(
            around: MockTransport(respond), secretHeaders: secretHeaders, clock: TestClock())
        let client = client(recorder)
        for call in calls { _ = await client.result(of: call) }
        await client.shutdown()
        // Read again from its file.
        return try Cassette(har: recorder.cassette.har)
    }

    private static func echo(_ request: URLRequest) -> PulseResponse {
        let body = request.httpBody.map { String(decoding: $0, as: UTF8.self) } ?? ""
        return PulseResponse(
            statusCode: 200, headers: ["Content-Type": "text/plain", "X-Seen": "1"],
            data: Data("\(request.url?.path ?? "") \(body)".utf8), request: request)
    }

    @Test func playsRecordedResponses() async throws {
        let calls = [
            Request<String>(.get, "/a").query("page", "1"), Request<String>(.post, "/b").body(.text("hello")),
        ]
        let cassette = try await record(calls) { Self.echo($0) }
        #expect(cassette.count == 2)
        let player = CassettePlayer(cassette)
        let client = client(player)
        #expect(player.unplayedCount == 2)
        // In another order than recorded.
        #expect(try await client.request(calls[1]) == "/b hello")
        let response = try await client.response(for: calls[0])
        #expect(response.value == "/a ")
        #expect(response.response.headers["X-Seen"] == "1")
        #expect(response.response.origin == .mock)
        #expect(player.unplayedCount == 0)
        await client.shutdown()
    }

    @Test func aRequestThatIsNotOnTheCassetteFailsWithItsReason() async throws {
        let cassette = try await record([Request<String>(.get, "/a")]) { Self.echo($0) }
        let client = client(CassettePlayer(cassette))
        let result = await client.result(of: Request<String>(.get, "/b").query("token", "hunter2"))
        guard case .failure(.custom(let miss as CassetteMiss)) = result else {
            Issue.record("\(result)")
            return
        }
        #expect(
            miss.description == """
                not on the cassette: GET https://api.example.com/b?token=\(Redaction.mask); \
                1. GET https://api.example.com/a: the path is another
                """)
        await client.shutdown()
    }

    @Test(arguments: [
        (Request<String>(.post, "/a").query("q", "1").body(.text("x")), "the method is POST"),
        (Request<String>(.put, "/b").query("q", "1").body(.text("x")), "the path is another"),
        (Request<String>(.put, "/a").query("q", "2").body(.text("x")), "the query is another"),
        (Request<String>(.put, "/a").body(.text("x")), "the query is another"),
        (Request<String>(.put, "/a").query("q", "1").body(.text("y")), "the body is another"),
        (Request<String>(.put, "/a").query("q", "1"), "the body is another"),
        (Request<String>(.put, "https://other.example/a").query("q", "1").body(.text("x")), "the host is another"),
    ])
    func eachPartOfARequestIsCompared(call: Request<String>, reason: String) async throws {
        let cassette = try await record([Request<String>(.put, "/a").query("q", "1").body(.text("x"))]) {
            Self.echo($0)
        }
        let client = client(CassettePlayer(cassette))
        let result = await client.result(of: call)
        guard case .failure(let error) = result else {
            Issue.record("it was played")
            return
        }
        #expect(error.localizedDescription.contains(reason))
        await client.shutdown()
    }

    @Test func onlyTheRequestedPartsAreCompared() async throws {
        let cassette = try await record([Request<String>(.put, "/a").query("q", "1").body(.text("x"))]) {
            Self.echo($0)
        }
        let client = client(
            CassettePlayer(cassette, matching: []), at: try #require(URL(string: "http://localhost:1")))
        #expect(try await client.request(Request<String>(.put, "/a").body(.text("y"))) == "/a x")
        await client.shutdown()
    }

    @Test func secretsAreMaskedOnTheCassetteAndTheSameCallStillMatches() async throws {
        func login(_ secret: String) -> Request<String> {
            Request<String>(.post, "/login").query("api_key", secret).header("Authorization", "Bearer \(secret)")
                .body(.json(["password": .string(secret), "own": .string(secret), "pin": 12_345_678, "user": "ada"]))
        }
        let cassette = try await record(secretHeaders: ["own"], [login("hunter2")]) { request in
            PulseResponse(
                statusCode: 200, headers: ["Set-Cookie": "sid=hunter2"],
                data: Data(#"{"token":"hunter2","id":7}"#.utf8), request: request)
        }
        let text = String(decoding: cassette.har, as: UTF8.self)
        #expect(!text.contains("hunter2") && !text.contains("12345678"))
        for player in [
            CassettePlayer(cassette, secretHeaders: ["own"]),
            // A mask on the cassette matches anything.
            CassettePlayer(cassette),
        ] {
            let client = client(player)
            #expect(try await client.request(login("another")) == #"{"token":"***REDACTED***","id":7}"#)
            let other = Request<String>(.post, "/login").query("api_key", "x").body(.json(["user": "bob"]))
            await #expect(throws: PulseError.self) { try await client.request(other) }
            await client.shutdown()
        }
    }

    /// One secret header is known to a plugin only, another to the configuration only.
    @Test func secretsOfPluginsAndOfTheConfigurationAreMaskedOnTheCassette() async throws {
        let recorder = CassetteRecorder(
            around: MockTransport { request in
                PulseResponse(statusCode: 200, data: Data(#"{"badge":"hunter3"}"#.utf8), request: request)
            }, clock: TestClock())
        let configuration = PulseConfiguration(baseURL: Self.home).with(\.secretHeaders, value: ["badge"])
        func client(_ transport: any Transport) -> PulseClient {
            ClientStage.client(
                configuration, plugins: [CredentialsPlugin(apiKey: "hunter2", header: "X-Company-Id")],
                over: transport)
        }
        let call = Request<String>(.get, "/a").query("badge", "hunter3")
        let recording = client(recorder)
        _ = try await recording.request(call)
        let har = recorder.cassette.har
        await recording.shutdown()
        #expect(!String(decoding: har, as: UTF8.self).contains("hunter"))
        let playing = client(CassettePlayer(try Cassette(har: har)))
        #expect(try await playing.request(call) == #"{"badge":"***REDACTED***"}"#)
        await playing.shutdown()
    }

    @Test func theSameRequestGetsItsResponsesInTurnAndThenTheLast() async throws {
        let count = Locked(0)
        let call = Request<String>(.get, "/a")
        let cassette = try await record([call, call]) { request in
            let number = count.withLock { count in
                count += 1
                return count
            }
            return PulseResponse(statusCode: 200, data: Data("\(number)".utf8), request: request)
        }
        let client = client(CassettePlayer(cassette))
        var responses: [String] = []
        for _ in 0..<3 { responses.append(try await client.request(call)) }
        #expect(responses == ["1", "2", "2"])
        await client.shutdown()
    }

    @Test func inRecordedOrderOnlyTheNextRequestMatches() async throws {
        let (first, second) = (Request<String>(.get, "/a"), Request<String>(.get, "/b"))
        let cassette = try await record([first, second]) { Self.echo($0) }
        let client = client(CassettePlayer(cassette, order: .asRecorded))
        var texts: [String] = []
        for call in [second, first, second, first] {
            do {
                texts.append(try await client.request(call))
            } catch let error as PulseError {
                texts.append(error.localizedDescription)
            }
        }
        #expect(texts[0].contains("request 1 of the cassette is GET https://api.example.com/a, but the request is GET"))
        #expect(texts[0].contains("https://api.example.com/b: the path is another"))
        #expect(texts[1...2] == ["/a ", "/b "])
        #expect(texts[3].contains("the cassette ended after 2 requests"))
        await client.shutdown()
    }

    @Test(arguments: [
        (URLError.Code.timedOut, PulseError.Phase.maybeSent, PulseError.Kind.timeout),
        (.notConnectedToInternet, .beforeSend, .noConnection), (.networkConnectionLost, .maybeSent, .transport),
        (.cannotConnectToHost, .beforeSend, .transport),
    ])
    func recordedWireFailuresArePlayedUnchanged(
        code: URLError.Code, phase: PulseError.Phase, kind: PulseError.Kind
    ) async throws {
        let cassette = try await record([Request<String>(.get, "/a")]) { _ in
            throw TransportFailure(code: code, phase: phase)
        }
        let client = client(CassettePlayer(cassette))
        guard case .failure(let error) = await client.result(of: Request<String>(.get, "/a")) else {
            Issue.record("no failure")
            return
        }
        #expect(error.kind == kind)
        #expect(error.phase == phase)
        await client.shutdown()
    }

    @Test(arguments: [
        PulseError.responseTooLarge(limit: 7), .unsupported("upgrades"), .invalidRequest(reason: "no method"),
        .sslPinningFailed(host: "api.example.com"),
    ])
    func recordedTransportErrorsArePlayedUnchanged(failure: PulseError) async throws {
        let cassette = try await record([Request<String>(.get, "/a")]) { _ in throw failure }
        let client = client(CassettePlayer(cassette))
        guard case .failure(let error) = await client.result(of: Request<String>(.get, "/a")) else {
            Issue.record("no failure")
            return
        }
        #expect(error.kind == failure.kind)
        #expect(error.localizedDescription.hasPrefix(failure.localizedDescription))
        await client.shutdown()
    }

    @Test func binaryBodiesArePlayedUnchanged() async throws {
        let bytes = Data((0...255).map { UInt8($0) })
        let cassette = try await record([Request<String>(.get, "/a")]) { request in
            PulseResponse(statusCode: 200, headers: ["Content-Type": "image/png"], data: bytes, request: request)
        }
        let client = client(CassettePlayer(cassette))
        #expect(try await client.request(Request<Data>(.get, "/a")) == bytes)
        await client.shutdown()
    }

    @Test(arguments: ["text/plain; charset=iso-8859-1", "application/json; charset=iso-8859-1"])
    func textInAnotherEncodingIsPlayedByteForByteAndMasked(contentType: String) async throws {
        func body(_ password: String) throws -> Data {
            try #require(#"{"name":"caf\#u{E9}","password":"\#(password)"}"#.data(using: .isoLatin1))
        }
        let sent = try body("hunter2")
        let cassette = try await record([Request<String>(.get, "/a")]) { request in
            PulseResponse(
                statusCode: 200, headers: ["Content-Type": contentType], data: sent, request: request)
        }
        let client = client(CassettePlayer(cassette))
        let played = try await client.request(Request<Data>(.get, "/a"))
        #expect(try played == body(Redaction.mask))
        await client.shutdown()
    }

    @Test func truncatedTextInAnotherEncodingFailsWithThatReason() async throws {
        let sent = try #require("caf\u{E9}".data(using: .isoLatin1))
        let cassette = try await record([Request<String>(.get, "/a")]) { request in
            var response = PulseResponse(
                statusCode: 200, headers: ["Content-Type": "text/plain; charset=iso-8859-1"], data: sent,
                request: request)
            response.isTruncated = true
            return response
        }
        let client = client(CassettePlayer(cassette))
        let played = try await client.rawRequest(Request<Data>(.get, "/a"))
        #expect(played.data == sent)
        #expect(played.isTruncated)
        await client.shutdown()
    }

    @Test(arguments: [
        "Content-Type: image/png\r\n\r\nabc", "Content-Type: text/plain\r\n\r\na\u{0}b",
        "Content-Type: text/plain\r\n\r\n\u{E9}",
    ])
    func aMultipartResponseWithBinaryPartsIsNotPlayed(part: String) async throws {
        let latin1 = try #require("--x\r\n\(part)\r\n--x--\r\n".data(using: .isoLatin1))
        let cassette = try await record([Request<String>(.get, "/a")]) { request in
            PulseResponse(
                statusCode: 200, headers: ["Content-Type": "multipart/mixed; boundary=x"], data: latin1,
                request: request)
        }
        let client = client(CassettePlayer(cassette))
        guard case .failure(let error) = await client.result(of: Request<Data>(.get, "/a")) else {
            Issue.record("it was played")
            return
        }
        #expect(error.localizedDescription.contains("not kept: binary"))
        await client.shutdown()
    }

    @Test func aMultipartResponseOfTextIsPlayedUnchanged() async throws {
        let body = Data("--x\r\nContent-Type: text/plain\r\n\r\n\u{E9}\r\n--x--\r\n".utf8)
        let cassette = try await record([Request<String>(.get, "/a")]) { request in
            PulseResponse(
                statusCode: 200, headers: ["Content-Type": "multipart/mixed; boundary=x"], data: body,
                request: request)
        }
        let client = client(CassettePlayer(cassette))
        #expect(try await client.request(Request<Data>(.get, "/a")) == body)
        await client.shutdown()
    }

    @Test func jsonIsComparedByItsValueAndMultipartWithoutItsBoundary() async throws {
        func form() -> Request<String> {
            Request<String>(.post, "/form").body(
                .multipart(MultipartFormData(parts: [.init(name: "a", data: Data("1".utf8))])))
        }
        let json = Request<String>(.post, "/json").body(
            .data(Data(#"{"a":1,"b":[2]}"#.utf8), contentType: "application/json"))
        let cassette = try await record([form(), json]) { Self.echo($0) }
        let client = client(CassettePlayer(cassette))
        _ = try await client.request(form())
        let same = Request<String>(.post, "/json").body(
            .data(Data(#"{ "b": [ 2.0 ], "a": 1 }"#.utf8), contentType: "application/json"))
        _ = try await client.request(same)
        let other = Request<String>(.post, "/json").body(
            .data(Data(#"{"a":1,"b":[3]}"#.utf8), contentType: "application/json"))
        await #expect(throws: PulseError.self) { try await client.request(other) }
        await client.shutdown()
    }

    /// Bodies of every kind, with texts, secrets and files in them.
    private static func body(_ random: SeededRandomness) -> @Sendable () -> RequestBody {
        func below(_ limit: Int) -> Int { Int(random.next() % UInt64(limit)) }
        let pieces = [
            "a", "Z", "/", "?", "#", "%", "%2F", "..", "+", "&", "=", ";", " ", "\"", "'", "\\", "\r\n", "\u{7F}", "{",
            "}",
            ":", "\u{E9}", "\u{301}", "\u{1F600}", "<", ">", "--", Redaction.mask, "password=x", "token",
            "4111111111111111",
        ]
        func text() -> String { (0...below(12)).map { _ in pieces[below(pieces.count)] }.joined() }
        func bytes() -> Data { Data((0..<below(200)).map { _ in UInt8(below(256)) }) }
        func name() -> String { ["password", "name", "file", "a b", "token", "\u{E9}"][below(6)] }
        let kind = below(7)
        switch kind {
        case 0:
            let body = RequestBody.text("x" + text())
            return { body }
        case 1:
            let value = JSONValue.object([name(): .string(text()), "list": .array([.string(text()), 1])])
            return { .json(value) }
        case 2:
            let items = (0...below(4)).map { _ in URLQueryItem(name: name(), value: text()) }
            return { .formURLEncoded(items) }
        case 3:
            let (data, type) = (Data([1]) + bytes(), ["application/octet-stream", "image/png", "text/plain"][below(3)])
            return { .data(data, contentType: type) }
        default:
            let types = ["application/octet-stream", "image/png", "text/plain", "application/json", "x/y"]
            let parts = (0...below(3)).map { _ in
                below(2) == 0
                    ? MultipartFormData.Part(name: name(), data: Data(text().utf8))
                    : MultipartFormData.Part(
                        name: name(), data: bytes(), filename: text(), mimeType: types[below(types.count)])
            }
            // With another boundary each time.
            return { .multipart(MultipartFormData(parts: parts)) }
        }
    }

    @Test func whatIsRecordedIsFoundAgain() async throws {
        let random = SeededRandomness(seed: 44)
        for round in 0..<300 {
            let body = Self.body(random)
            let call: @Sendable () -> Request<String> = { Request<String>(.post, "/a").body(body()) }
            let cassette = try await record([call()]) {
                PulseResponse(statusCode: 200, data: Data("x".utf8), request: $0)
            }
            let client = client(CassettePlayer(cassette))
            let result = await client.result(of: call())
            if case .failure(let error) = result {
                Issue.record("round \(round): \(error)\n\(String(decoding: cassette.har, as: UTF8.self))")
            }
            await client.shutdown()
        }
    }

    @Test func aStreamIsRecordedWhileItIsReadAndPlayedAsAStream() async throws {
        let inner = MockTransport { request in
            var response = PulseResponse(statusCode: 200, request: request)
            response.body = .stream(ByteStream([Data("one ".utf8), Data("two".utf8)]))
            return response
        }
        let recorder = CassetteRecorder(around: inner)
        let request = TransportRequest(urlRequest: .mock(.get, "/feed"), delivery: .streamed)
        let response = try await recorder.send(request)
        #expect(recorder.cassette.count == 0)
        let stream = try #require(response.bytes)
        #expect(try await stream.collect(upTo: 100) == Data("one two".utf8))
        #expect(recorder.cassette.count == 1)
        let played = try await CassettePlayer(recorder.cassette).send(request)
        let again = try #require(played.bytes)
        #expect(try await again.collect(upTo: 100) == Data("one two".utf8))
    }

    @Test func aConnectionIsRecordedWithoutItsBytes() async throws {
        struct Upgrading: Transport {
            let connection: CountedConnection
            var capabilities: TransportCapabilities { .simulated }

            func send(_ request: TransportRequest) async throws -> PulseResponse {
                var response = PulseResponse(statusCode: 101, request: request.urlRequest)
                response.body = .connection(connection)
                return response
            }

            func shutdown() async {}
        }
        let connection = CountedConnection()
        let recorder = CassetteRecorder(around: Upgrading(connection: connection))
        let request = TransportRequest(urlRequest: .mock(.get, "/socket"), delivery: .upgrade)
        #expect(try await recorder.send(request).connection === connection)
        let entry = try #require(recorder.cassette.document.log.entries.first)
        #expect(entry.response.status == 101 && entry.response.content?.comment == "not kept: stream")
        #expect(connection.closeCount == 0)
    }

    @Test(arguments: [0, 1])
    func anAbandonedStreamIsNotPlayedAsAWholeOne(chunks: Int) async throws {
        let inner = MockTransport { request in
            var response = PulseResponse(statusCode: 200, request: request)
            response.body = .stream(ByteStream([Data("one ".utf8), Data("two".utf8)]))
            return response
        }
        let recorder = CassetteRecorder(around: inner)
        let request = TransportRequest(urlRequest: .mock(.get, "/feed"), delivery: .streamed)
        let stream = try #require(try await recorder.send(request).bytes)
        var iterator = stream.makeAsyncIterator()
        for _ in 0..<chunks { _ = try await iterator.next() }
        stream.cancel()
        let played = try await CassettePlayer(try Cassette(har: recorder.cassette.har)).send(request)
        #expect(played.isTruncated)
        #expect(try await played.bytes?.collect(upTo: 100) == Data((chunks == 1 ? "one " : "").utf8))
    }

    @Test func anIncompleteRecordedStreamFailsAgain() async throws {
        let inner = MockTransport { request in
            var response = PulseResponse(statusCode: 200, request: request)
            let rest = Locked([Data("one ".utf8)][...])
            response.body = .stream(
                ByteStream {
                    guard let chunk = rest.withLock({ $0.popFirst() }) else {
                        throw TransportFailure(code: .networkConnectionLost, phase: .responseStarted)
                    }
                    return chunk
                })
            return response
        }
        let recorder = CassetteRecorder(around: inner)
        let request = TransportRequest(urlRequest: .mock(.get, "/feed"), delivery: .streamed)
        func read(_ transport: any Transport) async throws -> (String, PulseError.Kind?) {
            let stream = try #require(try await transport.send(request).bytes)
            var text = ""
            do {
                for try await chunk in stream { text += String(decoding: chunk, as: UTF8.self) }
                return (text, nil)
            } catch let error as PulseError {
                return (text, error.kind)
            }
        }
        let recorded = try await read(recorder)
        let played = try await read(CassettePlayer(try Cassette(har: recorder.cassette.har)))
        #expect(recorded == ("one ", .transport))
        #expect(played == ("one ", .transport))
    }

    @Test func binaryBodiesAreComparedByTheirSize() async throws {
        func upload(_ bytes: [UInt8]) -> Request<String> {
            Request<String>(.post, "/a").body(.data(Data(bytes)))
        }
        let cassette = try await record([upload([0, 1, 2]), Request<String>(.post, "/b")]) { Self.echo($0) }
        let client = client(CassettePlayer(cassette))
        _ = try await client.request(upload([0, 9, 9]))
        await #expect(throws: PulseError.self) { try await client.request(upload([0, 1])) }
        let unexpected = Request<String>(.post, "/b").body(.data(Data([0])))
        await #expect(throws: PulseError.self) { try await client.request(unexpected) }
        await client.shutdown()
    }

    @Test func theQueryIsComparedByItsValues() async throws {
        let har = #"""
            {"log": {"entries": [{"_error": "net::NOTHING", "response": {"status": 200, "content": {}},
            "request": {"method": "GET", "url": "https://API.example.com:443/a?b=%7E&a=x+y"}}]}}
            """#
        let text = har.replacingOccurrences(of: #""_error": "net::NOTHING", "#, with: "")
        let call = Request<String>(.get, "/a").query("a", "x y").query("b", "~")
        let client = client(CassettePlayer(try Cassette(har: Data(text.utf8))))
        _ = try await client.request(call)
        await client.shutdown()
        // With a browser's error it is read as well.
        #expect(try Cassette(har: Data(har.utf8)).count == 1)
    }

    @Test(arguments: [
        (#"{"size": 9, "comment": "not kept: stream"}"#, "not kept: stream"),
        (#"{"size": 9, "mimeType": "text/plain"}"#, "only its size was kept"),
        (#"{"size": 2, "text": "b2s", "encoding": "base64"}"#, "it is not base64"),
        (#"{"size": 2, "text": "b2?s=", "encoding": "base64"}"#, "it is not base64"),
    ])
    func aRecordedResponseWithoutItsBodyFails(content: String, reason: String) async throws {
        let har = #"""
            {"log": {"entries": [{"request": {"method": "GET", "url": "https://api.example.com/a"},
            "response": {"status": 200, "content": \#(content)}}]}}
            """#
        let client = client(CassettePlayer(try Cassette(har: Data(har.utf8))))
        guard case .failure(let error) = await client.result(of: Request<String>(.get, "/a")) else {
            Issue.record("it was played")
            return
        }
        #expect(error.localizedDescription.contains(reason))
        await client.shutdown()
    }

    /// An app's recorder keeps the beginning of a large body.
    @Test func aTruncatedRecordedBodyFails() async throws {
        let recorder = PulseRecorder(options: .init(maxBodyLength: 10), clock: TestClock())
        let recorded = ClientStage.client(
            PulseConfiguration(baseURL: Self.home), plugins: [recorder]
        ) { request in
            PulseResponse(statusCode: 200, data: Data("0123456789abc".utf8), request: request)
        }
        _ = try await recorded.request(Request<String>(.get, "/a"))
        await recorded.shutdown()
        let client = client(CassettePlayer(try Cassette(har: recorder.recording().har())))
        guard case .failure(let error) = await client.result(of: Request<String>(.get, "/a")) else {
            Issue.record("it was played")
            return
        }
        #expect(error.localizedDescription.contains("only its beginning was kept"))
        await client.shutdown()
    }

    /// An app's recorder keeps them: the cancelled copy of hedging, the request of a closed screen.
    @Test func cancelledAndUnfinishedRequestsAreNotPlayed() async throws {
        let recorder = PulseRecorder(clock: TestClock())
        let count = Locked(0)
        let har = Locked(Data())
        let recorded = ClientStage.client(
            PulseConfiguration(baseURL: Self.home), plugins: [recorder]
        ) { request in
            let number = count.withLock { count in
                count += 1
                return count
            }
            if number == 1 { throw CancellationError() }
            if number == 3 { har.withLock { $0 = recorder.recording().har() } }
            return PulseResponse(statusCode: 200, data: Data("answer".utf8), request: request)
        }
        for _ in 0..<3 { _ = await recorded.result(of: Request<String>(.get, "/a")) }
        await recorded.shutdown()
        let cassette = try Cassette(har: har.withLock { $0 })
        #expect(cassette.count == 3)
        let players: [any Transport] = [
            CassettePlayer(cassette), CassettePlayer(cassette, order: .asRecorded),
            MockTransport(stubs: cassette.stubs()),
        ]
        for player in players {
            let client = client(player)
            #expect(try await client.request(Request<String>(.get, "/a")) == "answer")
            #expect((player as? CassettePlayer)?.unplayedCount ?? 0 == 0)
            await client.shutdown()
        }
    }

    @Test func theFileOfABrowserIsPlayedWithItsSecretsMasked() async throws {
        let har = #"""
            {"log": {"entries": [{"request": {"method": "POST", "url": "https://api.example.com/a?token=hunter2#x",
            "postData": {"mimeType": "application/x-www-form-urlencoded",
            "params": [{"name": "a b", "value": "1"}, {"name": "password", "value": "hunter2"}]}},
            "response": {"status": 200, "headers": [{"name": "Content-Encoding", "value": "br"}],
            "content": {"text": "b2s=", "encoding": "base64"}}}]}}
            """#
        let client = client(CassettePlayer(try Cassette(har: Data(har.utf8))))
        let call = Request<String>(.post, "/a").query("token", "other")
            .body(.formURLEncoded([URLQueryItem(name: "a b", value: "1"), URLQueryItem(name: "password", value: "x")]))
        let response = try await client.response(for: call)
        #expect(response.value == "ok")
        #expect(response.response.headers["Content-Encoding"] == nil)
        await client.shutdown()
    }

    @Test func stubsOfACassetteReplyBesideOthers() async throws {
        let count = Locked(0)
        let cassette = try await record([
            Request<String>(.get, "/a"), Request<String>(.get, "/a"), Request<String>(.get, "/b"),
        ]) { request in
            let number = count.withLock { count in
                count += 1
                return count
            }
            return PulseResponse(statusCode: 200, data: Data("\(number)".utf8), request: request)
        }
        let stubs = cassette.stubs()
        #expect(stubs.count == 2)
        let transport = MockTransport(stubs: stubs + [Stub(.get, "/c").reply(.text("c"))])
        let client = client(transport, at: try #require(URL(string: "http://localhost:1")))
        var responses: [String] = []
        for path in ["/a", "/b", "/a", "/a", "/c"] {
            responses.append(try await client.get(path))
        }
        #expect(responses == ["1", "3", "2", "2", "c"])
        await #expect(throws: PulseError.self) { try await client.request(Request<String>(.post, "/a")) }
        await client.shutdown()
    }

    @Test func aRedirectToAnotherHostIsOneStubThatRepliesInTurn() async throws {
        let har = #"""
            {"log": {"entries": [
            {"request": {"method": "GET", "url": "http://example.com/x?b=2&a=1"},
            "response": {"status": 301,
            "headers": [{"name": "Location", "value": "https://www.example.com/x?a=1&b=2"}]}},
            {"request": {"method": "GET", "url": "https://www.example.com/x?a=1&b=2"},
            "response": {"status": 200, "content": {"text": "there"}}}]}}
            """#
        let cassette = try Cassette(har: Data(har.utf8))
        let call = Request<String>(.get, "/x").query("a", "1").query("b", "2")
        let stubs = cassette.stubs()
        #expect(stubs.count == 1)
        let client = client(MockTransport(stubs: stubs), at: try #require(URL(string: "http://example.com")))
        let response = try await client.response(for: call)
        #expect(response.value == "there")
        #expect(response.response.redirects.map(\.statusCode) == [301])
        await client.shutdown()
        // With the host compared they are two.
        #expect(cassette.stubs(matching: .all).count == 2)
    }

    @Test func indistinguishableRequestsAreOneStub() async throws {
        func form(_ value: String) -> Request<String> {
            Request<String>(.post, "/form").body(
                .multipart(MultipartFormData(parts: [.init(name: "a", data: Data(value.utf8))])))
        }
        func json(_ text: String) -> Request<String> {
            Request<String>(.post, "/json").body(.data(Data(text.utf8), contentType: "application/json"))
        }
        let count = Locked(0)
        let cassette = try await record([
            form("1"), form("1"), form("2"), json(#"{"a":1,"b":2}"#), json(#"{ "b": 2, "a": 1 }"#),
        ]) { request in
            let number = count.withLock { count in
                count += 1
                return count
            }
            return PulseResponse(statusCode: 200, data: Data("\(number)".utf8), request: request)
        }
        let stubs = cassette.stubs()
        #expect(stubs.count == 3)
        let client = client(MockTransport(stubs: stubs))
        var responses: [String] = []
        for call in [form("1"), form("2"), form("1"), json(#"{"a":1,"b":2}"#), json(#"{"a":1,"b":2}"#)] {
            responses.append(try await client.request(call))
        }
        #expect(responses == ["1", "3", "2", "4", "5"])
        await client.shutdown()
    }

    @Test func cancelledRequestsAreNotRecorded() async throws {
        let cassette = try await record([Request<String>(.get, "/a")]) { _ in throw CancellationError() }
        #expect(cassette.count == 0)
    }

    @Test func aMissingOrMalformedCassetteFileIsAnError() throws {
        let missing = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID()).har")
        #expect(throws: PulseError.self) { try Cassette(contentsOf: missing) }
        #expect(throws: PulseError.self) { try Cassette(har: Data("[]".utf8)) }
    }

    @Test func cookiesInOneHeaderValueArePlayedAsSeveral() async throws {
        let har = """
            {"log": {"creator": {"name": "Browsertime"}, "entries": [
              {"request": {"method": "GET", "url": "https://api.example.com/a"},
               "response": {"status": 200, "headers": [
                 {"name": ":status", "value": "200"},
                 {"name": "set-cookie", "value": "a=1; expires=Thu, 01 Jan 2026 00:00:00 GMT; path=/\\nb=2; HttpOnly"},
                 {"name": "X-None", "value": null}]}},
              {"request": {"method": "GET", "url": "https://api.example.com/b"}}]}}
            """
        let cassette = try Cassette(har: Data(har.utf8))
        #expect(
            cassette.warnings == [
                "the creator has no version", "entry 1: a header, cookie or query item has no value",
                "entry 2: it has no response",
            ])
        let client = client(CassettePlayer(cassette))
        let response = try await client.rawRequest(Request<EmptyResponse>(.get, "/a"))
        #expect(
            response.headers.values(for: "Set-Cookie")
                == ["a=1; expires=Thu, 01 Jan 2026 00:00:00 GMT; path=/", "b=2; HttpOnly"])
        #expect(response.headers["X-None"] == "")
        #expect(response.headers[":status"] == nil)
        let error = await #expect(throws: PulseError.self) {
            try await client.rawRequest(Request<EmptyResponse>(.get, "/b"))
        }
        #expect(error?.kind == .transport)
        await client.shutdown()
    }
}
