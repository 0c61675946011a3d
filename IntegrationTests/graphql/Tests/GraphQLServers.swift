// SPDX-License-Identifier: MIT

import LocalServers
import PulseKit
import Testing

/// A server, by its library or by what it is for.
enum Server: String, Sendable {
    case strawberry, ariadne
    /// Of persisted queries.
    case persisted

    static let libraries = [Server.strawberry, .ariadne]
}

/// A way to the servers.
enum Route: Sendable, CaseIterable {
    /// Over HTTP/1.1 without TLS.
    case direct
    /// Through nginx, over HTTP/2 and TLS.
    case tls
}

enum GraphQLServers {
    /// Runs `body` with a client of a server.
    ///
    /// - Parameter path: what the path of the server begins with.
    static func withClient<Value>(
        of server: Server, by route: Route, _ path: String = "", settings: GraphQLSettings = GraphQLSettings(),
        plugins: [any PulsePlugin] = [], _ body: (PulseClient) async throws -> Value
    ) async throws -> Value {
        let isDirect = route == .direct
        return try await LocalServers.withClient(
            of: isDirect ? server.rawValue : "tls", isSecure: !isDirect,
            isDirect ? path : "/\(server.rawValue)\(path)", plugins: plugins,
            adjust: { $0.graphQL = settings }, body)
    }

    /// Kills the process of nginx that has the connections; nginx starts another one.
    static func killWorker() throws {
        let nginx = try String(contentsOfFile: LocalServers.directory + "/nginx.pid", encoding: .utf8).filter(
            \.isNumber)
        let children = try String(contentsOfFile: "/proc/\(nginx)/task/\(nginx)/children", encoding: .utf8)
        for worker in children.split(separator: " ") { kill(try #require(pid_t(worker)), SIGKILL) }
    }

    /// A name on a server that no other test has.
    static func newName() -> String { UUID().uuidString.lowercased() }
}

/// Has a token that the servers refuse, and gets a valid one.
actor Session: TokenProvider {
    private(set) var refreshes = 0
    private var token = "old"

    func accessToken() -> String? { token }

    func refreshToken() -> String {
        refreshes += 1
        token = "new"
        return token
    }

    func handleAuthenticationFailure() {}
}

struct GetHero: GraphQLOperation {
    struct Value: Decodable, Sendable {
        let hero: Hero?
    }

    struct Hero: Decodable, Sendable {
        struct Friend: Decodable, Sendable {
            let name: String?
        }

        let name: String
        let friends: [Friend]
    }

    struct Variables: Encodable, Sendable {
        let id: String
    }

    static let document = "query GetHero($id: ID!) { hero(id: $id) { name friends { name } } }"
    let variables: Variables

    init(_ id: String) {
        variables = Variables(id: id)
    }
}

struct Add: GraphQLOperation {
    struct Value: Decodable, Sendable {
        let add: Int
    }

    struct Variables: Encodable, Sendable {
        let name: String
        let count: Int
    }

    static let document = "mutation Add($name: String!, $count: Int!) { add(name: $name, count: $count) }"
    let variables: Variables

    init(_ name: String, _ count: Int) {
        variables = Variables(name: name, count: count)
    }
}

/// The method of the request and the text.
struct GetMethod: GraphQLOperation {
    struct Value: Decodable, Sendable {
        let method: String
    }

    struct Variables: Encodable, Sendable {
        let text: String
    }

    static let document = "query GetMethod($text: String!) { method(text: $text) }"
    let variables: Variables

    init(_ text: String) {
        variables = Variables(text: text)
    }
}
