// SPDX-License-Identifier: MIT

import PulseKit

struct Repository: Codable, Sendable {
    let id: Int
    let name: String
}

struct Repositories: Endpoint {
    typealias Response = [Repository]

    let login: String

    var path: PathText { "/users/\(login)/repos" }
}

struct CreateIssue: Endpoint {
    typealias Response = EmptyResponse

    let repository: String
    let title: String

    var path: PathText { "/repos/ada/\(repository)/issues" }
    let method = HTTPMethod.post
    var body: RequestBody { .json(["title": title]) }
    let isQueueableWhenOffline = true
}

func message(for error: PulseError) -> String {
    switch error.kind {
    case .noConnection: "There is no connection."
    case .unauthorized: "Please log in again."
    case .http where error.statusCode == 404: "There is no such user."
    default: error.isRetryable ? "Please try again later." : "That did not work."
    }
}

struct GitHub: Sendable {
    let client: PulseClient

    init(baseURL: URL, token: @escaping @Sendable () async -> String?, transport: (any Transport)? = nil) {
        client = PulseClient(
            configuration: PulseConfiguration(baseURL: baseURL)
                .with(\.deadline, value: 30)
                .with(\.defaultHeaders, value: ["Accept": "application/vnd.github+json"])
                .with(\.offlineQueuePolicy, value: OfflineQueuePolicy(maxQueueSize: 50, persistsToDisk: false)),
            plugins: [.auth(token), .cache(policy: .rfc9111)],
            transport: transport)
    }

    func repositories(of login: String) async throws -> [Repository] {
        var all: [Repository] = []
        for try await page in client.pages(linkedFrom: Repositories(login: login)) {
            all += page.value
        }
        return all
    }

    func repository(_ name: String, of owner: String) async throws -> Repository? {
        do {
            return try await client.get("/repos/\(owner)/\(name)")
        } catch let error as PulseError where error.statusCode == 404 {
            return nil
        }
    }

    func cachedRepository(_ name: String, of owner: String) async -> Repository? {
        let request = Request<Repository>(.get, "/repos/{owner}/{name}", path: ["owner": owner, "name": name])
        return try? await client.request(request.option(\.cache, .onlyIfCached))
    }

    /// False if the issue waits for a connection.
    func createIssue(_ title: String, in repository: String) async throws -> Bool {
        do {
            try await client.request(CreateIssue(repository: repository, title: title))
            return true
        } catch PulseError.queuedOffline {
            return false
        }
    }
}
