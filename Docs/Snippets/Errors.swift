// SPDX-License-Identifier: MIT
//! The errors of calls, and how an app handles them.

import PulseKit
import PulseTesting

struct Article: Decodable, Sendable {
    let title: String
    let words: Int
}

// snippet.message
/// The message for the user, if there is one.
func message(for error: PulseError) -> String? {
    switch error.kind {
    case .cancelled: nil
    case .queuedOffline: "Saved. It is sent as soon as there is a connection."
    case .noConnection, .offlineQueueFull: "There is no connection."
    case .unauthorized, .sessionExpired: "Please log in again."
    case .rateLimited, .circuitOpen: "Please try again in a while."
    case .timeout, .deadlineExceeded: "That took too long."
    case .http where error.statusCode == 404: "There is no such thing."
    default: error.isRetryable ? "Please try again later." : "That did not work."
    }
}
// snippet.end

// snippet.own
struct Maintenance: Error {
    let until: String
}

struct MaintenancePlugin: PulsePlugin {
    let identifier = "com.example.maintenance"

    func didReceive(
        _ result: Result<PulseResponse, PulseError>, for context: PluginContext
    ) async throws -> Result<PulseResponse, PulseError>? {
        guard case .success(let response) = result, let until = response.headers["X-Maintenance"] else { return nil }
        throw Maintenance(until: until)
    }
}
// snippet.end

let articles = Stub(.get, "/articles/7").reply(.text(#"{"title": "On tea", "words": "many"}"#))
let closed = Stub(.get, "/closed").reply(.status(503, headers: ["X-Maintenance": "noon"]))
let missing = Stub(.get, "/missing").reply(.status(404))
let client = PulseClient(
    configuration: PulseConfiguration(baseURL: URL(string: "https://api.example.com")!),
    plugins: [MaintenancePlugin()],
    transport: MockTransport(stubs: [articles, closed, missing]))

// snippet.decoding
do {
    let article: Article = try await client.get("/articles/7")
    print(article.title)
} catch let error as PulseError where error.kind == .decodingFailed {
    print(error)  // the body does not decode as Article: $.words is not Int
}
// snippet.end

// snippet.custom
do {
    let text: String = try await client.get("/closed")
    print(text)
} catch PulseError.custom(let error as Maintenance) {
    print("closed until", error.until)
}
// snippet.end

// snippet.values
let result = await client.result(of: Request<Article>(.get, "/missing"))
if case .failure(let error) = result {
    print(error.kind, error.statusCode ?? 0, error.isRetryable, error.response?.data.count ?? 0)  // http 404 false 0
    print(message(for: error) ?? "")
}
// snippet.end
await client.shutdown()
