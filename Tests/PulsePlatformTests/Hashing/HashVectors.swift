// SPDX-License-Identifier: MIT

import PulseCore

/// Published test vectors, and results of other implementations.
enum HashVectors {
    struct HMAC: Sendable, CustomStringConvertible {
        let description: String
        let key: [UInt8]
        let message: [UInt8]
        let code: String
    }

    /// RFC 4231, section 4. The RFC shows only the first 128 bits of the fifth; the rest is from Python's hmac.
    static let rfc4231 = [
        HMAC(
            description: "4.2", key: [UInt8](repeating: 0x0B, count: 20), message: Array("Hi There".utf8),
            code: "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"),
        HMAC(
            description: "4.3", key: Array("Jefe".utf8), message: Array("what do ya want for nothing?".utf8),
            code: "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"),
        HMAC(
            description: "4.4", key: [UInt8](repeating: 0xAA, count: 20), message: [UInt8](repeating: 0xDD, count: 50),
            code: "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"),
        HMAC(
            description: "4.5", key: Array(1...25), message: [UInt8](repeating: 0xCD, count: 50),
            code: "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"),
        HMAC(
            description: "4.6", key: [UInt8](repeating: 0x0C, count: 20), message: Array("Test With Truncation".utf8),
            code: "a3b6167473100ee06e0c796c2955552bfa6f7c0a6a8aef8b93f860aab0cd20c5"),
        HMAC(
            description: "4.7", key: [UInt8](repeating: 0xAA, count: 131),
            message: Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8),
            code: "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"),
        HMAC(
            description: "4.8", key: [UInt8](repeating: 0xAA, count: 131),
            message: Array(
                ("This is a test using a larger than block-size key and a larger than block-size data. The key needs to "
                    + "be hashed before being used by the HMAC algorithm.").utf8),
            code: "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"),
    ]

    struct Hash: Sendable, CustomStringConvertible {
        let description: String
        let message: [UInt8]
        let hash: String
    }

    /// NIST: the examples of FIPS 180, the additional ones of its web page, and short messages of the CAVP.
    static let nist = [
        Hash(
            description: "nothing", message: [],
            hash: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        Hash(
            description: "abc", message: Array("abc".utf8),
            hash: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        Hash(
            description: "448 bits", message: Array("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq".utf8),
            hash: "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"),
        Hash(
            description: "896 bits",
            message: Array(
                ("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmno"
                    + "ijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu").utf8),
            hash: "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"),
        Hash(
            description: "a million a", message: [UInt8](repeating: UInt8(ascii: "a"), count: 1_000_000),
            hash: "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"),
        Hash(
            description: "bd", message: [0xBD],
            hash: "68325720aabd7c82f30f554b313d0570c95accbb7dc4b5aae11204c08ffe732b"),
        Hash(
            description: "c98c8e55", message: [0xC9, 0x8C, 0x8E, 0x55],
            hash: "7abc22c0ae5af26ce93dbb94433a0e0b2e119d014f8e7f65bd56c61ccccd9504"),
        Hash(
            description: "55 zeros", message: [UInt8](repeating: 0, count: 55),
            hash: "02779466cdec163811d078815c633f21901413081449002f24aa3e80f0b88ef7"),
        Hash(
            description: "56 zeros", message: [UInt8](repeating: 0, count: 56),
            hash: "d4817aa5497628e7c77e6b606107042bbba3130888c5f47a375e6179be789fbb"),
        Hash(
            description: "57 zeros", message: [UInt8](repeating: 0, count: 57),
            hash: "65a16cb7861335d5ace3c60718b5052e44660726da4cd13bb745381b235a1785"),
        Hash(
            description: "64 zeros", message: [UInt8](repeating: 0, count: 64),
            hash: "f5a5fd42d16a20302798ef6ed309979b43003d2320d9f0e8ea9831a92759fb4b"),
        Hash(
            description: "1000 zeros", message: [UInt8](repeating: 0, count: 1000),
            hash: "541b3e9daa09b20bf85fa273e5cbd3e80185aa4ec298e765db87742b70138a53"),
        Hash(
            description: "1000 A", message: [UInt8](repeating: 0x41, count: 1000),
            hash: "c2e686823489ced2017f6059b8b239318b6364f6dcd835d0a519105a1eadd6e4"),
        Hash(
            description: "1005 U", message: [UInt8](repeating: 0x55, count: 1005),
            hash: "f4d62ddec0f3dd90ea1380fa16a5ff8dc4c54b21740650f24afc4120903552b0"),
        Hash(
            description: "a million zeros", message: [UInt8](repeating: 0, count: 1_000_000),
            hash: "d29751f2649b32ff572b5e0a9f541ea660a50f94ff0beedfb0b692b924cc8025"),
        Hash(
            description: "d3", message: [0xD3],
            hash: "28969cdfa74a12c82f3bad960b0b000aca2ac329deea5c2328ebc6f2ba9802c1"),
        Hash(
            description: "11af", message: [0x11, 0xAF],
            hash: "5ca7133fa735326081558ac312c620eeca9970d1e70a4b95533d956f072d1f98"),
        Hash(
            description: "b4190e", message: [0xB4, 0x19, 0x0E],
            hash: "dff2e73091f6c05e528896c4c831b9448653dc2ff043528f6769437bc7b975c2"),
        Hash(
            description: "74ba2521", message: [0x74, 0xBA, 0x25, 0x21],
            hash: "b16aa56be3880d18cd41e68384cf1ec8c17680c45a02b1575dc1518923ae8b0e"),
    ]

    /// Bytes of a linear congruential generator, the same as in the Python script that made the two hashes below:
    ///
    ///     def bytes_of(n, s):
    ///         for _ in range(n): s = (s * 6364136223846793005 + 1442695040888963407) % 2**64; yield s >> 56
    static func bytes(_ count: Int, seed: Int) -> [UInt8] {
        var state = UInt64(seed)
        return (0..<count).map { _ in
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return UInt8(state >> 56)
        }
    }

    /// The hash of the concatenated hashes, by Python's hashlib, of `bytes(n, seed: n)` for n from 0 to 1024.
    static let allLengths = "779c6d618229f2f9fab3ca34508726c79e0dcc4096a6ea3ed7807ba207dfbee5"
    /// The hash of the concatenated codes, by Python's hmac, with the key `bytes(i % 200, seed: i)` of `bytes(i * 7 %
    /// 300, seed: i + 1000000)` for i from 0 to 9999.
    static let tenThousandCodes = "1dae337589099186675b487fb09839fcf3609301624634eeee45e5e0711ea59f"
}
