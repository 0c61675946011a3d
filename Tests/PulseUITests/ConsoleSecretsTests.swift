// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulseObservability
import PulsePlugins
import PulseTesting
import TestSupport
import Testing

@testable import PulseUI

@Suite(.throttled)
@MainActor
struct ConsoleSecretsTests {
    private nonisolated static let secret = "hunter2hunter2"

    /// A request for each place that holds a secret.
    private static let requests: [Request<EmptyResponse>] = [
        Request(.get, "/header").header("Authorization", "Bearer \(secret)").header("X-Tenant", secret),
        Request(.get, "/query").query("token", secret).query("api_key", secret),
        Request(.post, "/form").body(.formURLEncoded([URLQueryItem(name: "password", value: secret)])),
        Request(.post, "/json").body(.json(["access_token": secret, "name": "Ada"])),
    ]

    @Test func aSecretIsInNoRowDetailOrExport() async throws {
        let (bus, clock) = (PulseEventBus(), TestClock(autoAdvances: true))
        let recorder = PulseRecorder(clock: clock)
        recorder.attach(to: bus)
        let transport = MockTransport { request in
            PulseResponse(
                statusCode: request.url?.path == "/json" ? 503 : 200,
                headers: ["Set-Cookie": "session=\(Self.secret)", "Content-Type": "application/json"],
                data: Data(#"{"refresh_token":"\#(Self.secret)","name":"Ada"}"#.utf8), request: request)
        }
        let base = try #require(URL(string: "https://api.example.com"))
        let client = ClientStage.client(
            PulseConfiguration(baseURL: base).with(\.secretHeaders, value: ["X-Tenant"]),
            plugins: [.recorder(recorder)], clock: clock, over: transport, events: bus)
        for request in Self.requests { _ = try? await client.request(request) }
        await client.shutdown()

        let model = ConsoleModel(recorder: recorder, clock: clock)
        model.filter.searchesBodies = true
        model.filter.text = "Ada"
        await model.lastUpdate?.value
        #expect(model.content.rows.count == 4)
        var texts: [String] = []
        for row in model.content.rows {
            texts.append("\(row) \(row.summary)")
            let details = try #require(model.details(of: row.id))
            texts.append("\(details)")
            #expect(!details.requests.isEmpty)
            for request in details.requests {
                texts += [request.requestBody?.text ?? "", request.responseBody?.text ?? "", request.curl]
            }
        }
        for format in ConsoleExport.Format.allCases {
            texts.append(String(decoding: await model.export(format).data, as: UTF8.self))
            texts.append(String(decoding: await model.export(format, shownOnly: true).data, as: UTF8.self))
        }
        #expect(texts.allSatisfy { !$0.contains(Self.secret) })
        // The texts hold the rest.
        for part in ["Authorization", "X-Tenant", "api_key", "password", "access_token", "refresh_token", "Ada"] {
            #expect(texts.contains { $0.contains(part) }, "\(part)")
        }
        model.filter.text = Self.secret
        await model.lastUpdate?.value
        #expect(model.content.rows.isEmpty)
        #expect(model.content.notices.count == 1)
    }
}
