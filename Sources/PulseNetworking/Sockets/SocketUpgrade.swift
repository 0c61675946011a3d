// SPDX-License-Identifier: MIT

import PulseCore
import PulsePlatform

/// The handshake of a WebSocket (RFC 6455, section 4.1): the fields of the request, and the check of the response.
struct SocketUpgrade: Sendable {
    /// Why a 101 does not complete the handshake.
    struct Fault: Error, CustomStringConvertible {
        let description: String
    }

    private let key: String
    private let subprotocols: [String]
    private let offersCompression: Bool

    /// Header fields of a handshake, except for the key.
    ///
    /// Throws ``PulseError/invalidRequest(reason:)`` unless the subprotocols are distinct tokens.
    static func headers(subprotocols: [String], compresses: Bool) throws -> [String: String] {
        guard Set(subprotocols).count == subprotocols.count, subprotocols.allSatisfy(\.isHTTPToken) else {
            throw PulseError.invalidRequest(reason: "the subprotocols of a socket must be different tokens")
        }
        var headers = ["Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13"]
        if !subprotocols.isEmpty { headers["Sec-WebSocket-Protocol"] = subprotocols.joined(separator: ", ") }
        if compresses, let offer = DeflateParameters.offer { headers[extensions] = offer }
        return headers
    }

    /// The compression accepted by a response that was checked; nil for none.
    static func compression(of response: PulseResponse) -> DeflateParameters? {
        try? DeflateParameters.accepted(by: response.headers[extensions], isOffered: true)
    }

    private static let extensions = "Sec-WebSocket-Extensions"

    /// Adds a new key to the request.
    init(_ request: inout URLRequest, _ randomness: any Randomness) {
        key = SocketHandshake.key(randomness)
        subprotocols = Self.members(request.header("Sec-WebSocket-Protocol"))
        offersCompression = DeflateParameters.offer.map { $0 == request.header(Self.extensions) } ?? false
        request.setValue(key, forHTTPHeaderField: "Sec-WebSocket-Key")
    }

    /// Throws ``TransportFailure`` with `.badServerResponse` for a 101 that does not complete the handshake, and closes
    /// its connection.
    func check(_ response: PulseResponse) throws {
        guard response.statusCode == 101 else { return }
        do {
            try checkFields(response.headers)
        } catch {
            response.discard()
            throw TransportFailure(code: .badServerResponse, phase: .responseStarted, underlying: error)
        }
    }

    private func checkFields(_ headers: HTTPHeaders) throws(Fault) {
        guard headers["Upgrade"]?.equalsIgnoringASCIICase("websocket") == true else {
            throw Fault(description: "the response does not upgrade to websocket")
        }
        guard Self.members(headers["Connection"]).contains(where: { $0.equalsIgnoringASCIICase("upgrade") }) else {
            throw Fault(description: "the response has no Connection: Upgrade")
        }
        guard let accept = SocketHandshake.accept(for: key), headers["Sec-WebSocket-Accept"] == accept else {
            throw Fault(description: "the response has another Sec-WebSocket-Accept")
        }
        if let chosen = headers["Sec-WebSocket-Protocol"], !subprotocols.contains(chosen) {
            throw Fault(description: "the response has a subprotocol that was not offered")
        }
        do throws(SocketExtension.Failure) {
            _ = try DeflateParameters.accepted(by: headers[Self.extensions], isOffered: offersCompression)
        } catch {
            throw Fault(description: "the response has \(error.reason)")
        }
    }

    private static func members(_ field: String?) -> [String] {
        (field ?? "").split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
    }
}
