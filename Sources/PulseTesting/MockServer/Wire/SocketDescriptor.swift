// SPDX-License-Identifier: MIT

import PulseCore

#if os(Linux)
import CPulsePlatform
#endif

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// A non-blocking TCP socket, by its file descriptor. It owns nothing: its opener calls ``dispose()`` once.
struct SocketDescriptor: Sendable, Hashable {
    let number: Int32

    enum Input {
        case bytes(Data)
        case end
        case wouldBlock
        case failed(SocketFailure)
    }

    enum Output {
        case wrote(Int)
        case wouldBlock
        case failed(SocketFailure)
    }

    /// A listening socket on a free port of the loopback interface, and that port.
    static func listening(
        on host: MockServer.Configuration.Host, backlog: Int
    ) throws -> (descriptor: SocketDescriptor, port: Int) {
        let descriptor = try stream(host == .ipv4 ? AF_INET : AF_INET6)
        do {
            try descriptor.bindToLoopback(host)
            guard listen(descriptor.number, Int32(clamping: backlog)) == 0 else {
                throw SocketFailure(operation: "listen")
            }
            return (descriptor, try descriptor.localPort())
        } catch {
            descriptor.dispose()
            throw error
        }
    }

    /// A new socket, bound to nothing, which child processes do not inherit.
    static func stream(_ family: Int32) throws -> SocketDescriptor {
        let number = socket(family, streamType, 0)
        guard number >= 0 else { throw SocketFailure(operation: "socket") }
        return try SocketDescriptor(number: number).prepared()
    }

    /// A socket that has started to connect.
    static func connecting(toLoopbackPort port: Int) throws -> SocketDescriptor {
        let descriptor = try stream(AF_INET)
        descriptor.set(Int32(IPPROTO_TCP), TCP_NODELAY, to: 1)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        _ = withAddress(&address) { connect(descriptor.number, $0, $1) }
        return descriptor
    }

    /// A connection from the backlog, or nil if there is none.
    func acceptConnection() throws -> SocketDescriptor? {
        while true {
            let number = Self.accepted(by: self.number)
            if number >= 0 {
                let descriptor = try SocketDescriptor(number: number).prepared()
                descriptor.set(Int32(IPPROTO_TCP), TCP_NODELAY, to: 1)
                return descriptor
            }
            switch errno {
            case EAGAIN, EWOULDBLOCK: return nil
            // The client has already disconnected, or a signal arrived: later connections are not affected.
            case EINTR, ECONNABORTED: continue
            default: throw SocketFailure(operation: "accept")
            }
        }
    }

    func readBytes(upTo limit: Int) -> Input {
        guard limit > 0 else { return .wouldBlock }
        var buffer = Data(count: limit)
        while true {
            let count = buffer.withUnsafeMutableBytes { recv(number, $0.baseAddress, $0.count, 0) }
            if count > 0 { return .bytes(buffer.prefix(count)) }
            if count == 0 { return .end }
            switch errno {
            case EINTR: continue
            case EAGAIN, EWOULDBLOCK: return .wouldBlock
            default: return .failed(SocketFailure(operation: "recv"))
            }
        }
    }

    func writeBytes(_ bytes: Data) -> Output {
        while true {
            let count = bytes.withUnsafeBytes { send(number, $0.baseAddress, $0.count, Self.sendFlags) }
            if count >= 0 { return .wrote(count) }
            switch errno {
            case EINTR: continue
            case EAGAIN, EWOULDBLOCK: return .wouldBlock
            default: return .failed(SocketFailure(operation: "send"))
            }
        }
    }

    /// Sends FIN; what the peer still sends can be read.
    func endSending() {
        _ = shutdown(number, Int32(SHUT_WR))
    }

    /// Sends RST and drops unsent data: on Linux at once, elsewhere with the next ``dispose()``.
    func reset() {
        var value = linger(l_onoff: 1, l_linger: 0)
        _ = setsockopt(number, SOL_SOCKET, SO_LINGER, &value, socklen_t(MemoryLayout<linger>.size))
        #if !canImport(Darwin)
        // Dissolves the association (connect(2)). The descriptor is closed only when its sources have ended, which may
        // take long in a busy process.
        var address = sockaddr()
        address.sa_family = sa_family_t(AF_UNSPEC)
        _ = connect(number, &address, socklen_t(MemoryLayout<sockaddr>.size))
        #endif
    }

