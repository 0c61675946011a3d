// SPDX-License-Identifier: MIT

import PulseCore
internal import PulseObservability

extension Cassette {
    /// The requests as stubs for a ``MockTransport``, to be combined with others. Requests with equal matched parts
    /// share a stub, which plays their responses in recorded order; the last response repeats.
    ///
    /// - Parameter matching: query and body by default, not `.host`, because a test has its own base URL.
    /// - Parameter secretHeaders: the names given to the recorder.
    public func stubs(
        matching: Matching = [.query, .body], secretHeaders: Set<String> = []
    ) -> [Stub] {
        let capture = ExchangeCapture.cassette(secretHeaders: secretHeaders)
        var groups: [StubbedTracks] = []
        for entry in playableEntries {
            let track = CassetteTrack(entry, capture.redaction)
            let request = track.requestForStubs
            // As in the transport, the first stub that matches replies.
            if let place = groups.firstIndex(where: { $0.matches(request) }) {
                groups[place].tracks.append(track)
            } else {
                groups.append(StubbedTracks(track, matching))
            }
        }
        return groups.map { group in
            let (first, matching) = (group.first, group.matching)
            let stub = Stub(HTTPMethod(rawValue: first.method))
                .matching("it is not \(first.method) \(first.url)") { request in
                    first.mismatch(CassetteRequest(request, .none, capture), matching) == nil
                }
            return group.tracks.reduce(stub) { stub, track in
                stub.reply(.closure { request, _ in try track.play(request) })
            }
        }
    }
}

/// The recorded requests of one stub.
private struct StubbedTracks {
    let first: CassetteTrack
    let matching: Cassette.Matching
    var tracks: [CassetteTrack]

    init(_ first: CassetteTrack, _ matching: Cassette.Matching) {
        self.first = first
        // A stub does not see files and streams.
        self.matching = first.hasOnlySizeOfBody ? matching.subtracting(.body) : matching
        tracks = [first]
    }

    func matches(_ request: CassetteRequest) -> Bool {
        first.mismatch(request, matching) == nil
    }
}
