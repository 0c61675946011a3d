// SPDX-License-Identifier: MIT

import PulseCore

/// Writes DER (ITU-T X.690), for certificates that openssl does not make.
enum DER {
    static func element(_ tag: UInt8, _ contents: Data...) -> Data {
        let content = contents.reduce(Data(), +)
        return Data([tag]) + length(content.count) + content
    }

    static func sequence(_ contents: Data...) -> Data {
        element(0x30, contents.reduce(Data(), +))
    }

    static func length(_ count: Int) -> Data {
        guard count > 0x7F else { return Data([UInt8(count)]) }
        var bytes = Data()
        var rest = count
        while rest > 0 {
            bytes.insert(UInt8(rest & 0xFF), at: 0)
            rest >>= 8
        }
        return Data([0x80 | UInt8(bytes.count)]) + bytes
    }

    static let null = Data([0x05, 0x00])
    static let publicKeyInfo = sequence(sequence(null), element(0x03, Data([0, 1, 2, 3])))

    /// A certificate of version 1 to which a test adds what it is about.
    static func certificate(
        version: Data = Data(), key: Data = publicKeyInfo, rest: Data = Data(), outer: Data = Data(),
        signature: Data = element(0x03, Data([0, 9]))
    ) -> Data {
        let names = sequence(null)
        let fields = sequence(
            version, element(0x02, Data([1])), sequence(null), names, sequence(null), names, key, rest)
        return sequence(fields, sequence(null), signature, outer)
    }
}
