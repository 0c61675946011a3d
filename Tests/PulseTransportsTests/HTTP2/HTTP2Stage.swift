// SPDX-License-Identifier: MIT

#if os(Linux)
import PulseCore
import PulsePlatform
import PulseTesting

@testable import PulseTransports

/// An HTTP/2 connection to a server in memory, with a clock that stands still.
struct HTTP2Stage: Sendable {
    let peer = HTTP2ConnectionPeer()
    let clock = TestClock()
    let connection: HTTP2Connection
    /// How often the owner was told of a change.
    let changes = Locked(0)
    private let slots = ConnectionSlots(limit: 1000)

    /// - Parameters:
    ///   - settings: those of the server; nil if they do not come at once.
    ///   - expectedLimit: how many streams it probably allows.
    init(_ settings: [(UInt16, UInt32)]? = [], expectedLimit: Int? = nil) async throws {
        connection = try HTTP2Connection(
            peer, clock: clock, deadlines: DeadlineHeap(clock: clock, for: .timeout), expectedLimit: expectedLimit
        ) { [changes] _ in
            changes.withLock { $0 += 1 }
        }
        connection.start()
        guard let settings else { return }
        peer.send(.settings(settings), .settingsAck)
        await peer.settle()
    }

    /// Sends a request on a place that it reserves. Nil if another connection should get it.
    func send(
        _ method: String = "GET", body: TransportRequest.Body = .none,
        delivery: TransportRequest.Delivery = .buffered(limit: 1 << 20), idleTimeout: TimeInterval = 30,
        isReused: Bool = true
    ) async throws -> PulseResponse? {
        guard connection.reserve() else { return nil }
        return try await run(method, body: body, delivery: delivery, idleTimeout: idleTimeout, isReused: isReused)
    }

    /// Sends a request on a place that is reserved.
    func run(
        _ method: String = "GET", body: TransportRequest.Body = .none,
        delivery: TransportRequest.Delivery = .buffered(limit: 1 << 20), idleTimeout: TimeInterval = 30,
        isReused: Bool = true
    ) async throws -> PulseResponse? {
        guard let url = URL(string: "https://a.test/"), let origin = Origin(url) else { return nil }
        var urlRequest = URLRequest(url: url)
        urlRequest.httpMethod = method
        let request = TransportRequest(
            urlRequest: urlRequest, body: body, delivery: delivery, idleTimeout: idleTimeout)
        let feed = try request.feed(beyond: HTTP1Request.inlineLimit)
        let exchange = try HTTP2Exchange(request, url, origin, feed, startedAt: SystemClock().uptime)
        return try await exchange.run(
            over: connection, PulseResponse.Timings(), isReused: isReused, unpinnedKeys: nil,
            holding: try await slots.slot(origin, for: request))
    }

    /// A body that a task uploads.
    static func upload(_ chunks: [Data], length: Int64? = nil) -> TransportRequest.Body {
        .stream(RequestBody.Stream(length: length) { ByteStream(chunks) })
    }

    /// A body whose chunks come when the test says so.
    static func upload(_ chunks: AsyncStream<Data>, length: Int64? = nil) -> TransportRequest.Body {
        .stream(
            RequestBody.Stream(length: length) {
                ByteStream(next: {
                    for await chunk in chunks { return chunk }
                    return nil
                })
            })
    }

    /// Returns once a stream is in that state.
    func stream(
        _ id: Int32, is condition: @Sendable (HTTP2Connection.StreamState) -> Bool = { _ in true }
    ) async {
        while !Task.isCancelled {
            if let state = connection.stream(id), condition(state) { return }
            await Task.yield()
        }
    }
}
#endif
