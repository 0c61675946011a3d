// SPDX-License-Identifier: MIT

import Foundation

/// The contenders, and how each is started.
struct Lineup {
    /// The contenders in this executable.
    enum Own: String, CaseIterable {
        case pulse = "PulseKit"
        case pulseURLSession = "PulseKit, URLSessionTransport"
        case urlSession = "URLSession"
        case transportAlone = "The transport alone, not decoded"
        /// As ``pulse``, with two more readings of a clock.
        case layer = "PulseKit, own layer noted"
    }

    /// AsyncHTTPClient with its defaults, and with as many connections as requests in flight.
    enum Peer: String, CaseIterable {
        case shared = "AsyncHTTPClient, shared"
        case configured = "AsyncHTTPClient, 256 connections"

        fileprivate var argument: String { self == .shared ? "shared" : "configured" }
    }

    /// The executable of the peers, nil if it was not built.
    let peer: String?

    func requests() throws -> [Contestant] {
        try Own.allCases.map { try start($0) } + (peer == nil ? [] : Peer.allCases.map { try start($0) })
    }

    func start(_ own: Own) throws -> Contestant {
        try Contestant(own.rawValue, CommandLine.arguments[0], ["--contender", own.rawValue])
    }

    func start(_ other: Peer) throws -> Contestant {
        try Contestant(other.rawValue, peer ?? "", [other.argument])
    }
}
