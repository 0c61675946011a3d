// SPDX-License-Identifier: MIT
//! Plugins around the rest of the chain: one responds by itself, one calls it twice.

import PulseKit
import PulseTesting

// snippet.answer
/// Responds without the wire while a feature is disabled.
struct SwitchPlugin: PulsePlugin {
    let identifier = "com.example.switch"
    let scope = PluginScope.call
    let isOff: @Sendable (String) -> Bool

    func intercept(
        _ request: URLRequest, for context: PluginContext, next: PluginChain
    ) async throws -> PulseResponse {
        guard isOff(context.endpointPath) else {
            return try await runHooks(request, for: context, next: next)
        }
        return PulseResponse(statusCode: 200, data: Data("[]".utf8), request: request, origin: .mock)
    }
}
// snippet.end

// snippet.repeat
/// Requests the English version if there is none in the user's language.
struct LanguagePlugin: PulsePlugin {
    let identifier = "com.example.language"
    let scope = PluginScope.call
    let language: String

    func intercept(
        _ request: URLRequest, for context: PluginContext, next: PluginChain
    ) async throws -> PulseResponse {
        var localized = request
        localized.setValue(language, forHTTPHeaderField: "Accept-Language")
        let response = try await next(localized)
        guard response.statusCode == 406, context.method.isSafe else { return response }
        response.discard()
        localized.setValue("en", forHTTPHeaderField: "Accept-Language")
        return try await next(localized)
    }
}
// snippet.end

// snippet.verdict
/// Counts the failures of calls without changing them.
struct FailureCountPlugin: PulsePlugin {
    let identifier = "com.example.failures"
    let count: @Sendable (PulseError.Kind) -> Void

    func intercept(
        _ request: URLRequest, for context: PluginContext, next: PluginChain
    ) async throws -> PulseResponse {
        let result = await next.result(request)
        let accepted = context.options.acceptedStatuses ?? .successful
        switch result {
        case .failure(let error): count(error.kind)
        case .success(let response) where !context.willFollow(response):
            if let error = PulseError(validating: response, accepted: accepted) { count(error.kind) }
        case .success: break
        }
        return try result.get()
    }
}
// snippet.end

try await MockServer.run { server in
    server.on(.get, "/menu") { request in
        request.headers["Accept-Language"] == "en" ? .text(#"["tea"]"#) : .status(406)
    }
    let client = PulseClient(
        configuration: PulseConfiguration(baseURL: server.baseURL),
        plugins: [
            SwitchPlugin { $0 == "/offers" }, LanguagePlugin(language: "cy"),
            FailureCountPlugin { print("counted:", $0) },
        ])
    let offers: [String] = try await client.get("/offers")
    let menu: [String] = try await client.get("/menu")
    print(offers, menu, server.requests.count, "requests")
    await client.shutdown()
}
