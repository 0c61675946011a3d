// SPDX-License-Identifier: MIT

public import PulseCore
import PulseNetworking
internal import PulseObservability

/// A transport without a wire that plays the responses of a cassette.
///
/// A request that is not on it fails with a ``PulseError/custom(_:)`` whose text names the request.
/// Secrets were masked at recording: a mask on the cassette matches anything, and responses have masks where the server
/// sent secrets. Recorded failures are played as well; the cancelled and unfinished requests in the file of a
/// `PulseRecorder` are not. Safe from any thread; in ``Cassette/Order/asRecorded`` concurrent calls have no defined
/// order.
public final class CassettePlayer: Transport {
    private struct State {
        var isPlayed: [Bool]
        var next = 0
        var isShutDown = false
    }

    private let tracks: [CassetteTrack]
    private let order: Cassette.Order
    private let matching: Cassette.Matching
    private let capture: ExchangeCapture
    private let state: Locked<State>

    /// A player of that cassette.
    ///
    /// - Parameter matching: host, query and body by default; omit `.host` for a client with another base URL.
    /// - Parameter secretHeaders: the names given to the recorder, which are masked besides the known ones.
    public init(
        _ cassette: Cassette, order: Cassette.Order = .byMatch, matching: Cassette.Matching = .all,
        secretHeaders: Set<String> = []
    ) {
        let capture = ExchangeCapture.cassette(secretHeaders: secretHeaders)
        tracks = cassette.playableEntries.map { CassetteTrack($0, capture.redaction) }
        self.order = order
        self.matching = matching
        self.capture = capture
        state = Locked(State(isPlayed: tracks.map { _ in false }))
    }

    /// Every policy is satisfied, because there is no wire.
    public var capabilities: TransportCapabilities { .simulated }

    /// The number of recorded requests that have not been played.
    public var unplayedCount: Int {
        state.withLock { $0.isPlayed.count { !$0 } }
    }

    public func send(_ request: TransportRequest) async throws -> PulseResponse {
        if case .upgrade = request.delivery { throw PulseError.unsupported("a cassette has no sockets") }
        try Task.checkCancellation()
        let response = try track(for: request).play(request.urlRequest)
        return try await SimulatedDelivery(request).deliver(response)
    }

    /// Ends the player: later requests fail with ``PulseError/cancelled``.
    public func shutdown() async {
        state.withLock { $0.isShutDown = true }
    }

    private func track(for request: TransportRequest) throws -> CassetteTrack {
        let asked = CassetteRequest(request.urlRequest, request.body, capture.masking(request.redaction))
        let reasons = tracks.map { $0.mismatch(asked, matching) }
        let index = try state.withLock { state -> Int? in
            guard !state.isShutDown else { throw PulseError.cancelled }
            let index: Int?
            switch order {
            case .byMatch:
                let matches = reasons.indices.filter { reasons[$0] == nil }
                index = matches.first { !state.isPlayed[$0] } ?? matches.last
            case .asRecorded:
                index = state.next < reasons.count && reasons[state.next] == nil ? state.next : nil
                if index != nil { state.next += 1 }
            }
            if let index { state.isPlayed[index] = true }
            return index
        }
        if let index { return tracks[index] }
        let next = order == .asRecorded ? state.withLock { $0.next } : nil
        throw PulseError.custom(CassetteMiss(asked, tracks, reasons, next: next))
    }
}

extension ExchangeCapture {
    /// A capture without limits: a truncated body could not be played.
    static func cassette(secretHeaders: Set<String>) -> ExchangeCapture {
        ExchangeCapture(
            secretHeaders.isEmpty ? .standard : Redaction(secretHeaders: secretHeaders), maximumBodyLength: .max,
            maximumTextLength: .max, maximumFields: .max, keepsBinaryBodies: true, keepsExactResponses: true)
    }
}
