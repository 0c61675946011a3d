// SPDX-License-Identifier: MIT

import PulseCore
import PulseObservability
import PulseStorage
import PulseTesting
import TestSupport
import Testing

@testable import PulseModels

/// Requests that wait until the test responds to them.
final class HeldRequests: Sendable {
    private typealias Reply = Promise<Result<PulseResponse, PulseError>>

    private struct State {
        var requests: [URLRequest] = []
        var replies: [Reply] = []
        var cancelled: Set<Int> = []
    }

    private let state = Locked(State())

    var requests: [URLRequest] { state.withLock { $0.requests } }
    var count: Int { requests.count }
    /// The numbers of the requests that were cancelled.
    var cancelled: Set<Int> { state.withLock { $0.cancelled } }
    /// What is sent, as text.
    var sent: [String] { requests.map { $0.url?.absoluteString.split(separator: "v1/").last.map(String.init) ?? "" } }

    func client(
        _ clock: any PulseClock = TestClock(), plugins: [any PulsePlugin] = [], events: PulseEventBus = PulseEventBus(),
        connectivity: ManualConnectivityMonitor = ManualConnectivityMonitor()
    ) -> PulseClient {
        ClientStage.client(
            .test().with(\.connectivity, value: connectivity), plugins: plugins, clock: clock, events: events
        ) { try await self.response(to: $0) }
    }

    private func response(to request: URLRequest) async throws -> PulseResponse {
        let reply = Reply()
        let number = state.withLock { state in
            state.requests.append(request)
            state.replies.append(reply)
            return state.replies.count - 1
        }
        return try await reply.value {
            state.withLock { _ = $0.cancelled.insert(number) }
            reply.fulfill(.failure(.cancelled))
        }.get()
    }

    /// A model that has loaded that value.
    @MainActor
    func loaded(
        _ value: Int, _ endpoint: GetNumber = GetNumber(), _ policy: RefetchPolicy = .manual, by client: PulseClient
    ) async -> RequestModel<GetNumber> {
        let model = RequestModel(endpoint, client: client, refetch: policy)
        let number = count
        model.fetch()
        await respond(number, "\(value)")
        await eventually { model.phase.text == "success \(value)" }
        return model
    }

    /// Waits until there are that many requests.
    @MainActor
    func sent(_ count: Int) async { await eventually { self.count >= count } }

    /// Responds to a request, once it was sent.
    @MainActor
    func respond(_ number: Int, _ json: String, status: Int = 200, headers: HTTPHeaders = [:]) async {
        await sent(number + 1)
        let (request, reply) = state.withLock { ($0.requests[number], $0.replies[number]) }
        var headers = headers
        headers["Content-Type"] = "application/json"
        reply.fulfill(
            .success(PulseResponse(statusCode: status, headers: headers, data: Data(json.utf8), request: request)))
    }
}

/// Lets the main actor perform what is enqueued.
@MainActor
func turns() async {
    for _ in 0..<3 { await Task { @MainActor in }.value }
}

/// Lets other tasks run until the condition holds.
@MainActor
func eventually(_ condition: () -> Bool) async {
    while !condition(), !Task.isCancelled { await Task.yield() }
}

struct GetNumber: Endpoint, Hashable {
    typealias Response = Int
    var id = 1
    var path: String { "/numbers/\(id)" }
}

/// A page of a list; its elements are `Identifiable`.
struct GetRows: PaginatedEndpoint, Hashable {
    struct Row: Codable, Sendable, Hashable, Identifiable {
        let id: Int
        var text = ""
    }

    struct Page: Decodable, Sendable {
        let rows: [Int]
        var next: Int?
    }

    typealias Response = Page
    var list = "a"
    var page = 0
    var path: String { "/\(list)/\(page)" }

    func next(after page: DecodedResponse<Page>) throws -> GetRows? {
        if page.value.next == -1 { throw PulseError.emptyBody }
        return page.value.next.map { GetRows(list: list, page: $0) }
    }

    func items(of response: Page) -> [Row] { response.rows.map { Row(id: $0) } }
}

extension RequestPhase {
    /// The phase as text, such as `success 1`.
    var text: String {
        switch self {
        case .idle: "idle"
        case .loading: "loading"
        case .success(let value): "success \(value)"
        case .refreshing(let value): "refreshing \(value)"
        case .failure(let error): "failure \(error.kind)"
        }
    }
}

extension PaginatedPhase where Items == [GetRows.Row] {
    /// The phase as text, such as `loaded [1, 2] more`.
    var text: String {
        let ids = items.map { "\($0.map(\.id))" } ?? "none"
        return switch self {
        case .idle: "idle"
        case .loading: "loading"
        case .loaded(_, let hasMore): "loaded \(ids)" + (hasMore ? " more" : "")
        case .loadingMore: "loadingMore \(ids)"
        case .refreshing: "refreshing \(ids)"
        case .failure(let error, _): "failure \(error.kind) \(ids)"
        }
    }
}

private final class Told: ChangeObserver {
    private let body: () -> Void

    init(_ body: @escaping () -> Void) {
        self.body = body
    }

    func willChange() { body() }
}

extension ModelCore {
    /// Runs the body before each change.
    func onWillChange(_ body: @escaping () -> Void) {
        let told = Told(body)
        changeObserver.withLock { $0 = told }
    }
}

/// The next phases of a stream.
@MainActor
func texts<Phase: Sendable>(
    _ phases: AsyncStream<Phase>, _ count: Int, _ text: (Phase) -> String
) async -> [String] {
    var texts: [String] = []
    for await phase in phases {
        texts.append(text(phase))
        if texts.count == count { break }
    }
    return texts
}
