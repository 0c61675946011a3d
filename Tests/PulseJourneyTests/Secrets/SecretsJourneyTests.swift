// SPDX-License-Identifier: MIT

import PulseKit
import PulseTesting
import TestSupport
import Testing

/// Calls that carry secrets in every position, with every kind of result: no secret appears in any text.
// One after another: each consists of many calls.
@Suite(.serialized, .throttled)
struct SecretsJourneyTests {
    /// The result of a call.
    enum End: String, CaseIterable, Sendable {
        case success, unauthorized, serverError, decodingFailure, timeout, retried, cancelled, reset
        case redirected, redirectedAway, redirectedWithUserInfo
    }

    @Test(arguments: End.allCases)
    func noTextOfACallOverTheWireShowsASecret(end: End) async throws {
        let collector = TextCollector()
        let recorder = PulseRecorder(options: .init(sensitiveHeaders: ["X-Own"], keepsBinaryBodies: true))
        try Data(PlantedSecret.fileBody.value.utf8).write(to: SecretLogin.file, options: .atomic)
        try await MockServer.run { server in
            let away = try await MockServer.start()
            serve(on: server, away: away.baseURL)
            serve(on: away, away: away.baseURL)
            for carrier in SecretLogin.Carrier.allCases {
                let client = client(at: server, collector, recorder)
                if end == .cancelled {
                    server.on(.post, "/cancelled") { _ in
                        client.cancelAll()
                        return .raw([.stall])
                    }
                }
                try await run(login(end, carrier), with: client, collector, isSuccess: end.isSuccess)
                await client.shutdown()
            }
            // A call that has failed may be reported before the server has read its request.
            try await server.requests(atLeast: SecretLogin.Carrier.allCases.count)
            try expectSecrets(in: server.requests + away.requests, end)
            await away.shutdown()
        }
        let calls = recorder.recording().calls
        #expect(calls.count == SecretLogin.Carrier.allCases.count)
        #expect(calls.allSatisfy { !$0.exchanges.isEmpty })
        collector.add(recording: recorder.recording())
        expectNoSecret(in: collector.texts)
    }

