// SPDX-License-Identifier: MIT

#if os(Linux)
import CPulsePlatform
import Foundation
import PulseCore
import Testing

/// A server that accepts each upgrade and then keeps silent. It holds only a descriptor for each connection.
final class UpgradingListener: Sendable {
    let url: URL
    private let listener: Int32
    private let accepted = Locked<[Int32]>([])

    init() throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        self.listener = listener
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                bind(listener, pointer, size) == 0 && listen(listener, 100) == 0
                    && getsockname(listener, pointer, &size) == 0
            }
        }
        try #require(isListening)
        url = try #require(URL(string: "http://127.0.0.1:\(UInt16(bigEndian: address.sin_port))/"))
        Thread.detachNewThread { [accepted] in
            while true {
                let connection = accept(listener, nil, nil)
                guard connection >= 0 else {
                    // Here, so that no other thread gets the number while this one accepts.
                    close(listener)
                    return
                }
                Self.upgrade(connection)
                accepted.withLock { $0.append(connection) }
            }
        }
    }

    func stop() {
        shutdown(listener, Int32(SHUT_RDWR))
        for connection in accepted.withLock({ $0 }) { close(connection) }
    }

    private static func upgrade(_ connection: Int32) {
        var head = [UInt8](repeating: 0, count: 4096)
        var count = 0
        while !head[..<count].suffix(4).elementsEqual("\r\n\r\n".utf8) {
            let more = recv(connection, &head[count], head.count - count, 0)
            guard more > 0 else { return }
            count += more
        }
        let response = Array("HTTP/1.1 101 Switching Protocols\r\n\r\n".utf8)
        send(connection, response, response.count, Int32(MSG_NOSIGNAL))
    }
}
#endif
