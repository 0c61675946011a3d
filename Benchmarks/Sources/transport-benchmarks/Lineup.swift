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

    /// AsyncHTTPClient with its defaults, with as many connections as requests in flight, and with HTTP/2 over TLS; Go's
    /// net/http.
    enum Peer: String {
        case shared = "AsyncHTTPClient, shared"
        case configured = "AsyncHTTPClient, 256 connections"
        case http1 = "AsyncHTTPClient, HTTP/1.1"
        case http2 = "AsyncHTTPClient, HTTP/2"
        case netHTTP1 = "net/http, HTTP/1.1"
        case netHTTP2 = "net/http, HTTP/2"

        /// Those of the small requests.
        static let small = [shared, configured]

        fileprivate var argument: String {
            switch self {
            case .shared: "shared"
            case .configured, .http1: "configured"
            case .netHTTP1: "http1"
            case .http2, .netHTTP2: "http2"
            }
        }

        fileprivate var isInGo: Bool { self == .netHTTP1 || self == .netHTTP2 }
    }

    /// The executable of AsyncHTTPClient, nil if it was not built.
    let peer: String?
    /// That of net/http, nil without Go.
    let netHTTP: String?

    func requests() throws -> [Contestant] {
        try Own.small.map { try start($0) } + (peer == nil ? [] : Peer.small.map { try start($0) })
    }

    func start(_ own: Own) throws -> Contestant {
        try Contestant(own.rawValue, CommandLine.arguments[0], ["--contender", own.rawValue])
    }

    func start(_ other: Peer) throws -> Contestant {
        try Contestant(other.rawValue, (other.isInGo ? netHTTP : peer) ?? "", [other.argument])
    }

    /// PulseKit and the peers that were built, with each version of HTTP.
    func contestants(isSecure: Bool) throws -> [Contestant] {
        let own = isSecure ? [Own.pulse, .pulseHTTP1] : [.pulse]
        let peers = isSecure ? [Peer.http1, .http2, .netHTTP1, .netHTTP2] : [.http1, .netHTTP1]
        let built = peers.filter { ($0.isInGo ? netHTTP : peer) != nil }
        return try own.map { try start($0) } + (try built.map { try start($0) })
    }
}
