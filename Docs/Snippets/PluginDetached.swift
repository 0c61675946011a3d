// SPDX-License-Identifier: MIT
//! Work that outlives its call: a plugin that serves stored responses and refreshes them in the background.

import PulseKit
import PulseTesting

// snippet.plugin
/// For a client of one user and one language: responses differ by their URL alone.
actor WarmAnswersPlugin: PulsePlugin {
    nonisolated let identifier = "com.example.warm-answers"
    nonisolated let scope = PluginScope.call

    private var responses: [URL: PulseResponse] = [:]
    private var refreshes: [URL: Task<Void, Never>] = [:]

    func intercept(
        _ request: URLRequest, for context: PluginContext, next: PluginChain
    ) async throws -> PulseResponse {
        guard context.method == .get, case .buffered = context.delivery, let url = request.url else {
            return try await next(request)
        }
        guard var known = responses[url] else { return store(try await next(request), for: url) }
        if refreshes[url] == nil {
            // A call of its own: neither this call's deadline nor its cancellation ends it.
            let rest = next.detached()
            refreshes[url] = Task {
                if let response = try? await rest(request) { self.store(response, for: url) }
                self.refreshes[url] = nil
            }
        }
        known.origin = .stale
        return known
    }

    /// The tasks belong to the plugin, so the plugin ends them. It stays usable.
    func shutdown() async {
        let running = refreshes.values
        refreshes = [:]
        for task in running {
            task.cancel()
            await task.value
        }
    }

    @discardableResult
    private func store(_ response: PulseResponse, for url: URL) -> PulseResponse {
        if response.statusCode == 200 { responses[url] = response }
        return response
    }
}
// snippet.end

try await MockServer.run { server in
    server.on(.get, "/news", script: [.text("old"), .text("new")])
    let client = PulseClient(
        configuration: PulseConfiguration(baseURL: server.baseURL), plugins: [WarmAnswersPlugin()])
    let news = Request<String>(.get, "/news")
    let first = try await client.response(for: news)
    let second = try await client.response(for: news)
    try await server.requests(atLeast: 2)
    print(first.value, first.response.origin, second.value, second.response.origin)
    await client.shutdown()
}
