// SPDX-License-Identifier: MIT

#if canImport(SwiftUI)
import PulseKit
import PulseUI
import SwiftUI

struct UsersView: View {
    @APIRequest(GetUsers(), autoFetch: true) var users: RequestPhase<[User]>

    var body: some View {
        switch users {
        case .idle, .loading:
            ProgressView()
        case .success(let users), .refreshing(let users):
            List {
                ForEach(users) { Text($0.name) }
            }
            .refreshable { $users.refresh() }
        case .failure(let error):
            VStack {
                Text(error.localizedDescription)
                Button("Try again") { $users.fetch() }
                Button("Reload") { $users.refresh() }
            }
        }
    }
}

struct Feed: PaginatedEndpoint {
    struct Response: Codable, Sendable {
        let users: [User]
        let next: String?
    }

    var cursor: String?
    var path: String { "/feed" }
    var queryParameters: [String: String] { cursor.map { ["cursor": $0] } ?? [:] }

    func next(after page: DecodedResponse<Response>) -> Feed? {
        page.value.next.map { Feed(cursor: $0) }
    }

    func items(of page: Response) -> [User] { page.users }
}

struct FeedView: View {
    @PaginatedRequest(Feed()) var feed

    var body: some View {
        List {
            ForEach(feed.items ?? []) { Text($0.name) }
            if case .loaded(_, hasMore: true) = feed {
                Button("More") { $feed.loadMore() }
            }
        }
    }
}

struct UsersPreviews: PreviewProvider {
    static var previews: some View {
        UsersView().environment(\.pulseClient, .preview())
    }
}

struct DebugScreen: View {
    var body: some View { PulseDebugView() }
}
#endif

#if canImport(Combine)
import Combine
import PulseKit

final class UsersModel {
    private var cancellables: Set<AnyCancellable> = []
    var users: [User] = []

    func load(_ client: PulseClient) {
        client.publisher(for: GetUsers())
            .sink(receiveCompletion: { _ in }, receiveValue: { print($0.count) })
            .store(in: &cancellables)
    }
}
#endif
