// SPDX-License-Identifier: MIT

import PulseKit

struct GetUser: Endpoint {
    struct Response: Decodable, Sendable { let id: Int, name: String }
    let id: Int
    var path: PathText { "/users/\(id)" }
}

let client = PulseClient(
    baseURL: CommandLine.arguments[1], plugins: [.auth { "your-token" }, .cache()])
do {
    for id in [7, 7, 8] { print(try await client.request(GetUser(id: id)).name) }
} catch let error as PulseError {
    print(error)
}
