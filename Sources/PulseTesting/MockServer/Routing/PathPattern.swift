// SPDX-License-Identifier: MIT

import PulseCore

/// A path template such as `/users/{id}`, matched against the path of a request.
///
/// Compared segment by segment, percent-decoded: `/caf%C3%A9` and `/café` are the same, while an encoded slash stays
/// within its segment. `{name}` takes one segment that is not empty, `{name...}` as the last all that is left. A slash
/// at the end counts.
struct PathPattern: Sendable, Hashable, CustomStringConvertible {
    private enum Segment: Sendable, Hashable {
        case literal(String)
        case parameter(String)
        case rest(String)
    }

    let description: String
    private let segments: [Segment]

    init(_ template: String) {
        description = template
        let parts = Self.split(template)
        segments = parts.enumerated().map { index, part in
            guard part.hasPrefix("{"), part.hasSuffix("}"), part.count > 2 else {
                return .literal(part.percentDecoded)
            }
            let name = part.dropFirst().dropLast()
            let takesRest = name.hasSuffix("...") && index == parts.count - 1
            return takesRest ? .rest(String(name.dropLast(3))) : .parameter(String(name))
        }
    }

    /// The decoded parameters if the path matches, else nil.
    func match(_ path: String) -> [String: String]? {
        let parts = Self.split(path)
        var parameters: [String: String] = [:]
        for (index, segment) in segments.enumerated() {
            if case .rest(let name) = segment {
                parameters[name] = parts.dropFirst(index).joined(separator: "/").percentDecoded
                return parameters
            }
            guard index < parts.count else { return nil }
            let part = parts[index].percentDecoded
            switch segment {
            case .literal(let text): guard text == part else { return nil }
            case .parameter(let name):
                guard !part.isEmpty else { return nil }
                parameters[name] = part
            case .rest: break
            }
        }
        return parts.count == segments.count ? parameters : nil
    }

    /// A leading slash is implied: `users` is `/users`.
    private static func split(_ path: String) -> [Substring] {
        (path.hasPrefix("/") ? path.dropFirst() : path[...])
            .split(separator: "/", omittingEmptySubsequences: false)
    }
}
