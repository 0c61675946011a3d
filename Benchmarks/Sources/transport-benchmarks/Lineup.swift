// SPDX-License-Identifier: MIT

import Contending
import Foundation

/// The contenders, and how each is started.
struct Lineup {
    /// The contenders in this executable.
    enum Own: String {
        case pulse = "PulseKit"
        case pulseHTTP1 = "PulseKit, HTTP/1.1"
        case pulseURLSession = "PulseKit, URLSessionTransport"
        case urlSession = "URLSession"
        case transportAlone = "The transport alone, not decoded"

        /// Those of the small requests in cleartext.
        static let small = [pulse, pulseURLSession, urlSession, transportAlone]
    }

    /// AsyncHTTPClient with its defaults, with as many connections as requests in flight, and with HTTP/2 over TLS.
    enum Peer: String {
        case shared = "AsyncHTTPClient, shared"
        case configured = "AsyncHTTPClient, 256 connections"
        case http1 = "AsyncHTTPClient, HTTP/1.1"
        case http2 = "AsyncHTTPClient, HTTP/2"

        /// Those of the small requests.
        static let small = [shared, configured]

        fileprivate var argument: String {
            switch self {
            case .shared: "shared"
            case .configured, .http1: "configured"
            case .http2: "http2"
            }
        }
    }

    /// The executable of the peers, nil if it was not built.
    let peer: String?

    func requests() throws -> [Contestant] {
        try Own.small.map { try start($0) } + (peer == nil ? [] : Peer.small.map { try start($0) })
    }

    func start(_ own: Own) throws -> Contestant {
        try Contestant(own.rawValue, CommandLine.arguments[0], ["--contender", own.rawValue])
    }

    func start(_ other: Peer) throws -> Contestant {
        try Contestant(other.rawValue, peer ?? "", [other.argument])
    }
}
