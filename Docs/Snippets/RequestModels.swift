// SPDX-License-Identifier: MIT
//! Models of requests, without SwiftUI.

import PulseKit

struct User: Codable, Sendable {
    let id: Int
    let name: String
}

struct GetUser: Endpoint, Hashable {
    typealias Response = User

    let id: Int
    var path: PathText { "/users/\(id)" }
}

// snippet.client
let client = PulseClient.preview { request in
    PulseResponse(statusCode: 200, data: Data(#"{"id": 1, "name": "Ada"}"#.utf8), request: request)
}
// snippet.end

// snippet.model
let model = RequestModel(GetUser(id: 1), client: client)
let phase = await model.fetch().value
print(phase.value?.name ?? "no user")
// snippet.end

// snippet.screen
@MainActor
final class UserScreen {
    private let model: RequestModel<GetUser>
    private var updates: Task<Void, Never>?

    init(id: Int, client: PulseClient) {
        model = RequestModel(GetUser(id: id), client: client, refetch: RefetchPolicy(staleAfter: 60, on: .appear))
    }

    func viewDidAppear() {
        model.appear()
        updates = Task {
            for await phase in model.phases { show(phase) }
        }
    }

    func viewDidDisappear() {
        updates?.cancel()
        model.disappear()
    }

    private func show(_ phase: RequestPhase<User>) {
        print(phase.value?.name ?? "…")
    }
}
// snippet.end

let screen = UserScreen(id: 1, client: client)
screen.viewDidAppear()

// snippet.prefetch
await client.requestStore.prefetch(GetUser(id: 2))
// snippet.end

// snippet.invalidate
client.requestStore.invalidate(GetUser.self)
// snippet.end

// snippet.logout
client.requestStore.removeAll()
// snippet.end

screen.viewDidDisappear()
await client.shutdown()
