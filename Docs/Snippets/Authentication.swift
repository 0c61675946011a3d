// SPDX-License-Identifier: MIT
//! Tokens that are refreshed once for all calls, and the calls that need none.

import PulseKit
import PulseTesting

// snippet.session
actor Session: TokenProvider {
    struct Tokens: Codable, Sendable {
        var access: String
        var refresh: String
        var expires: Date
        var user: String
    }

    private var tokens: Tokens?
    private let identity: PulseClient

    init(_ tokens: Tokens?, identity: PulseClient) {
        self.tokens = tokens
        self.identity = identity
    }

    func accessToken() -> String? { tokens?.access }

    func refreshToken() async throws -> String {
        guard let tokens else { throw PulseError.sessionExpired }
        let new = try await identity.request(RefreshTokens(token: tokens.refresh))
        self.tokens = new
        return new.access
    }

    func handleAuthenticationFailure() {
        tokens = nil  // and show the login
    }

    var accountID: String? { tokens?.user }
    var tokenExpiry: Date? { tokens?.expires }
}
// snippet.end

struct RefreshTokens: Endpoint {
    typealias Response = Session.Tokens

    let token: String
    var path: String { "/token" }
    var method: HTTPMethod { .post }
    var body: RequestBody { .formURLEncoded(["grant_type": "refresh_token", "refresh_token": token]) }
}

// snippet.endpoint
struct LogIn: Endpoint {
    typealias Response = EmptyResponse

    let path = "/login"
    let method = HTTPMethod.post
    let options = RequestOptions().with(\.auth, value: .anonymous)
}
// snippet.end

try await MockServer.run { server in
    server.on(.post, "/token") { _ in
        try .json(Session.Tokens(access: "new", refresh: "r2", expires: Date(timeIntervalSinceNow: 3600), user: "ada"))
    }
    server.on(.post, "/login") { _ in .status(204) }
    server.on(.get, "/feed") { request in
        request.headers["Authorization"] == "Bearer new" ? .text("news") : .status(401)
    }
    let url = server.baseURL
    let stored = Session.Tokens(access: "old", refresh: "r1", expires: Date(timeIntervalSinceNow: 3600), user: "ada")

    // snippet.client
    let session = Session(stored, identity: PulseClient(configuration: PulseConfiguration(baseURL: url)))
    let client = PulseClient(
        configuration: PulseConfiguration(baseURL: url), plugins: [.auth(session), .coalescing()])
    let feed: String = try await client.get("/feed")
    // snippet.end
    print(feed, server.requests.count { $0.path == "/token" })

    let identity = PulseClient(configuration: PulseConfiguration(baseURL: url))
    let directory = FileManager.default.temporaryDirectory.appendingPathComponent("pulse-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: directory) }
    // snippet.stored
    let tokens = TokenStore(account: "session", in: FileSecretStore(directory: directory)) { refreshToken in
        let new = try await identity.request(RefreshTokens(token: refreshToken))
        return TokenStore.Tokens(
            accessToken: new.access, refreshToken: new.refresh, expiry: new.expires, accountID: new.user)
    } onSessionEnd: {
        // Show the login.
    }
    let app = PulseClient(configuration: PulseConfiguration(baseURL: url), plugins: [.auth(tokens)])
    // snippet.end

    // snippet.start
    if try await tokens.isLoggedIn {
        // Show the feed.
    }
    // snippet.end

    // snippet.login
    try await tokens.logIn(TokenStore.Tokens(accessToken: "old", refreshToken: "r1", accountID: "ada"))
    let story: String = try await app.get("/feed")  // refreshed, and stored
    try await tokens.logOut()
    // snippet.end
    print(story)

    // snippet.required
    let required = RequestOptions().with(\.auth, value: .required)
    let own: String = try await client.get("/feed", options: required)
    // snippet.end
    print(own)
    try await client.request(LogIn())

    // snippet.failures
    do {
        let _: String = try await client.get("/feed")
    } catch PulseError.sessionExpired {
        // Log in again: handleAuthenticationFailure() has been called, once.
    } catch PulseError.unauthorized {
        // The server refused a new token too, or there was none.
    } catch PulseError.custom(let error as PulseError.AccountMismatch) {
        print(error)  // Another user logged in during the call.
    }
    // snippet.end

    // snippet.fixed
    let reports = PulseClient(
        configuration: PulseConfiguration(baseURL: url), plugins: [.basic(username: "Aladdin", password: "open sesame")]
    )
    let service = PulseClient(
        configuration: PulseConfiguration(baseURL: url), plugins: [.bearer("mF_9.B5f-4.1JqM")])
    let maps = PulseClient(
        configuration: PulseConfiguration(baseURL: url), plugins: [.apiKey("k-1", header: "X-Maps-Key")])
    let keychain = PulseClient(
        configuration: PulseConfiguration(baseURL: url), plugins: [AuthPlugin { await session.accessToken() }])
    // snippet.end
    let mine: String = try await keychain.get("/feed")
    print(mine)
    for client in [client, app, identity, reports, service, maps, keychain] { await client.shutdown() }
}
