// SPDX-License-Identifier: MIT

import PulseCore

// Where Foundation's two implementations differ, and nothing else.
extension URLSessionTransport {
    #if canImport(FoundationNetworking)
    /// Measured on Swift 6.3.1: a POST on a kept-alive connection that died is sent again, without its body.
    static let repeatsOnDeadConnections = true
    #else
    static let repeatsOnDeadConnections = false
    #endif
}

extension HTTPHeaders {
    /// Without the fields that told about the coding, which `URLSession` has undone and both implementations leave in.
    mutating func removeDecodedContentFields() {
        guard let coding = self["Content-Encoding"]?.asciiLowercased, !coding.isEmpty else { return }
        let codings = coding.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
        guard codings.allSatisfy(Self.decodedCodings.contains) else { return }
        remove("Content-Encoding")
        remove("Content-Length")
    }

    #if canImport(FoundationNetworking)
    private static let decodedCodings: Set<String> = ["gzip", "x-gzip", "deflate", "br", "zstd", "identity"]
    #else
    private static let decodedCodings: Set<String> = ["gzip", "x-gzip", "deflate", "br", "identity"]
    #endif
}
