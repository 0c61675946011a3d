// SPDX-License-Identifier: MIT

#if canImport(Glibc)
import Foundation
import Glibc
import PulseCore
import PulsePlatform
import PulseSockets
import Testing

/// A server that accepts each WebSocket and only replies to close frames. It holds a descriptor for each connection, and
/// has one thread, so that a process with many sockets shows what their other side costs.
final class QuietSocketServer: Sendable {
    let url: URL
    private let listener: Int32

    init() throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        self.listener = listener
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                bind(listener, pointer, size) == 0 && listen(listener, 4096) == 0
                    && getsockname(listener, pointer, &size) == 0
            }
        }
        try #require(isListening)
        url = try #require(URL(string: "http://127.0.0.1:\(UInt16(bigEndian: address.sin_port))"))
        Thread.detachNewThread { Self.serve(listener) }
    }

    func stop() {
        shutdown(listener, Int32(SHUT_RDWR))
    }

    private static func serve(_ listener: Int32) {
        var events = [pollfd(fd: listener, events: Int16(POLLIN), revents: 0)]
        var heads: [Int32: Data] = [:]
        defer { for event in events { close(event.fd) } }
        while poll(&events, nfds_t(events.count), -1) >= 0 {
            if events[0].revents != 0 {
                let connection = accept(listener, nil, nil)
                guard connection >= 0 else { return }
                heads[connection] = Data()
                events.append(pollfd(fd: connection, events: Int16(POLLIN), revents: 0))
            }
            for index in events.indices.reversed().dropLast() where events[index].revents != 0 {
                guard !goesOn(events[index].fd, &heads) else { continue }
                close(events[index].fd)
                heads[events[index].fd] = nil
                events.remove(at: index)
            }
        }
    }

    /// Reads, and writes what belongs to it. False at the end of the connection.
    private static func goesOn(_ connection: Int32, _ heads: inout [Int32: Data]) -> Bool {
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = recv(connection, &buffer, buffer.count, 0)
        guard count > 0 else { return false }
        guard let head = heads[connection] else {
            // The frames are short and masked, and come whole.
            var index = 0
            while index + 1 < count, buffer[index] != 0x88 { index += 6 + Int(buffer[index + 1] & 0x7F) }
            guard index < count else { return true }
            let reply: [UInt8] = [0x88, 2, 0x03, 0xE8]
            send(connection, reply, reply.count, Int32(MSG_NOSIGNAL))
            return false
        }
        let whole = head + buffer.prefix(count)
        heads[connection] = whole.suffix(4) == Data("\r\n\r\n".utf8) ? nil : whole
        guard heads[connection] == nil else { return true }
        let lines = String(decoding: whole, as: UTF8.self).components(separatedBy: "\r\n")
        let field = "sec-websocket-key: "
        let key = lines.first { $0.lowercased().hasPrefix(field) }?.dropFirst(field.count)
        guard let accept = key.flatMap({ SocketHandshake.accept(for: String($0)) }) else { return false }
        let response = Array(
            """
            HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r
            Sec-WebSocket-Accept: \(accept)\r\n\r\n
            """.utf8)
        send(connection, response, response.count, Int32(MSG_NOSIGNAL))
        return true
    }
}
#endif
