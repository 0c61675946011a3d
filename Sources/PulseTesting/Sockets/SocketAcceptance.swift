// SPDX-License-Identifier: MIT

import PulseCore
import PulsePlatform
import PulseSockets

/// The server's part of a WebSocket handshake (RFC 6455, section 4.2).
struct SocketAcceptance: Sendable {
    /// The response that rejects a request that is not a valid handshake.
    struct Refusal: Error {
        let response: MockServer.Response
    }

    /// The header fields of the 101.
    let headers: HTTPHeaders
    let subprotocol: String?
    /// The negotiated parameters of permessage-deflate (RFC 7692); nil for no compression.
    let deflate: DeflateParameters?

    /// Throws ``Refusal``, or ``PulseError/unsupported(_:)`` without the system's SHA-1.
    ///
    /// - Parameters:
    ///   - subprotocols: the server's, in any order: the client's first choice among them wins.
    ///   - limits: the server's parameters for compression; nil for a server that does not compress.
    init(of request: RecordedRequest, subprotocols: [String], compressing limits: DeflateParameters?) throws {
        let headers = request.headers
        // A server ignores an upgrade in HTTP/1.0 (RFC 9110, section 7.8).
        guard headers.list("Upgrade").contains("websocket"), !request.isVersion10 else {
            throw Self.upgradeRequired("this resource is a WebSocket")
        }
        guard headers.members("Sec-WebSocket-Version") == ["13"] else {
            throw Self.upgradeRequired("the version is not 13")
        }
        guard request.method == .get else { throw Self.badRequest("the method is not GET") }
        guard headers.list("Connection").contains("upgrade") else {
            throw Self.badRequest("Connection has no upgrade")
        }
        let keys = headers.values(for: "Sec-WebSocket-Key")
        guard keys.count == 1, let key = keys.first, key.utf8.count == 24, Data(base64Encoded: key)?.count == 16 else {
            throw Self.badRequest("Sec-WebSocket-Key is not 16 bytes in base64")
        }
        let offered = headers.members("Sec-WebSocket-Protocol")
        guard offered.allSatisfy(\.isHTTPToken), Set(offered).count == offered.count else {
            throw Self.badRequest("Sec-WebSocket-Protocol is not a list of different tokens")
        }
        guard let accept = SocketHandshake.accept(for: key) else {
            throw PulseError.unsupported("WebSockets need the system's SHA-1")
        }
        subprotocol = offered.first { subprotocols.contains($0) }
        deflate = try limits.flatMap { try Self.deflate(of: headers, within: $0) }
        var accepting: HTTPHeaders = ["Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Accept": accept]
        if let subprotocol { accepting["Sec-WebSocket-Protocol"] = subprotocol }
        if let deflate { accepting["Sec-WebSocket-Extensions"] = deflate.response }
        self.headers = accepting
    }

    private static func deflate(
        of headers: HTTPHeaders, within limits: DeflateParameters
    ) throws -> DeflateParameters? {
        let lines = headers.values(for: "Sec-WebSocket-Extensions")
        guard !lines.isEmpty else { return nil }
        do {
            return try DeflateParameters.chosen(from: lines.joined(separator: ", "), preferring: limits)
        } catch {
            throw badRequest("Sec-WebSocket-Extensions: \(error.reason)")
        }
    }

    private static func badRequest(_ reason: String) -> Refusal {
        Refusal(response: .text(reason + "\n", status: 400))
    }

    private static func upgradeRequired(_ reason: String) -> Refusal {
        let headers: HTTPHeaders = [
            "Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13",
        ]
        return Refusal(response: .text(reason + "\n", status: 426, headers: headers))
    }
}

extension HTTPHeaders {
    /// The members of a comma-separated field across all its lines, case preserved, without empty ones.
    fileprivate func members(_ name: String) -> [String] {
        values(for: name).flatMap { $0.split(separator: ",") }
            .map { $0.trimmingCharacters(in: CharacterSet(charactersIn: " \t")) }.filter { !$0.isEmpty }
    }
}
