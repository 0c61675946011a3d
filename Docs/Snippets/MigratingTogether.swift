// SPDX-License-Identifier: MIT
//! One source of tokens for two clients, while an app moves from one to the other.

import PulseKit
import PulseTesting

let server = try await MockServer.start()
server.on(.post, "/session") { _ in .text("new") }
server.on(.get, "/me") { $0.headers["Authorization"] == "Bearer new" ? .text("Ada") : .status(401) }
let base = server.baseURL

// snippet.tokens
actor SharedTokens: TokenProvider {
    private var token: String?
    private var refresh: Task<String, any Error>?
    private let identity: PulseClient

    init(_ token: String?, identity: PulseClient) {
        self.token = token
        self.identity = identity
    }

    func accessToken() -> String? { token }

    func refreshToken() async throws -> String {
        if let refresh { return try await refresh.value }  // the other client's
        let task = Task { [identity] in try await identity.post("/session", as: String.self) }
        refresh = task
        defer { refresh = nil }
        let new = try await task.value
        token = new
        return new
    }

    func handleAuthenticationFailure() { token = nil }

    /// For the old client: the token to use after the server has refused one.
    func token(after refused: String?) async throws -> String {
        if let token, token != refused { return token }
        return try await refreshToken()
    }
}

let tokens = SharedTokens("old", identity: PulseClient(baseURL: base))
let client = PulseClient(baseURL: base, plugins: [.auth(tokens)])
// snippet.end

// snippet.session
func load(_ request: URLRequest) async throws -> Data {
    var request = request
    let token = await tokens.accessToken()
    request.setValue(token.map { "Bearer \($0)" }, forHTTPHeaderField: "Authorization")
    let (data, response) = try await URLSession.shared.data(for: request)
    guard (response as? HTTPURLResponse)?.statusCode == 401 else { return data }
    request.setValue("Bearer \(try await tokens.token(after: token))", forHTTPHeaderField: "Authorization")
    return try await URLSession.shared.data(for: request).0
}
// snippet.end

let request = URLRequest(url: base.appendingPathComponent("me"))
async let old = load(request)
async let new = client.rawRequest(request)
print(String(decoding: try await old, as: UTF8.self), String(decoding: try await new.data, as: UTF8.self))
print(server.requests.filter { $0.path == "/session" }.count)
await client.shutdown()
await server.shutdown()
