// SPDX-License-Identifier: MIT

import PulseCore

/// The failure of a request that is not on the cassette, or not the next on it.
package struct CassetteMiss: Error, Sendable, CustomStringConvertible, LocalizedError {
    private static let maxReasons = 20

    /// The request, its URL masked, and its difference from each recorded request.
    package let description: String

    package var errorDescription: String? { description }

    /// - Parameter next: the index of the expected recorded request, counted from 0; nil if the order is free.
    init(_ request: CassetteRequest, _ tracks: [CassetteTrack], _ matching: Cassette.Matching, next: Int?) {
        func reason(_ track: CassetteTrack) -> String { track.mismatch(request, matching) ?? "it matches" }
        let came = "\(request.method) \(request.url)"
        guard let next else {
            var lines = ["not on the cassette: \(came)"]
            lines += tracks.prefix(Self.maxReasons).enumerated().map { index, track in
                "\(index + 1). \(track.method) \(track.url): \(reason(track))"
            }
            let left = tracks.count - Self.maxReasons
            if left > 0 { lines.append("… and \(left) more") }
            description = tracks.isEmpty ? "\(lines[0]): it is empty" : lines.joined(separator: "; ")
            return
        }
        guard next < tracks.count else {
            description = "the cassette ended after \(tracks.count) requests, but the next request is \(came)"
            return
        }
        description =
            "request \(next + 1) of the cassette is \(tracks[next].method) \(tracks[next].url), but the request is \(came): "
            + reason(tracks[next])
    }
}
