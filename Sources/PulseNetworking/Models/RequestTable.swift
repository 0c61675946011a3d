// SPDX-License-Identifier: MIT

import PulseCalls
import PulseCore

/// The requests of a client's models.
@MainActor
final class RequestTable: ClientFeature {
    private var requests: [RequestKey: any AnySharedRequest] = [:]
    private var lastMember = 0
    /// The requests with a visible model that waits for the network.
    private var awaiting: Set<RequestKey> = []
    private var reconnect = ReconnectStateMachine()
    /// Reads the changes of connectivity while a model waits for the network.
    private var watch: Task<Void, Never>?
    /// The center that posts when the app enters the foreground. Read at the first request.
    var notifications = NotificationCenter.default
    private var foreground: ForegroundObserver?
    private var time = RequestTime()
    private weak var client: PulseClient?

    nonisolated init() {}

    deinit {
        watch?.cancel()
    }

    /// The number of requests that a model uses, or whose value is kept.
    var count: Int { requests.count }
    var isWatching: Bool { watch != nil }

    func now(_ clock: any PulseClock) -> TimeInterval { time.read(clock) }

    func newMember() -> Int {
        lastMember += 1
        return lastMember
    }

    /// The request with the key; the caller must add a member to a new one at once.
    func request<Content>(
        _ key: RequestKey, of client: PulseClient, _ work: @escaping SharedRequest<Content>.Work
    ) -> SharedRequest<Content> {
        if let request = requests[key] as? SharedRequest<Content> { return request }
        let request = SharedRequest(key, in: self, of: client, work: work)
        requests[key] = request
        if foreground == nil { startForeground() }
        self.client = client
        return request
    }

    /// Called after each change of a request.
    func update(_ request: any AnySharedRequest, isUnused: Bool, awaitsReconnect: Bool) {
        guard requests[request.key] === request else { return }
        if isUnused { requests[request.key] = nil }
        let isWaiting = awaitsReconnect && !isUnused
        guard isWaiting != awaiting.contains(request.key) else { return }
        if isWaiting { awaiting.insert(request.key) } else { awaiting.remove(request.key) }
        if awaiting.isEmpty { endWatch() } else if watch == nil { startWatch() }
    }

    // MARK: Events for all requests

    func invalidate(_ type: (some Endpoint).Type) {
        for request in all where request.key.isOf(type) { request.invalidate() }
    }

    func removeAll() {
        let requests = all
        // All are reset first: a notified model must not find another with an old value.
        for request in requests { request.reset() }
        for request in requests { request.notifyOfReset() }
    }

    /// The app enters the foreground.
    func enterForeground() {
        for request in all { request.enterForeground() }
    }

    private func startForeground() {
        foreground = ForegroundObserver(notifications) { [weak self] in
            Task { @MainActor in self?.enterForeground() }
        }
    }

    /// A copy, since each event may change the table.
    private var all: [any AnySharedRequest] { Array(requests.values) }

    // MARK: Connectivity

    private func startWatch() {
        guard let updates = client?.environment.connectivity?.updates else { return }
        reconnect.restart()
        watch = Task { [weak self] in
            for await status in updates {
                guard !Task.isCancelled else { return }
                self?.note(status.path)
            }
        }
    }

    private func endWatch() {
        watch?.cancel()
        watch = nil
    }

    private func note(_ path: ConnectivityStatus.Path) {
        guard let client, let (window, end) = reconnect.change(to: path, at: client.environment.clock.uptime),
            !client.calls.isClosing
        else { return }
        _ = client.deadlines.add(end) { [weak self] in
            Task.detached { @MainActor in self?.closeWindow(window) }
        }
    }

    private func closeWindow(_ number: Int) {
        guard reconnect.closeWindow(number) else { return }
        for request in all { request.trigger(.reconnect) }
    }
}

extension PulseClient {
    var requestTable: RequestTable { features[RequestTable.self] }
}
