// SPDX-License-Identifier: MIT

import PulseKit

struct Repository: Codable, Sendable {
    let id: Int
    let name: String
}

struct GitHub: Sendable {
    let client: PulseClient

    init(baseURL: URL) {
        client = PulseClient(baseURL: baseURL)
    }

    func repositories(of login: String) async throws -> [Repository] {
        try await client.get("/users/\(login)/repos")
    }
}
