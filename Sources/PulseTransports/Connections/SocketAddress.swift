// SPDX-License-Identifier: MIT

#if os(Linux)
import CPulsePlatform
import PulseCore

/// The address and port that a socket connects to.
struct SocketAddress: Sendable {
    private var raw: pulse_address

    /// A resolved address, without a port.
    init(_ raw: pulse_address) {
        self.raw = raw
    }

    /// An IP address literal, possibly with a zone; nil for a name.
    init?(_ text: String, port: UInt16 = 0) {
        raw = pulse_address()
        guard pulse_address_parse(text, &raw) else { return nil }
        pulse_address_set_port(&raw, port)
    }

    /// A unix-domain socket; nil if the path is empty or too long.
    init?(path: String) {
        raw = pulse_address()
        guard pulse_address_of_path(path, &raw) else { return nil }
    }

    func with(port: UInt16) -> SocketAddress {
        var copy = self
        pulse_address_set_port(&copy.raw, port)
        return copy
    }

    /// `AF_INET`, `AF_INET6` or `AF_UNIX`.
    var family: Int32 {
        var raw = raw
        return pulse_address_family(&raw)
    }

    /// The address literal, without zone and port; nil for a unix-domain socket.
    var text: String? {
        var raw = raw
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(PULSE_ADDRESS_TEXT_SIZE)) { text in
            guard let start = text.baseAddress, pulse_address_text(&raw, start) else { return nil }
            return String(cString: start)
        }
    }

    /// Opens a socket and starts connecting it. Throws ``ConnectionFailure``.
    func startConnecting() throws -> Int32 {
        var raw = raw
        var descriptor: Int32 = -1
        let number = pulse_socket_connect(&raw, &descriptor)
        guard number == 0 else { throw ConnectionFailure(number: number) }
        return descriptor
    }

    /// Interleaves the address families, starting with that of the first address (RFC 8305, section 4).
    static func interleaved(_ addresses: [SocketAddress]) -> [SocketAddress] {
        guard let first = addresses.first?.family else { return [] }
        var queues = [addresses.filter { $0.family == first }, addresses.filter { $0.family != first }].map { $0[...] }
        var result: [SocketAddress] = []
        while result.count < addresses.count {
            for index in queues.indices {
                if let next = queues[index].popFirst() { result.append(next) }
            }
        }
        return result
    }
}
#endif
