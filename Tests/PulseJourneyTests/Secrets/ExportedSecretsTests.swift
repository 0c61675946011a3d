// SPDX-License-Identifier: MIT

import PulseKit
import PulseTesting
import TestSupport
import Testing

/// Calls that carry secrets in every position: none appears in metrics, traces, logs and exports.
@Suite(.throttled)
struct ExportedSecretsTests {
    /// The paths that the server below handles.
    private static let paths = ["/success", "/error", "/unauthorized", "/undecodable", "/redirected", "/reset"]

    @Test func noExportOfACallOverTheWireShowsASecret() async throws {
        let texts = TextCollector()
        try Data(PlantedSecret.fileBody.value.utf8).write(to: SecretLogin.file, options: .atomic)
        try await MockServer.run { server in
            Self.serve(on: server)
            let bus = PulseEventBus()
            let exports = ExportedTexts(of: bus, texts.add)
            let client = ClientStage.client(
                of: server, plugins: [MarkingPlugin(), .tracing(), .cache(ttl: 60)], retry: .immediate(2), events: bus)
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
        for forbidden in PlantedSecret.forbiddenTexts where all.contains(forbidden) {
            let leak = texts.texts.first { $0.contains(forbidden) } ?? ""
            Issue.record("\(forbidden) leaks in: \(leak.prefix(4000))")
        }
    }

    private static func serve(on server: MockServer) {
        server.fallback { request in
            switch request.path {
            case "/error": respond(503, "bad password=\(PlantedSecret.errorText.value)")
            case "/unauthorized": respond(401, PlantedSecret.webToken.value)
            case "/undecodable": respond(200, #"{"id":"\#(PlantedSecret.responseField.value)"}"#)
            case "/redirected":
                respond(307, "", ["Location": "/success?token=\(PlantedSecret.locationQuery.value)"])
            case "/reset": .raw([.reset])
            default: respond(200, #"{"id":1}"#)
            }
        }
    }

    private static func respond(_ status: Int, _ text: String, _ headers: HTTPHeaders = [:]) -> MockServer.Response {
        var headers = headers
        headers.add(name: "Set-Cookie", value: "sid=\(PlantedSecret.setCookie.value)")
        return .data(Data(text.utf8), contentType: "application/json", status: status, headers: headers)
    }
}
