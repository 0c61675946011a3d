// SPDX-License-Identifier: MIT
//! Views that show requests and lists.

import PulseKit

#if canImport(SwiftUI)
import SwiftUI

struct User: Codable, Sendable {
    let id: Int
    let name: String
}

// snippet.user
struct GetUser: Endpoint, Hashable {
    typealias Response = User

    let id: Int
    var path: PathText { "/users/\(id)" }
}

struct UserView: View {
    @APIRequest<GetUser> private var user: RequestPhase<User>

    init(id: Int) {
        _user = APIRequest(GetUser(id: id), autoFetch: true)
    }

    var body: some View {
        switch user {
        case .idle:
            Button("Load") { $user.fetch() }
        case .loading:
            ProgressView()
        case .success(let user):
            Text(user.name)
        case .refreshing(let user):
            Text(user.name).opacity(0.5)
        case .failure(let error):
            VStack {
                Text(error.localizedDescription)
                Button("Retry") { $user.fetch() }
            }
        }
    }
}
// snippet.end

// snippet.refresh
struct TeamView: View {
    @APIRequest(GetTeam(), autoFetch: true, refetch: RefetchPolicy(staleAfter: 60, on: [.appear, .foreground]))
    private var team

    var body: some View {
        List {
            if $team.refreshError != nil { Text("This list may be out of date.") }
            ForEach(team.value ?? []) { Text($0.name) }
        }
        .refreshable { _ = await $team.refresh().value }
        .tracksVisibility(of: $team)
    }
}
// snippet.end

struct GetTeam: Endpoint, Hashable {
    struct Member: Codable, Sendable, Identifiable {
        let id: Int
        let name: String
    }

    typealias Response = [Member]
    var path: String { "/team" }
}

struct TeamCount: View {
    // snippet.value
    @APIRequest(GetTeam(), autoFetch: true) private var team
    // snippet.end

    var body: some View { Text("\(team.value?.count ?? 0)") }
}

struct TeamNames: View {
    // snippet.brief
    @APIRequest(Request<[User]>("/team"), autoFetch: true) private var team
    // snippet.end

    var body: some View { Text((team.value ?? []).map(\.name).joined(separator: ", ")) }
}

// snippet.endpoint
struct Orders: PaginatedEndpoint, Hashable {
    struct Order: Codable, Sendable, Identifiable {
        let id: Int
        let title: String
    }

    struct Response: Codable, Sendable {
        let orders: [Order]
        let next: String?
    }

    var cursor: String?
    var path: String { "/orders" }
    var queryParameters: [String: String] { cursor.map { ["cursor": $0] } ?? [:] }

    func next(after page: DecodedResponse<Response>) -> Orders? {
        page.value.next.map { Orders(cursor: $0) }
    }

    func items(of page: Response) -> [Order] { page.orders }
}
// snippet.end

// snippet.list
struct OrderList: View {
    @PaginatedRequest(Orders()) private var orders

    var body: some View {
        List {
            ForEach(orders.items ?? []) { Text($0.title) }
            switch orders {
            case .idle, .loaded(_, hasMore: false), .refreshing:
                EmptyView()
            case .loaded(_, hasMore: true):
                if $orders.isStalled {
                    Button("Load more") { $orders.loadMore() }
                } else {
                    ProgressView().onAppear { $orders.loadMoreIfNeeded() }
                }
            case .loading, .loadingMore:
                ProgressView()
            case .failure:
                Button("Try again") { $orders.loadMore() }
            }
        }
        .refreshable { _ = await $orders.refresh().value }
    }
}
// snippet.end

// snippet.preview
struct UserViewPreviews: PreviewProvider {
    static let client = PulseClient.preview { request in
        PulseResponse(statusCode: 200, data: Data(#"{"id": 1, "name": "Ada"}"#.utf8), request: request)
    }

    static var previews: some View {
        UserView(id: 1).environment(\.pulseClient, client)
        // Without a closure each call fails, and nothing is sent.
        UserView(id: 2).environment(\.pulseClient, .preview())
    }
}
// snippet.end
#endif