    @Test func noCassetteHoldsASecret() async throws {
        try Data(PlantedSecret.fileBody.value.utf8).write(to: SecretLogin.file, options: .atomic)
        let body = #"{"id":1,"access_token":"\#(PlantedSecret.responseField.value)","a":"neighbor"}"#
        let cookie = "sid=\(PlantedSecret.setCookie.value); Path=/; HttpOnly"
        let cassette = CassetteRecorder(
            around: MockTransport { request in
                PulseResponse(
                    statusCode: 200, headers: ["Set-Cookie": cookie, "Content-Type": "application/json"],
                    data: Data(body.utf8), request: request)
            }, secretHeaders: ["X-Tenant", "X-Marked", "X-Own"])
        let client = ClientStage.client(.root, plugins: [MarkingPlugin()], retry: .default, over: cassette)
        for carrier in SecretLogin.Carrier.allCases {
            _ = try await client.request(SecretLogin(address: "/success", carrier: carrier))
        }
        await client.shutdown()
        #expect(cassette.cassette.count == SecretLogin.Carrier.allCases.count)
        let text = String(decoding: cassette.cassette.har, as: UTF8.self)
        #expect(text.contains(Redaction.mask) && text.contains("neighbor"))
        for forbidden in PlantedSecret.forbiddenTexts { #expect(!text.contains(forbidden), "\(forbidden)") }
    }

    @Test func noTextOfACallToAURLWithUserInfoShowsIt() async throws {
        let collector = TextCollector()
        let transport = MockTransport { request in
            collector.add(request: request)
            return PulseResponse(statusCode: 404, request: request)
        }
        let client = ClientStage.client(
            PulseConfiguration(), plugins: [logger(collector)], over: transport, events: PulseEventBus(sink: collector))
        let url = "https://ada:\(PlantedSecret.userInfo.value)@api.example.com/a"
        collector.add(all: client)
        try await run(SecretLogin(address: url), with: client, collector, isSuccess: false)
        let built = try #require(URL(string: url))
        await #expect(throws: PulseError.self) { try await client.rawRequest(URLRequest(url: built)) }
        await client.shutdown()
        expectNoSecret(in: collector.texts)
        #expect(collector.texts.joined().contains("***REDACTED***@api.example.com"))
    }

    // MARK: Calls

    private func login(_ end: End, _ carrier: SecretLogin.Carrier) -> SecretLogin {
        var login = SecretLogin(address: "/\(end.rawValue)", carrier: carrier)
        // A repeated request must be safe to repeat.
        if end == .retried { login.method = .put }
        if end == .timeout { login.options.timeout = 0.2 }
        return login
    }

    private func logger(_ collector: TextCollector) -> LoggerPlugin {
        .logger(
            options: .init(
                verbosity: .verbose, sensitiveHeaders: ["X-Own"], includesCurl: true, output: collector.add))
    }

    private func client(
        at server: MockServer, _ collector: TextCollector, _ recorder: PulseRecorder
    ) -> PulseClient {
        let bus = PulseEventBus(sink: collector)
        recorder.attach(to: bus)
        return ClientStage.client(
            of: server,
            plugins: [
                MarkingPlugin(), logger(collector),
                .logger(options: .init(verbosity: .standard, output: collector.add)),
                .logger(options: .init(verbosity: .minimal, output: collector.add)), recorder,
            ], retry: .immediate(2), events: bus,
            with: {
                $0.secretHeaders = ["X-Tenant"]
                $0.defaultHeaders = ["X-Tenant": PlantedSecret.configuredHeader.value]
            })
    }

    private func run(
        _ login: SecretLogin, with client: PulseClient, _ collector: TextCollector, isSuccess: Bool
    ) async throws {
        collector.add(all: client)
        collector.add(all: login.body)
        do {
            let decoded = try await client.response(for: login)
            #expect(isSuccess, "\(login.address), \(login.carrier)")
            collector.add(all: decoded.response)
            collector.add(all: decoded.response.headers)
            collector.add(all: decoded.response.redirects)
            collector.add(request: decoded.response.request)
        } catch let error as PulseError {
            #expect(!isSuccess, "\(login.address), \(login.carrier): \(error)")
            collector.add(error: error)
        }
    }

    // MARK: The server

    private func serve(on server: MockServer, away: URL) {
        let attempts = Locked(0)
        server.fallback { request in
            switch End(rawValue: String(request.path.dropFirst())) {
            case .unauthorized:
                respond(401, #"{"error":"neighbor","refresh_token":"\#(PlantedSecret.errorField.value)"}"#)
            case .serverError:
                respond(500, "neighbor: bad password=\(PlantedSecret.errorText.value)", type: "text/plain")
            case .decodingFailure:
                respond(200, #"{"id":{"tokens":{"\#(PlantedSecret.keyOfADictionary.value)":1}}}"#)
            case .timeout: .raw([.stall])
            case .reset: .raw([.reset])
            case .retried
            where attempts.withLock({
                $0 += 1; return $0 % 2 == 1
            }):
                respond(503, "neighbor: \(PlantedSecret.webToken.value)", type: "text/plain")
            case .redirected:
                respond(
                    307, "", type: "text/plain",
                    headers: [
                        "Location": "/success?token=\(PlantedSecret.locationQuery.value)"
                            + "#access_token=\(PlantedSecret.locationFragment.value)"
                    ])
            case .redirectedAway:
                respond(
                    302, "", type: "text/plain",
                    headers: [
                        "Location": away.absoluteString + "/success?token=\(PlantedSecret.locationQuery.value)"
                    ])
            case .redirectedWithUserInfo:
                respond(
                    302, "", type: "text/plain",
                    headers: [
                        "Location": away.absoluteString.replacingOccurrences(
                            of: "//", with: "//ada:\(PlantedSecret.locationUserInfo.value)@") + "/success"
                    ])
            default: respond(200, #"{"id":1,"access_token":"\#(PlantedSecret.responseField.value)","a":"neighbor"}"#)
            }
        }
    }

    private func respond(
        _ status: Int, _ text: String, type: String = "application/json", headers: HTTPHeaders = [:]
    ) -> MockServer.Response {
        var headers = headers
        headers.add(name: "Set-Cookie", value: "sid=\(PlantedSecret.setCookie.value); Path=/; HttpOnly")
        headers.add(name: "X-Refresh-Token", value: PlantedSecret.tokenHeader.value)
        return .data(Data(text.utf8), contentType: type, status: status, headers: headers)
    }

    // MARK: Expectations

    private func expectNoSecret(in texts: Set<String>) {
        #expect(texts.count > 20)
        let all = texts.joined(separator: "\n")
        #expect(all.contains(Redaction.mask))
        #expect(all.contains("neighbor"))
        for forbidden in PlantedSecret.forbiddenTexts where all.contains(forbidden) {
            let leak = texts.first { $0.contains(forbidden) } ?? ""
            Issue.record("\(forbidden) leaks in: \(leak.prefix(4000))")
        }
    }

    /// The secrets were really sent: otherwise they could not leak.
    private func expectSecrets(in requests: [RecordedRequest], _ end: End) throws {
        let sent = requests.map { "\($0.target)\n\($0.headers.map { $0.value })\n\($0.text)" }.joined(separator: "\n")
        let inResponses: [PlantedSecret] = [
            .setCookie, .tokenHeader, .responseField, .errorField, .errorText, .webToken, .keyOfADictionary,
            .locationUserInfo, .locationFragment, .userInfo,
        ]
        for secret in PlantedSecret.allCases where !inResponses.contains(secret) {
            if secret == .locationQuery, end != .redirected, end != .redirectedAway { continue }
            // It is for a proxy, and the transport keeps it from the server.
            #expect(secret.isIn(sent) == (secret != .proxyAuthorization), "\(secret) was not sent")
        }
    }
}

extension SecretsJourneyTests.End {
    var isSuccess: Bool {
        switch self {
        case .success, .retried, .redirected, .redirectedAway, .redirectedWithUserInfo: true
        case .unauthorized, .serverError, .decodingFailure, .timeout, .cancelled, .reset: false
        }
    }
}
