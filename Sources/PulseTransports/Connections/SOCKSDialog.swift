// SPDX-License-Identifier: MIT

#if os(Linux)
import PulseCore

/// The client's side of SOCKS5 (RFC 1928 and 1929), up to the end of the proxy's reply: a pure value, independent of
/// how the bytes are split.
struct SOCKSDialog {
    enum Failure: Error, Hashable {
        case refused(PulseError.ProxyRefusal.Reason)
        /// The peer does not speak SOCKS5, or a host or credentials do not fit its fields.
        case invalid(String)
    }

    private enum Position {
        case method, verdict, reply, end
    }

    private static let version: UInt8 = 5

    private let request: [UInt8]
    private let credentials: [UInt8]?
    private var position = Position.method
    private var received: [UInt8] = []

    /// - Parameter host: a name that the proxy resolves, or an address.
    init(to host: String, port: UInt16, _ credentials: ConnectionRoute.Credentials? = nil) throws {
        var request = [Self.version, 1, 0]
        if let address = IPNumbers.bytes(host) {
            request.append(address.count == 4 ? 1 : 4)
            request += address
        } else {
            request.append(3)
            request += try Self.field(host, "host")
        }
        self.request = request + [UInt8(port >> 8), UInt8(port & 0xFF)]
        self.credentials = try credentials.map {
            try [UInt8(1)] + Self.field($0.username, "proxy's user name") + Self.field($0.password, "proxy's password")
        }
    }

    /// The first message: the authentication methods.
    var greeting: [UInt8] { [Self.version] + (credentials == nil ? [1, 0] : [2, 0, 2]) }

    /// Whether the proxy has connected.
    var isComplete: Bool { position == .end }

    /// Consumes received bytes, and returns what to send. Throws ``Failure``.
    mutating func read(_ bytes: Data) throws -> [UInt8] {
        received += bytes
        var outgoing: [UInt8] = []
        while let count = try neededCount, count <= received.count {
            let message = Array(received.prefix(count))
            received.removeFirst(count)
            outgoing += try respond(to: message)
        }
        // In no supported protocol does the server send first.
        guard !isComplete || received.isEmpty else { throw Failure.invalid("the proxy sent bytes behind its reply") }
        return outgoing
    }

    /// The length of the next message, as far as it is known; nil at the end.
    private var neededCount: Int? {
        get throws {
            switch position {
            case .method, .verdict: return 2
            case .reply:
                if received.count >= 2 { try check(received) }
                guard received.count >= 5 else { return 5 }
                switch received[3] {
                case 1: return 10
                case 3: return 7 + Int(received[4])
                case 4: return 22
                default: throw Failure.invalid("the proxy's reply has an unknown kind of address")
                }
            case .end: return nil
            }
        }
    }

    private mutating func respond(to message: [UInt8]) throws -> [UInt8] {
        switch position {
        case .method:
            guard message[0] == Self.version else { throw Failure.invalid("the proxy does not speak SOCKS5") }
            switch (message[1], credentials) {
            case (0, _):
                position = .reply
                return request
            case (2, let credentials?):
                position = .verdict
                return credentials
            default:
                throw Failure.refused(.socksCredentials)
            }
        case .verdict:
            guard message[1] == 0 else { throw Failure.refused(.socksCredentials) }
            position = .reply
            return request
        case .reply, .end:
            position = .end
            return []
        }
    }

    private func check(_ reply: [UInt8]) throws {
        guard reply[0] == Self.version else { throw Failure.invalid("the proxy does not speak SOCKS5") }
        guard reply[1] != 0 else { return }
        throw Failure.refused(reply[1] <= 8 ? .socksReply(Int(reply[1])) : .unknown)
    }

    private static func field(_ text: String, _ name: String) throws -> [UInt8] {
        guard text.utf8.count <= 255 else { throw Failure.invalid("the \(name) is longer than 255 bytes") }
        return [UInt8(text.utf8.count)] + Array(text.utf8)
    }
}

/// IP address literals.
enum IPNumbers {
    /// The 4 or 16 bytes of an address without a zone; nil for any other text.
    static func bytes(_ text: some StringProtocol) -> [UInt8]? {
        let text = String(text)
        var buffer = [UInt8](repeating: 0, count: 16)
        if inet_pton(AF_INET, text, &buffer) == 1 { return Array(buffer[..<4]) }
        return inet_pton(AF_INET6, text, &buffer) == 1 ? buffer : nil
    }
}
#endif
