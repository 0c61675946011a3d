// SPDX-License-Identifier: MIT

import PulseCore
internal import PulseObservability

extension Cassette {
    /// The requests as stubs for a ``MockTransport``, to be mixed with others: one for each that differs, with its answers in
    /// the order in which they were recorded, the last one ever after.
    ///
    /// - Parameter matching: without `.host` by default, since a test's base URL is its own.
    /// - Parameter secretHeaders: as given to the recorder.
    public func stubs(
        matching: Matching = [.query, .body], secretHeaders: Set<String> = []
    ) -> [Stub] {
        let capture = ExchangeCapture.cassette(secretHeaders: secretHeaders)
        var groups: [[CassetteTrack]] = []
        var places: [HARRequestKey: Int] = [:]
        for entry in document.log.entries {
            let track = CassetteTrack(entry, capture.redaction)
            let key = HARRequestKey(entry.request)
            if let place = places[key] {
                groups[place].append(track)
            } else {
                places[key] = groups.count
                groups.append([track])
            }
        }
        return groups.compactMap { tracks in
            guard let first = tracks.first else { return nil }
            // A stub is not shown files and streams.
            let matching = first.hasOnlySizeOfBody ? matching.subtracting(.body) : matching
            let stub = Stub(HTTPMethod(rawValue: first.method))
                .matching("it is not \(first.method) \(first.url)") { request in
                    first.mismatch(CassetteRequest(request, .none, capture), matching) == nil
                }
            return tracks.reduce(stub) { stub, track in
                stub.reply(.closure { request, _ in try track.play(request) })
            }
        }
    }
}

/// What makes two recorded requests the same one.
private struct HARRequestKey: Hashable {
    let method: String
    let url: String
    let body: String?

    init(_ request: HARDocument.Request) {
        method = request.method
        url = request.url
        body = request.postData?.text
    }
}
