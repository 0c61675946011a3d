// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage
import PulseTesting
import TestSupport

/// A queue whose server is a closure that responds to replays.
final class QueueUnderTest: Sendable {
    typealias Responder = @Sendable (QueuedSend) async -> ReplayOutcome

    let queue: OfflineQueue
    let clock: TestClock
    let connectivity: ManualConnectivityMonitor
    let events = RecordingSink()
    private let state: Locked<State>

    private struct State: Sendable {
        var respond: Responder
        var replays: [QueuedSend] = []
    }

    init(
        _ directory: URL?, policy: OfflineQueuePolicy = OfflineQueuePolicy(), clock: TestClock = TestClock(),
        connectivity: ManualConnectivityMonitor = .manual(), seed: UInt64 = nextSeed(), disk: Disk = .system,
        starts: Bool = true,
        respond: @escaping Responder = { _ in .status(200) }
    ) {
        self.clock = clock
        self.connectivity = connectivity
        state = Locked(State(respond: respond))
        queue = OfflineQueue(
            policy: policy, directory: directory, clock: clock, randomness: SeededRandomness(seed: seed),
            connectivity: connectivity, events: events, disk: disk)
        if starts { start() }
    }

    func start() {
        queue.start { [weak self] replay in
            guard let self else { return .failure(.cancelled) }
            let respond = state.withLock { state in
                state.replays.append(replay)
                return state.respond
            }
            return await respond(replay)
        }
    }

    func respond(_ respond: @escaping Responder) {
        state.withLock { $0.respond = respond }
    }

    /// The paths that were sent, in order.
    var sent: [String] { state.withLock { $0.replays.map { $0.request.url?.path ?? "" } } }
    var replayed: [QueuedSend] { state.withLock { $0.replays } }

    @discardableResult
    func enqueue(
        _ path: String, tag: String? = nil, body: RequestBodySample = .none, headers: [String: String] = [:],
        account: String? = nil, isOffline: Bool = true
    ) async throws -> UUID {
        try await queue.enqueue(
            .sample(path, tag: tag, body: body, headers: headers, account: account),
            after: isOffline ? .noConnection : nil)
    }

    private static let seeds = Locked<UInt64>(0)

    /// A different seed for each queue, so that two processes never create the same ids.
    static func nextSeed() -> UInt64 {
        seeds.withLock { seed in
            seed += 1000
            return seed
        }
    }

    /// Advances the clock, whenever a task sleeps, until a matching event is emitted.
    func event(movingBy seconds: TimeInterval, _ isWanted: @escaping @Sendable (NetworkEvent) -> Bool) async {
        let mover = Task { [clock] in
            while !Task.isCancelled {
                await clock.sleepers(atLeast: 1)
                await clock.advance(by: seconds)
            }
        }
        await event(isWanted)
        mover.cancel()
        await mover.value
    }

    /// Waits until a matching event is emitted.
    func event(_ isWanted: @escaping @Sendable (NetworkEvent) -> Bool) async {
        await events.wait(until: isWanted)
    }
}

enum RequestBodySample: Sendable {
    case none
    case data(Data)
    case file(URL)
    case stream(RequestBody.Stream)
}

extension QueueDraft {
    static func sample(
        _ path: String, tag: String? = nil, body: RequestBodySample = .none, headers: [String: String] = [:],
        account: String? = nil, options: RequestOptions = RequestOptions()
    ) -> QueueDraft {
        var request = URLRequest(url: URL(fileURLWithPath: "/"))
        request.url = URL(string: "https://api.example.com\(path)")
        request.httpMethod = "POST"
        request.allHTTPHeaderFields = headers
        var source = PluginContext.Body.inRequest
        switch body {
        case .none: break
        case .data(let data): request.httpBody = data
        case .file(let url): source = .file(url)
        case .stream(let stream): source = .stream(stream)
        }
        return QueueDraft(
            request: request, body: source, options: options.with(\.tag, value: tag), key: "key-\(path)",
            account: account)
    }
}

extension ReplayOutcome {
    static func status(_ status: Int, headers: HTTPHeaders = [:], data: Data = Data()) -> ReplayOutcome {
        let request = URLRequest(url: URL(fileURLWithPath: "/"))
        let response = PulseResponse(statusCode: status, headers: headers, data: data, request: request)
        return ReplayOutcome(
            result: PulseError(validating: response, accepted: .successful).map { .failure($0) } ?? .success(response))
    }

    static func failure(_ error: PulseError) -> ReplayOutcome {
        ReplayOutcome(result: .failure(error))
    }
}

extension NetworkEvent {
    func isCompletion(of id: UUID) -> Bool {
        if case .offlineQueueRequestCompleted(id, _) = self { return true }
        return false
    }
}
