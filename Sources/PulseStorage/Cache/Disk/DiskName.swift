// SPDX-License-Identifier: MIT

import PulseCore

/// The file name for a key, which reveals neither the URL, the account nor credentials.
///
/// `PARTITION/UU/URL-BODY-SLOT`: all parts but the slot are truncated SHA-256 digests in hexadecimal. `UU`, the first
/// two digits of the URL's digest, keeps folders small. All responses for a URL can be found without knowing their
/// partitions and request bodies.
struct DiskName: Sendable, Hashable {
    /// The largest number of responses of one key, in slots from 0 without a gap.
    static let slotCount = 8

    let partition: Half
    let url: Half
    /// Zero for a request without a body.
    let body: UInt64

    /// Half a SHA-256.
    struct Half: Sendable, Hashable {
        let high: UInt64
        let low: UInt64

        init(high: UInt64, low: UInt64) {
            self.high = high
            self.low = low
        }

        /// Hashes a text; nil where the system has no hash function.
        init?(of text: String) {
            guard let hex = CacheDigest.hex(text) else { return nil }
            self.init(hex: hex.utf8.prefix(32))
        }

        init?(hex: some Collection<UInt8>) {
            guard hex.count == 32, let high = UInt64(hex: hex.prefix(16)), let low = UInt64(hex: hex.dropFirst(16))
            else {
                return nil
            }
            self.init(high: high, low: low)
        }

        var text: String { high.hex + low.hex }
    }

    init(partition: Half, url: Half, body: UInt64) {
        (self.partition, self.url, self.body) = (partition, url, body)
    }

    init?(_ key: CacheKey) {
        guard let partition = Half(of: key.partition), let url = Half(of: key.url) else { return nil }
        self.partition = partition
        self.url = url
        guard let digest = key.bodyDigest else {
            body = 0
            return
        }
        guard let half = Half(of: digest) else { return nil }
        body = max(1, half.high)
    }

    /// Parses the name of a file, given its partition.
    init?<Name: RandomAccessCollection<UInt8>>(partition: Half, file: Name, slot: inout Int) where Name.Index == Int {
        let dash = UInt8(ascii: "-")
        // By position, for speed: a scan does this for every file.
        guard file.count == 51, file[32] == dash, file[49] == dash, let url = Half(hex: file[..<32]),
            let body = UInt64(hex: file[33..<49]), file[50].isASCIIDigit, Int(file[50]) - 48 < Self.slotCount
        else { return nil }
        slot = Int(file[50]) - 48
        self.partition = partition
        self.url = url
        self.body = body
    }

    /// The key as stored in a file, which does not reveal the account.
    func onDisk(_ key: CacheKey) -> CacheKey {
        CacheKey(partition: partition.text, url: key.url, bodyDigest: key.bodyDigest)
    }

    /// Whether a stored key equals this key, rather than sharing its truncated hash.
    func isName(of stored: CacheKey, _ key: CacheKey) -> Bool {
        stored.url == key.url && stored.bodyDigest == key.bodyDigest && stored.partition == partition.text
    }

    var folder: String { partition.text + "/" + Self.shard(of: url) }

    func file(_ slot: Int) -> String { "\(url.text)-\(body.hex)-\(slot)" }

    static func shard(of url: Half) -> String { String(url.text.prefix(2)) }
}

extension UInt64 {
    init?(hex: some Collection<UInt8>) {
        guard hex.count == 16 else { return nil }
        var value: UInt64 = 0
        for byte in hex {
            // Upper case is not accepted: a file with another spelling would never be found.
            guard let digit = byte.hexDigitValue, byte == byte.asciiLowercased else { return nil }
            value = value << 4 | UInt64(digit)
        }
        self = value
    }

    /// The value in 16 lower-case hexadecimal digits.
    var hex: String {
        String(unsafeUninitializedCapacity: 16) { text in
            for index in 0..<16 {
                let digit = UInt8(truncatingIfNeeded: self >> UInt64(60 - 4 * index)) & 0x0F
                text[index] = digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") - 10 + digit
            }
            return 16
        }
    }
}
