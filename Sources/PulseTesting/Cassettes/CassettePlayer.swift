// SPDX-License-Identifier: MIT

import PulseCalls
public import PulseCore
import PulseNetworking
internal import PulseObservability

/// A transport that plays the responses of a cassette, without a network.
///
/// ```swift
/// let player = CassettePlayer(try Cassette(contentsOf: file), matching: [.query, .body])
/// let client = PulseClient(configuration: configuration, transport: player)
/// #expect(player.unplayedCount == 0)                           // after the calls
/// ```
///
/// A request that is not on the cassette fails with a ``PulseError/custom(_:)`` whose text names the request. Secrets
/// were masked during recording: a mask on the cassette matches anything, and responses contain masks in place of the
/// server's secrets. Recorded failures are played as well; cancelled and unfinished requests in the file of a
/// `PulseRecorder` are not. Safe from any thread; with ``Cassette/Order/asRecorded``, concurrent calls have no defined
/// order.
public final class CassettePlayer: Transport {
    fileprivate struct State {
        /// The number of played requests in each group.
        var played: [Int]
        var playedCount = 0
        var isShutDown = false
    }

    private let tracks: [CassetteTrack]
    private let index: CassetteIndex
    private let order: Cassette.Order
    private let matching: Cassette.Matching
    private let capture: ExchangeCapture
    private let state: Locked<State>

    /// Creates a player for a cassette.
    ///
    /// - Parameter matching: host, query and body by default; omit `.host` for a client with a different base URL.
    /// - Parameter secretHeaders: the names given to the recorder, masked in addition to the known ones.
    public init(
        _ cassette: Cassette, order: Cassette.Order = .byMatch, matching: Cassette.Matching = .all,
        secretHeaders: Set<String> = []
    ) {
        let capture = ExchangeCapture.cassette(secretHeaders: secretHeaders)
        tracks = cassette.playableEntries.map { CassetteTrack($0, capture.redaction) }
        index = CassetteIndex(tracks, matching)
        self.order = order
        self.matching = matching
        self.capture = capture
        state = Locked(State(played: index.groups.map { _ in 0 }))
    }

    /// Every policy is satisfied, because there is no network.
    public var capabilities: TransportCapabilities { .simulated }

    /// The number of recorded requests that have not been played.
    public var unplayedCount: Int {
        tracks.count - state.withLock { $0.playedCount }
    }

    public func send(_ request: TransportRequest) async throws -> PulseResponse {
        if case .upgrade = request.delivery { throw PulseError.unsupported("a cassette has no sockets") }
        try Task.checkCancellation()
        let response = try track(for: request).play(request.urlRequest)
        return try await SimulatedDelivery(request).deliver(response)
    }

    /// Shuts the player down: later requests fail with ``PulseError/cancelled``.
    public func shutdown() async {
        state.withLock { $0.isShutDown = true }
    }

    /// The recorded request to play; throws ``PulseError/custom(_:)`` with a ``CassetteMiss``.
    func track(for request: TransportRequest) throws -> CassetteTrack {
        let asked = CassetteRequest(request.urlRequest, request.body, capture.masking(request.redaction))
        let matches = order == .byMatch ? index.groups(matching: asked) : []
        let number = try state.withLock { state -> Int? in
            guard !state.isShutDown else { throw PulseError.cancelled }
            switch order {
            case .byMatch: return state.play(matches, of: index)
            case .asRecorded:
                let next = state.playedCount
                guard next < tracks.count, tracks[next].mismatch(asked, matching) == nil else { return nil }
                state.playedCount += 1
                return next
            }
        }
        if let number { return tracks[number] }
        let next = order == .asRecorded ? state.withLock { $0.playedCount } : nil
        throw PulseError.custom(CassetteMiss(asked, tracks, matching, next: next))
    }
}

extension CassettePlayer.State {
    /// Takes the first unplayed request of these groups, or else the last one; nil if there are no groups.
    fileprivate mutating func play(_ groups: [Int], of index: CassetteIndex) -> Int? {
        let open = groups.filter { played[$0] < index.groups[$0].count }
        let next = open.min { index.groups[$0][played[$0]] < index.groups[$1][played[$1]] }
        guard let next else { return groups.compactMap { index.groups[$0].last }.max() }
        defer {
            played[next] += 1
            playedCount += 1
        }
        return index.groups[next][played[next]]
    }
}

extension ExchangeCapture {
    /// A capture without limits: a truncated body could not be played.
    static func cassette(secretHeaders: Set<String>) -> ExchangeCapture {
        ExchangeCapture(
            secretHeaders.isEmpty ? .standard : Redaction(secretHeaders: secretHeaders), maxBodyLength: .max,
            maxTextLength: .max, maxFields: .max, keepsBinaryBodies: true, keepsExactResponses: true)
    }
}
