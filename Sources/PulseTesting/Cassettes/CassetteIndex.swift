// SPDX-License-Identifier: MIT

import PulseCore

/// Finds the recorded requests that match a request without comparing it with each of them.
///
/// A request is looked up by its parts. A masked part matches anything, so the key omits it: there is one table for
/// each combination of masked parts, of which a cassette has few. Masked bodies are compared one by one.
struct CassetteIndex: Sendable {
    /// The compared parts. Recorded requests with equal parts match the same requests.
    private struct Identity: Hashable {
        let parts: [String]
        let body: CassetteBody?
    }

    private typealias Groups = [CassetteBody.Key?: [Int]]

    /// The indices of each group's requests on the cassette, in order.
    private(set) var groups: [[Int]] = []
    private var tables: [[Bool]: [[String]: Groups]] = [:]
    private let tracks: [CassetteTrack]
    private let matching: Cassette.Matching

    init(_ tracks: [CassetteTrack], _ matching: Cassette.Matching) {
        self.tracks = tracks
        self.matching = matching
        var numbers: [Identity: Int] = [:]
        for (place, track) in tracks.enumerated() {
            let parts = [track.method] + track.address.parts(matching)
            let body = matching.contains(.body) ? track.body : nil
            let identity = Identity(parts: parts, body: body)
            if let number = numbers[identity] {
                groups[number].append(place)
                continue
            }
            let number = groups.count
            numbers[identity] = number
            groups.append([place])
            let hasMask = parts.map { $0.contains(Redaction.mask) }
            tables[hasMask, default: [:]][Self.key(parts, hasMask), default: [:]][body?.key, default: []].append(number)
        }
    }

    private static func key(_ parts: [String], _ hasMask: [Bool]) -> [String] {
        zip(parts, hasMask).filter { !$1 }.map(\.0)
    }

    /// The indices of the groups that match.
    func groups(matching request: CassetteRequest) -> [Int] {
        let parts = [request.method] + request.address.parts(matching)
        let bodies = CassetteBody.keys(of: request)
        let candidates = tables.flatMap { hasMask, table -> [Int] in
            guard hasMask.count == parts.count, let found = table[Self.key(parts, hasMask)] else { return [] }
            guard let bodies else { return found.values.flatMap { $0 } }
            return ([nil] + bodies).flatMap { found[$0] ?? [] }
        }
        return candidates.filter { tracks[groups[$0][0]].mismatch(request, matching) == nil }
    }
}
