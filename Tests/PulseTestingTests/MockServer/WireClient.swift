// SPDX-License-Identifier: MIT

import Dispatch
import PulseCore

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// A blocking TCP socket on a queue of its own. It knows only the end of an HTTP response, and shares no code with the
/// server under test.
final class WireClient: Sendable {
    struct Response: Sendable, Equatable {
        var head: String
        var body: String

        var status: Int { Int(head.split(separator: " ").dropFirst().first ?? "") ?? 0 }

        func header(_ name: String) -> [String] {
            head.components(separatedBy: "\r\n").dropFirst().compactMap { line in
                let parts = line.split(separator: ":", maxSplits: 1)
                guard parts.count == 2, parts[0].lowercased() == name.lowercased() else { return nil }
                return parts[1].trimmingCharacters(in: .whitespaces)
            }
        }
    }

    enum End: Sendable, Equatable {
        case finished, reset
    }

    struct Failure: Error {
        let text: String
    }

    private let socket: Int32
    private let queue = DispatchQueue(label: "WireClient")
    private let leftover = Locked(Data())
    private let isClosed = Locked(false)

    private init(socket: Int32) {
        self.socket = socket
    }

    deinit {
        if !isClosed.withLock({ $0 }) { systemClose(socket) }
    }

    /// - Parameter receiveBufferSize: with a small one the server soon notices that this side does not read.
    static func connect(to port: Int, ipv6: Bool = false, receiveBufferSize: Int32? = nil) throws -> WireClient {
        let number = systemSocket(ipv6 ? AF_INET6 : AF_INET)
        guard number >= 0 else { throw Failure(text: "socket: \(errno)") }
        let client = WireClient(socket: number)
        if var size = receiveBufferSize {
            setsockopt(number, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
        }
        // A test that waits for missing bytes fails instead of blocking a thread forever.
        var timeout = timeval(tv_sec: 900, tv_usec: 0)
        setsockopt(number, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
        setsockopt(number, SOL_SOCKET, SO_SNDTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
        let result: Int32
        if ipv6 {
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_port = UInt16(port).bigEndian
            address.sin6_addr = in6addr_loopback
            result = connectTo(&address, number)
        } else {
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = UInt16(port).bigEndian
            address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            result = connectTo(&address, number)
        }
        guard result == 0 else { throw Failure(text: "connect: \(errno)") }
        return client
    }

    func send(_ text: String) async throws {
        try await send(Data(text.utf8))
    }

    func send(_ bytes: Data) async throws {
        try await onQueue {
            let socket = try self.openSocket
            var rest = bytes
            while !rest.isEmpty {
                let count = rest.withUnsafeBytes { systemSend(socket, $0) }
                guard count > 0 else { throw Failure(text: "send: \(errno)") }
                rest = rest.dropFirst(count)
            }
        }
    }

    /// Exactly that many bytes, fewer if the connection ends before.
    func receive(_ count: Int) async throws -> Data {
        try await onQueue { try self.read { $0.count >= count ? count : nil }.0 }
    }

    /// All bytes up to the end of the connection, and the kind of its end.
    func receiveToEnd() async throws -> (text: String, end: End) {
        try await onQueue {
            let (bytes, end) = try self.read { _ in nil }
            return (String(decoding: bytes, as: UTF8.self), end ?? .finished)
        }
    }

    /// One response with a `Content-Length`, or without any body.
    func receiveResponse(hasBody: Bool = true) async throws -> Response {
        try await onQueue {
            let (head, _) = try self.read { bytes in
                bytes.range(of: Data("\r\n\r\n".utf8)).map { $0.upperBound - bytes.startIndex }
            }
            var response = Response(head: String(decoding: head, as: UTF8.self), body: "")
            guard response.head.hasSuffix("\r\n\r\n") else {
                throw Failure(text: "no head, but \(response.head.debugDescription)")
            }
            let length = hasBody ? Int(response.header("Content-Length").first ?? "0") ?? 0 : 0
            response.body = String(decoding: try self.read { $0.count >= length ? length : nil }.0, as: UTF8.self)
            return response
        }
    }

    func exchange(_ request: String) async throws -> Response {
        try await send(request)
        return try await receiveResponse(hasBody: !request.hasPrefix("HEAD"))
    }

    func endSending() {
        if let socket = try? openSocket { systemEndSending(socket) }
    }

    /// The number, which belongs to another socket of this process once this one is closed.
    private var openSocket: Int32 {
        get throws {
            guard !isClosed.withLock({ $0 }) else { throw Failure(text: "this side has closed") }
            return socket
        }
    }

    /// Closes, with RST if `resetting`.
    func close(resetting: Bool = false) {
        guard
            isClosed.withLock({ isClosed in
                defer { isClosed = true }
                return !isClosed
            })
        else { return }
        if resetting {
            var value = linger(l_onoff: 1, l_linger: 0)
            setsockopt(socket, SOL_SOCKET, SO_LINGER, &value, socklen_t(MemoryLayout<linger>.size))
        }
        systemClose(socket)
    }

    /// Reads until `isEnough` returns the number of bytes to take, or the connection ends.
    private func read(until isEnough: (Data) -> Int?) throws -> (Data, End?) {
        let socket = try openSocket
        var bytes = leftover.withLock { $0 }
        var end: End?
        var count = isEnough(bytes)
        while count == nil, end == nil {
            var buffer = Data(count: 16 << 10)
            let received = buffer.withUnsafeMutableBytes { recv(socket, $0.baseAddress, $0.count, 0) }
            switch received {
            case 1...: bytes.append(buffer.prefix(received))
            case 0: end = .finished
            default:
                guard errno == ECONNRESET else { throw Failure(text: "recv: \(errno), after \(bytes.count) bytes") }
                end = .reset
            }
            count = isEnough(bytes)
        }
        let taken = count ?? bytes.count
        leftover.withLock { $0 = Data(bytes.dropFirst(taken)) }
        return (Data(bytes.prefix(taken)), end)
    }

    private func onQueue<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            queue.async { continuation.resume(with: Result { try body() }) }
        }
    }
}

private func connectTo<Address>(_ address: inout Address, _ number: Int32) -> Int32 {
    withUnsafeMutableBytes(of: &address) { bytes in
        guard let base = bytes.baseAddress else { return -1 }
        return connect(number, base.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
    }
}

private func systemSocket(_ family: Int32) -> Int32 {
    #if canImport(Glibc)
    socket(family, Int32(SOCK_STREAM.rawValue), 0)
    #else
    socket(family, SOCK_STREAM, 0)
    #endif
}

private func systemSend(_ number: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
    #if canImport(Darwin)
    send(number, bytes.baseAddress, bytes.count, 0)
    #else
    send(number, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
    #endif
}

private func systemEndSending(_ number: Int32) {
    shutdown(number, Int32(SHUT_WR))
}

private func systemClose(_ number: Int32) {
    close(number)
}
