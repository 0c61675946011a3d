// SPDX-License-Identifier: MIT
//! The network layer of a whole app: endpoints, one client, one service, pagination, offline, and its tests.

import PulseKit
import PulseTesting

// snippet.models
struct Repository: Codable, Sendable {
    let id: Int
    let name: String
}

struct NewIssue: Encodable, Sendable {
    let title: String
}
// snippet.end

// snippet.endpoints
struct RepositoriesOfUser: Endpoint {
    typealias Response = [Repository]

    let login: String
    var pageSize = 100

    var path: PathText { "/users/\(login)/repos" }
    var queryItems: [URLQueryItem] { [URLQueryItem(name: "per_page", value: "\(pageSize)")] }
}

struct CreateIssue: Endpoint {
    typealias Response = EmptyResponse

    let owner: String
    let repository: String
    let issue: NewIssue

    var path: PathText { "/repos/\(owner)/\(repository)/issues" }
    let method = HTTPMethod.post
    var body: RequestBody { .json(issue) }
    let isQueueableWhenOffline = true
}
// snippet.end

// snippet.service
struct Forge: Sendable {
    let client: PulseClient

    init(baseURL: URL, tokens: any TokenProvider, transport: (any Transport)? = nil) {
        client = PulseClient(
            configuration: PulseConfiguration(baseURL: baseURL)
                .with(\.deadline, value: 30)
                .with(\.offlineQueuePolicy, value: OfflineQueuePolicy(persistsToDisk: false)),
            plugins: [.auth(tokens), .cache(ttl: 60), .logger()],
            transport: transport)
    }

    func create(_ title: String, in repository: String, of owner: String) async throws -> Outcome {
        do {
            try await client.request(
                CreateIssue(owner: owner, repository: repository, issue: NewIssue(title: title)))
            return .done
        } catch PulseError.queuedOffline {
            return .later
        }
    }

    enum Outcome: Sendable {
        case done, later
    }
}
// snippet.end

// snippet.pages
extension Forge {
    /// All repositories of a user, page by page, following the `Link` headers (RFC 8288).
    func repositories(of login: String, atMost pages: Int = 50) async throws -> [Repository] {
        var page = try await client.response(for: RepositoriesOfUser(login: login))
        var all = page.value
        for _ in 1..<pages {
            guard let next = page.headers.values(for: "Link").lazy.compactMap(Self.next).first else { break }
            page = try await client.response(for: Request<[Repository]>(.get, next))
            all += page.value
        }
        return all
    }

    /// The target of `<https://…>; rel="next"`.
    private static func next(in links: String) -> String? {
        for link in links.split(separator: ",") {
            let parts = link.split(separator: ";").map { $0.trimmingCharacters(in: .whitespaces) }
            guard let target = parts.first, target.hasPrefix("<"), target.hasSuffix(">"),
                parts.dropFirst().contains(where: { $0 == #"rel="next""# || $0 == "rel=next" })
            else { continue }
            return String(target.dropFirst().dropLast())
        }
        return nil
    }
}
// snippet.end

struct Tokens: TokenProvider {
    func accessToken() async -> String? { "token" }
    func refreshToken() async throws -> String { "token" }
    func handleAuthenticationFailure() async {}
}

guard let baseURL = URL(string: "https://forge.example.com") else { exit(1) }

// snippet.tested
let transport = MockTransport { request in
    let isSecond = request.url?.query?.contains("page=2") == true
    let page = [Repository(id: isSecond ? 2 : 1, name: isSecond ? "notes" : "engine")]
    return PulseResponse(
        statusCode: 200,
        headers: isSecond ? [:] : ["Link": #"<https://forge.example.com/users/ada/repos?page=2>; rel="next""#],
        data: try JSONEncoder().encode(page), request: request)
}
let forge = Forge(baseURL: baseURL, tokens: Tokens(), transport: transport)
let names = try await forge.repositories(of: "ada").map(\.name)
print(names)  // ["engine", "notes"], two requests
// snippet.end
await forge.client.shutdown()

let login = "ada"

// snippet.three
let client = PulseClient(configuration: PulseConfiguration(baseURL: baseURL), transport: transport)

let list: [Repository] = try await client.get("/users/\(login)/repos")
let again = try await client.request(Request<[Repository]>(.get, "/users/\(login)/repos"))
let typed = try await client.request(RepositoriesOfUser(login: login, pageSize: 10))
// snippet.end
print(list.count, again.count, typed.count)

// snippet.decoded
let decoded = try await client.response(for: RepositoriesOfUser(login: "ada"))
print(decoded.value.count, decoded.statusCode, decoded.headers["Link"] ?? "the last page")
// snippet.end
await client.shutdown()

// snippet.connectivity
let network = ManualConnectivityMonitor(.unsatisfied)
let isReachable: @Sendable () -> Bool = { network.current.path == .satisfied }
let offline = PulseClient(
    configuration: PulseConfiguration(baseURL: baseURL)
        .with(\.connectivity, value: network)
        .with(\.offlineQueuePolicy, value: OfflineQueuePolicy(persistsToDisk: false)),
    transport: MockTransport { request in
        guard isReachable() else { throw PulseError.noConnection }
        return PulseResponse(statusCode: 201, request: request)
    })

let issue = CreateIssue(owner: "ada", repository: "engine", issue: NewIssue(title: "Oil the gears"))
if case .failure(.queuedOffline(let id)) = await offline.result(of: issue) {
    network.set(.satisfied)  // the queue sends its entries
    print(try await offline.offlineQueue?.result(of: id).statusCode ?? 0)  // 201
}
// snippet.end
await offline.shutdown()
