// SPDX-License-Identifier: MIT
//! Paths, templates and queries: the parts of an endpoint's URL.

import PulseKit
import PulseTesting

// snippet.plain
struct ListArticles: Endpoint {
    typealias Response = [String]

    let path = "/articles"
    var queryParameters = ["order": "newest"]
    var queryItems = [URLQueryItem(name: "tag", value: "C++"), URLQueryItem(name: "tag", value: "R&D")]
}
// snippet.end

// snippet.template
struct GetFile: Endpoint {
    typealias Response = String

    let owner: String
    let name: String

    var path: PathText { "/users/\(owner)/files/\(name)" }
}
// snippet.end

// snippet.parts
struct GetFolder: Endpoint {
    static let root: PathText = "/users/ada"

    typealias Response = [String]

    let folders: [String]
    let cursor: String
    var path: PathText { "\(Self.root)/files/\(segments: folders)?after=\(cursor)" }
}
// snippet.end

// snippet.gaps
let share = try PathTemplate("/users/{owner}/files/{name}").expand(["owner": "ada", "name": "a/b?.txt"])
// snippet.end

let (owner, name) = ("ada", "a/b?.txt")

// snippet.request
let file = Request<String>(.get, "/users/\(owner)/files/\(name)")
    .query("version", 3)
    .header("Accept", "text/plain")
    .timeout(10)
// snippet.end

// snippet.encoder
struct Search: Endpoint {
    struct Filter: Encodable, Sendable {
        let state: String
        let labels: [String]
        let createdAfter: Date?
    }

    typealias Response = [String]

    let filter: Filter

    var path: String {
        get throws {
            var encoder = QueryEncoder()
            encoder.options.arrays = .comma
            encoder.options.keys = .snakeCase
            return try "/search?" + encoder.queryString(from: filter)
        }
    }
}
// snippet.end

// The received requests, in the record of a server.
let server = try await MockServer.start()
server.fallback { request in
    request.headers["Accept"] == "text/plain" ? .text(request.target) : try .json([request.target])
}
let client = PulseClient(configuration: PulseConfiguration(baseURL: server.baseURL))
print(try await client.request(ListArticles())[0])
print(try await client.request(file), share)
print(try await client.request(GetFolder(folders: ["tea & co", "2024"], cursor: "a/b"))[0])

// snippet.verb
let text = try await client.get("/users/\(owner)/files/\(name)", as: [String].self)
// snippet.end
print(text)
print(try await client.request(Search(filter: .init(state: "open", labels: ["a", "b"], createdAfter: nil)))[0])

// snippet.refused
let refused = await client.result(of: GetFile(owner: "..", name: "secret"))
// .failure(PulseError.invalidRequest): the values make a dot segment
// snippet.end
print(refused)
await client.shutdown()
await server.shutdown()
