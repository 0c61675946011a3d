// SPDX-License-Identifier: MIT

import PulseKit
import PulseTesting
import TestSupport
import Testing

/// Calls that carry secrets wherever one can be: none is in what is counted, traced, logged and exported of them.
@Suite(.timeLimit(.minutes(5)))
struct ExportedSecretsTests {
    /// Paths of the responses of the server below.
    private static let paths = ["/success", "/error", "/unauthorized", "/undecodable", "/redirected", "/reset"]

    @Test func noExportOfACallOverTheWireShowsASecret() async throws {
        let texts = TextCollector()
        try Data(PlantedSecret.fileBody.value.utf8).write(to: SecretLogin.file, options: .atomic)
        try await MockServer.run { server in
            Self.serve(on: server)
            let bus = PulseEventBus()
            let exports = ExportedTexts(of: bus, texts.add)
            let client = PulseClient(
                configuration: PulseConfiguration.patient(with: server)
                    .with(\.retryPolicy, value: RetryPolicy(maxAttempts: 2, backoffStrategy: .immediate)),
                plugins: [MarkingPlugin(), .tracing(), .cache(ttl: 60)], events: bus)
            for path in Self.paths {
                for carrier in SecretLogin.Carrier.allCases {
                    var login = SecretLogin(address: path, method: .put, carrier: carrier)
                    login.options.route = path == "/error" ? "\(path)?token=\(PlantedSecret.bearer.value)" : path
                    _ = await client.result(of: login)
                }
            }
            await client.shutdown()
            try await exports.finish()
            #expect(server.requests.count > Self.paths.count)
        }
        let all = texts.texts.joined(separator: "\n")
        #expect(all.contains("/success") && all.contains("pulse_requests_total") && all.contains("resourceSpans"))
        #expect(all.contains("|====") && all.contains("requestRetrying"))
        for needle in PlantedSecret.needles where all.contains(needle) {
            let leak = texts.texts.first { $0.contains(needle) } ?? ""
            Issue.record("\(needle) leaks in: \(leak.prefix(4000))")
        }
    }

    private static func serve(on server: MockServer) {
        server.fallback { request in
            switch request.path {
            case "/error": answer(503, "bad password=\(PlantedSecret.errorText.value)")
            case "/unauthorized": answer(401, PlantedSecret.webToken.value)
            case "/undecodable": answer(200, #"{"id":"\#(PlantedSecret.answerField.value)"}"#)
            case "/redirected":
                answer(307, "", ["Location": "/success?token=\(PlantedSecret.locationQuery.value)"])
            case "/reset": .raw([.reset])
            default: answer(200, #"{"id":1}"#)
            }
        }
    }

    private static func answer(_ status: Int, _ text: String, _ headers: HTTPHeaders = [:]) -> MockServer.Response {
        var headers = headers
        headers.add(name: "Set-Cookie", value: "sid=\(PlantedSecret.setCookie.value)")
        return .data(Data(text.utf8), contentType: "application/json", status: status, headers: headers)
    }
}
