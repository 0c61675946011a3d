// SPDX-License-Identifier: MIT

import PulseCore
import PulsePlatform

/// The negotiated parameters of permessage-deflate (RFC 7692, section 7.1).
package struct DeflateParameters: Sendable, Hashable {
    /// Whether a side compresses each message without the context of its previous ones.
    package var serverNoContextTakeover = false
    package var clientNoContextTakeover = false
    /// The base-two logarithm of a side's compression window, 8 to 15; nil without a limit below 15.
    package var serverMaxWindowBits: Int?
    package var clientMaxWindowBits: Int?

    package init() {}

    /// Whether that side uses context takeover.
    func keepsContext(of sender: FrameReader.Sender) -> Bool {
        !(sender == .client ? clientNoContextTakeover : serverNoContextTakeover)
    }

    func windowBits(of sender: FrameReader.Sender) -> Int {
        (sender == .client ? clientMaxWindowBits : serverMaxWindowBits) ?? Self.windowBits.upperBound
    }

    // MARK: Client

    /// The `Sec-WebSocket-Extensions` of a client; nil if the system cannot compress messages.
    ///
    /// It leaves both windows and both contexts to the server.
    package static let offer: String? =
        SystemDeflate.isAvailable ? "\(name); \(Name.clientMaxWindowBits.rawValue)" : nil

    /// The part of the ``offer`` that a server's `Sec-WebSocket-Extensions` accepts; nil if it accepts nothing.
    ///
    /// - Parameter field: the values of all lines, joined by commas; nil if there is none.
    /// - Parameter isOffered: whether the client has made the offer.
    package static func accepted(
        by field: String?, isOffered: Bool
    ) throws(SocketExtension.Failure) -> DeflateParameters? {
        guard let field else { return nil }
        let accepted = try SocketExtension.list(field)
        guard let first = accepted.first, isOffered, first.name == name else {
            throw SocketExtension.Failure(reason: "an extension that was not offered")
        }
        guard accepted.count == 1 else { throw SocketExtension.Failure(reason: "more than one extension") }
        return try DeflateParameters(first, isOffer: false)
    }

    // MARK: Server

    /// The parameters that a server chooses from a client's offers: those of the first valid offer, with the lower
    /// limits of both sides; nil if none is valid. Throws if the field is malformed: then the handshake must fail, not
    /// just the offer.
    ///
    /// - Parameter preferred: the server's own limits. The limit of the client's window applies only if the client
    ///   offers it.
    package static func chosen(
        from field: String?, preferring preferred: DeflateParameters = DeflateParameters()
    ) throws(SocketExtension.Failure) -> DeflateParameters? {
        guard let field else { return nil }
        for offer in try SocketExtension.list(field) where offer.name == name && SystemDeflate.isAvailable {
            // An invalid offer is declined, and the next one is a fallback (section 5.1).
            guard let offered = try? DeflateParameters(offer, isOffer: true) else { continue }
            let isClientLimitable = offer.parameters.contains { $0.name == Name.clientMaxWindowBits.rawValue }
            var chosen = offered
            chosen.serverNoContextTakeover = offered.serverNoContextTakeover || preferred.serverNoContextTakeover
            chosen.clientNoContextTakeover = offered.clientNoContextTakeover || preferred.clientNoContextTakeover
            chosen.serverMaxWindowBits = lower(offered.serverMaxWindowBits, preferred.serverMaxWindowBits)
            chosen.clientMaxWindowBits =
                isClientLimitable ? lower(offered.clientMaxWindowBits, preferred.clientMaxWindowBits) : nil
            return chosen
        }
        return nil
    }

    /// The `Sec-WebSocket-Extensions` of a server that has chosen these parameters.
    package var response: String {
        var response = Self.name
        if serverNoContextTakeover { response += "; \(Name.serverNoContextTakeover.rawValue)" }
        if clientNoContextTakeover { response += "; \(Name.clientNoContextTakeover.rawValue)" }
        if let bits = serverMaxWindowBits { response += "; \(Name.serverMaxWindowBits.rawValue)=\(bits)" }
        if let bits = clientMaxWindowBits { response += "; \(Name.clientMaxWindowBits.rawValue)=\(bits)" }
        return response
    }

    private static func lower(_ one: Int?, _ other: Int?) -> Int? {
        [one, other].compactMap { $0 }.min()
    }

    // MARK: Parameters

    private static let name = "permessage-deflate"
    private static let windowBits = 8...15

    private enum Name: String {
        case serverNoContextTakeover = "server_no_context_takeover"
        case clientNoContextTakeover = "client_no_context_takeover"
        case serverMaxWindowBits = "server_max_window_bits"
        case clientMaxWindowBits = "client_max_window_bits"
    }

    /// Parses an offer, or a response, where each window needs a value.
    private init(_ element: SocketExtension, isOffer: Bool) throws(SocketExtension.Failure) {
        var found: Set<String> = []
        for (text, value) in element.parameters {
            guard found.insert(text).inserted else { throw SocketExtension.Failure(reason: "\(text) twice") }
            switch (Name(rawValue: text), value) {
            case (.serverNoContextTakeover, nil): serverNoContextTakeover = true
            case (.clientNoContextTakeover, nil): clientNoContextTakeover = true
            case (.serverMaxWindowBits, let value?): serverMaxWindowBits = try Self.windowBits(value, of: text)
            case (.clientMaxWindowBits, let value?): clientMaxWindowBits = try Self.windowBits(value, of: text)
            case (.clientMaxWindowBits, nil) where isOffer: break
            case (nil, _): throw SocketExtension.Failure(reason: "the unknown parameter \(text)")
            case (.some, nil): throw SocketExtension.Failure(reason: "\(text) without a value")
            case (.some, .some): throw SocketExtension.Failure(reason: "\(text) with a value")
            }
        }
    }

    /// A decimal number without leading zeros (section 7.1.2).
    private static func windowBits(_ value: String, of parameter: String) throws(SocketExtension.Failure) -> Int {
        guard let bits = windowBits.first(where: { String($0) == value }) else {
            throw SocketExtension.Failure(reason: "\(parameter) beyond 8 to 15")
        }
        return bits
    }
}
