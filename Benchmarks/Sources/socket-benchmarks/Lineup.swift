// SPDX-License-Identifier: MIT

import Contending
import Foundation

/// The clients, and how each is started.
struct Lineup {
    static let pulse = "PulseKit"
    static let handler = "swift-nio, a channel handler"
    static let channel = "swift-nio, an async channel"
    static let websockets = "Python's websockets"
    /// Nothing but the calls of the system: what the server and the kernel take.
    static let prepared = "prepared bytes in C, without a codec"

    let server: URL

    /// PulseKit first. Clients without an option for them are omitted.
    func start() throws -> [Contestant] {
        var contestants = [try Contestant(Self.pulse, CommandLine.arguments[0], ["--contender"])]
        if let nio = option("--nio") {
            contestants.append(try Contestant(Self.handler, nio, ["handler"]))
            contestants.append(try Contestant(Self.channel, nio, ["channel"]))
        }
        if let python = option("--python"), let script = option("--script") {
            contestants.append(try Contestant(Self.websockets, python, [script]))
        }
        if let echo = option("--echo"), let port = server.port {
            contestants.append(try Contestant(Self.prepared, echo, ["drive", String(port)]))
        }
        return contestants
    }

    private func option(_ name: String) -> String? {
        let arguments = CommandLine.arguments
        guard let index = arguments.firstIndex(of: name), index + 1 < arguments.count else { return nil }
        return arguments[index + 1]
    }
}