    /// Whether sent bytes are on their way to the peer, so that a reset may still overtake them. Bytes that the peer
    /// does not accept do not count. Always false on Darwin, which does not report it.
    var isDelivering: Bool {
        #if canImport(Darwin)
        false
        #else
        // Sends what the system holds back to join it with later bytes.
        set(Int32(IPPROTO_TCP), TCP_NODELAY, to: 1)
        // The start of tcp_info (linux/tcp.h): tcpi_state, tcpi_retransmits, and tcpi_unacked in the last four bytes.
        var info = [UInt8](repeating: 0, count: 28)
        var length = socklen_t(info.count)
        guard getsockopt(number, Int32(IPPROTO_TCP), TCP_INFO, &info, &length) == 0 else { return false }
        let isClosed = info[0] == 7  // TCP_CLOSE
        let isRefused = info[2] > 0
        return !isClosed && !isRefused && info[24...].contains { $0 != 0 }
        #endif
    }

    func setBufferSizes(receive: Int?, send: Int?) {
        if let receive { set(SOL_SOCKET, SO_RCVBUF, to: Int32(clamping: receive)) }
        if let send { set(SOL_SOCKET, SO_SNDBUF, to: Int32(clamping: send)) }
    }

    func dispose() {
        _ = close(number)
    }

    /// The same socket under another number, which must be disposed separately.
    func duplicate() throws -> SocketDescriptor {
        let number = fcntl(self.number, F_DUPFD_CLOEXEC, 0)
        guard number >= 0 else { throw SocketFailure(operation: "fcntl") }
        return SocketDescriptor(number: number)
    }

    private static func accepted(by listener: Int32) -> Int32 {
        #if os(Linux)
        pulse_socket_accept(listener)
        #else
        accept(listener, nil, nil)
        #endif
    }

    /// The socket, ready for use; closed if that fails. On Linux it closes on exec from its first moment, elsewhere
    /// from here on.
    private func prepared() throws -> SocketDescriptor {
        let flags = fcntl(number, F_GETFL, 0)
        guard flags >= 0, fcntl(number, F_SETFL, flags | O_NONBLOCK) == 0,
            fcntl(number, F_SETFD, FD_CLOEXEC) == 0
        else {
            let failure = SocketFailure(operation: "fcntl")
            dispose()
            throw failure
        }
        #if canImport(Darwin)
        set(SOL_SOCKET, SO_NOSIGPIPE, to: 1)
        #endif
        return self
    }

    private func set(_ level: Int32, _ option: Int32, to value: Int32) {
        var value = value
        _ = setsockopt(number, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
    }

    private func bindToLoopback(_ host: MockServer.Configuration.Host) throws {
        let result: Int32
        switch host {
        case .ipv4:
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            result = Self.withAddress(&address) { bind(number, $0, $1) }
        case .ipv6:
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_addr = in6addr_loopback
            result = Self.withAddress(&address) { bind(number, $0, $1) }
        }
        guard result == 0 else { throw SocketFailure(operation: "bind") }
    }

    private func localPort() throws -> Int {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let result = Self.withAddress(&storage) { address, _ in getsockname(number, address, &length) }
        guard result == 0 else { throw SocketFailure(operation: "getsockname") }
        // The port is at the same offset in both families' addresses.
        return withUnsafeBytes(of: &storage) { bytes in Int(bytes[2]) << 8 | Int(bytes[3]) }
    }

    private static func withAddress<Address>(
        _ address: inout Address, _ body: (UnsafeMutablePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        withUnsafeMutableBytes(of: &address) { bytes in
            guard let base = bytes.baseAddress else { return -1 }
            return body(base.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
        }
    }

    #if canImport(Glibc)
    private static let streamType = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
    #elseif canImport(Musl)
    private static let streamType = SOCK_STREAM | SOCK_CLOEXEC
    #else
    private static let streamType = SOCK_STREAM
    #endif

    #if canImport(Darwin)
    private static let sendFlags: Int32 = 0
    #else
    // A closed connection is an error of this call, not a signal to the process.
    private static let sendFlags = Int32(MSG_NOSIGNAL)
    #endif
}

/// A failed system call of a socket, with its `errno`.
struct SocketFailure: Error, Sendable, CustomStringConvertible {
    let operation: String
    let code: Int32

    init(operation: String, code: Int32 = errno) {
        self.operation = operation
        self.code = code
    }

    var description: String { "\(operation): \(String(cString: strerror(code)))" }

    /// Whether no descriptor is free: accepting works again after one is closed.
    var isExhaustion: Bool { code == EMFILE || code == ENFILE || code == ENOBUFS || code == ENOMEM }
}
