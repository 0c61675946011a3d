// SPDX-License-Identifier: MIT

import PulseCore

extension URL {
    /// The path to the file from an existing directory. It stays the same when both move, as an app's container does
    /// at each update.
    func path(from directory: URL) -> String {
        let (path, base) = (standardizedFileURL.pathComponents, directory.standardizedFileURL.pathComponents)
        let shared = zip(path, base).prefix { $0 == $1 }.count
        return (Array(repeating: "..", count: base.count - shared) + path.dropFirst(shared)).joined(separator: "/")
    }
}
