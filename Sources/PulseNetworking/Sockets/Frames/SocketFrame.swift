// SPDX-License-Identifier: MIT

import PulseCore

/// The kinds of frames (RFC 6455, section 5.2).
package enum SocketOpcode: UInt8, Sendable {
    case continuation = 0x0
    case text = 0x1
    case binary = 0x2
    case close = 0x8
    case ping = 0x9
    case pong = 0xA

    var isControl: Bool { rawValue & 0x8 != 0 }
}

extension SocketMessage {
    var opcode: SocketOpcode {
        switch self {
        case .text: .text
        case .binary: .binary
        }
    }
}

/// Why a side fails a connection, with its close code (section 7.4.1).
package struct SocketFault: Error, Sendable, Hashable {
    package let code: Int
    package let reason: String

    package init(code: Int, reason: String) {
        (self.code, self.reason) = (code, reason)
    }

    package static func protocolError(_ reason: String) -> SocketFault { SocketFault(code: 1002, reason: reason) }
    /// Text that is not UTF-8, or data that is not encoded as its frame says.
    package static func invalidData(_ reason: String) -> SocketFault { SocketFault(code: 1007, reason: reason) }
    package static func tooLarge(_ limit: Int) -> SocketFault {
        SocketFault(code: 1009, reason: "a message of more than \(limit) bytes")
    }
    package static func internalError(_ reason: String) -> SocketFault { SocketFault(code: 1011, reason: reason) }
}

/// The body of a close frame (section 5.5.1).
package struct SocketClose: Sendable, Hashable {
    /// The maximum length of a reason in bytes.
    private static let maxReasonLength = 123

    /// 1005 for a frame without a code.
    package let code: Int
    package let reason: String

    package init(code: Int, reason: String = "") {
        (self.code, self.reason) = (code, reason)
    }

    /// Reads the payload of a frame.
    init(payload: Data) throws(SocketFault) {
        guard !payload.isEmpty else {
            self.init(code: 1005)
            return
        }
        guard payload.count >= 2 else { throw .protocolError("a close frame of one byte") }
        let code = Int(payload[payload.startIndex]) << 8 | Int(payload[payload.startIndex + 1])
        guard Self.isSendable(code) else { throw .protocolError("the close code \(code)") }
        let text = payload.dropFirst(2)
        var validator = UTF8Validator()
        guard validator.accepts(text), validator.isComplete else {
            throw .invalidData("a close reason that is no UTF-8")
        }
        self.init(code: code, reason: String(decoding: text, as: UTF8.self))
    }

    /// The payload of a frame; nil for a code that must not be sent, or a reason that is too long.
    package var payload: Data? {
        if code == 1005, reason.isEmpty { return Data() }
        guard Self.isSendable(code), reason.utf8.count <= Self.maxReasonLength else { return nil }
        return Data([UInt8(code >> 8), UInt8(code & 0xFF)]) + Data(reason.utf8)
    }

    /// Whether a frame may have the code: those of the protocol, of IANA's registry, and those for libraries and
    /// applications (section 7.4.2). 1004 to 1006 and 1015 are reserved, and never sent.
    package static func isSendable(_ code: Int) -> Bool {
        switch code {
        case 1000...1003, 1007...1014, 3000...4999: true
        default: false
        }
    }
}
