// SPDX-License-Identifier: MIT
//! A single plugin, without a client.

import PulseKit
import PulseTesting

// snippet.plugin
struct LocalePlugin: PulsePlugin {
    let identifier = "com.example.locale"
    let locale: String

    func prepare(_ request: inout URLRequest, for context: PluginContext) async throws {
        guard context.isTrusted(request.url ?? URL(fileURLWithPath: "/")) else { return }
        request.setValue(locale, forHTTPHeaderField: "X-Locale")
    }
}
// snippet.end

// snippet.run
let response = try await LocalePlugin(locale: "cy").run(.mock(.get, "/menu")) { request in
    PulseResponse(statusCode: 200, request: request)
}
let locale = response.request.value(forHTTPHeaderField: "X-Locale")  // "cy"
// snippet.end
print(locale ?? "none")

// snippet.context
let elsewhere = URLRequest.mock(.get, "https://elsewhere.example/menu")
let context = PluginContext.mock(for: .mock(.get, "/menu"), attempt: 2, hop: 1)
let foreign = try await LocalePlugin(locale: "cy").run(elsewhere, in: context) { request in
    PulseResponse(statusCode: 200, request: request)
}
// snippet.end
print(foreign.request.value(forHTTPHeaderField: "X-Locale") ?? "none")

// snippet.chain
let chain = PluginChain.mock([LocalePlugin(locale: "cy"), .retry(maxAttempts: 2, strategy: .immediate)]) { request in
    PulseResponse(statusCode: 503, request: request)
}
let result = await chain.result(.mock(.get, "/menu"))
// snippet.end
print(try result.get().statusCode)
