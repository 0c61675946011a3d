// SPDX-License-Identifier: MIT

import PulseKit

/// A decoded type is decoded off the main actor, and says so. Endpoints and plugins need not.
nonisolated struct Note: Codable, Identifiable {
    var id: Int
    var text: String
}

struct GetNote: Endpoint, Hashable {
    typealias Response = Note

    let id: Int
    var path: PathText { "/notes/\(id)" }
}

struct SaveNote: Endpoint {
    typealias Response = Note

    let note: Note
    let path = "/notes"
    let method = HTTPMethod.post
    var body: RequestBody { .json(note) }
}

struct GetNotes: PaginatedEndpoint, Hashable {
    nonisolated struct Response: Decodable {
        let notes: [Note]
        let next: String?
    }

    var cursor: String?
    var path: String { "/notes" }
    var queryParameters: [String: String] { cursor.map { ["cursor": $0] } ?? [:] }

    func next(after page: DecodedResponse<Response>) -> GetNotes? { page.value.next.map { GetNotes(cursor: $0) } }
    func items(of page: Response) -> [Note] { page.notes }
}

struct NamePlugin: PulsePlugin {
    let identifier = "name"

    func prepare(_ request: inout URLRequest, for context: PluginContext) async throws {
        request.setValue("MainActorApp", forHTTPHeaderField: "X-App")
    }
}

/// Calls from any thread ask for its tokens.
actor Session: TokenProvider {
    private var token = "t1"

    func accessToken() async -> String? { token }

    func refreshToken() async throws -> String {
        token = "t2"
        return token
    }

    func handleAuthenticationFailure() async { token = "" }
}
