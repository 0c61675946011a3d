// SPDX-License-Identifier: MIT

#if os(Linux)
import CPulsePlatform
import Foundation
import Testing

@testable import PulseTransports

/// Both ends of a connection. The near end belongs to the code under test.
final class SocketPair: Sendable {
    let near: Int32
    private let far: Int32

    init() throws {
        var ends: [Int32] = [0, 0]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
        (near, far) = (ends[0], ends[1])
    }

    deinit {
        close(far)
    }

    /// Whether the near end is open and has sent nothing that was not taken.
    var isOpen: Bool {
        var byte: UInt8 = 0
        return recv(far, &byte, 1, Int32(MSG_DONTWAIT)) < 0 && errno == EAGAIN
    }

    func say(_ bytes: [UInt8]) {
        #expect(send(far, bytes, bytes.count, 0) == bytes.count)
    }

    /// Whether the near end has read all.
    var isTaken: Bool {
        var count: Int32 = 0
        return ioctl(near, UInt(FIONREAD), &count) == 0 && count == 0
    }

    /// Ends the far end's direction.
    func finish() {
        shutdown(far, Int32(SHUT_WR))
    }

    /// Closes the far end; a connection with unread bytes is reset.
    func cut() {
        shutdown(far, Int32(SHUT_RDWR))
        let nothing = open("/dev/null", O_RDWR)
        dup2(nothing, far)
        close(nothing)
    }

    /// Makes the near end send until there is no more room.
    func fill() {
        let bytes = [UInt8](repeating: 0, count: 1 << 16)
        while send(near, bytes, bytes.count, Int32(MSG_DONTWAIT)) > 0 {}
    }

    /// The bytes that the near end has sent since the last call.
    func taken() -> [UInt8] {
        var all: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 20)
        while true {
            let count = recv(far, &buffer, buffer.count, Int32(MSG_DONTWAIT))
            guard count > 0 else { return all }
            all += buffer[..<count]
        }
    }

    /// Whether the near end has ended its direction.
    var isFinished: Bool {
        var byte: UInt8 = 0
        return recv(far, &byte, 1, Int32(MSG_DONTWAIT)) == 0
    }
}

extension SocketConnection.State {
    /// Begins to write, as a connection does.
    mutating func writeNow(_ bytes: Data) throws -> SocketConnection.WriteStep {
        guard let channel = try write(bytes) else { return try continueWriting() }
        return try endFirstSend(bytes.withUnsafeBytes { channel.send($0) }, of: bytes.count, pulse_poller())
    }
}
#endif
