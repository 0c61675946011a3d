// SPDX-License-Identifier: MIT

import PulseCore
import PulsePlatform
import TestSupport
import Testing

@Suite(.throttled)
struct HashLibraryTests {
    private let library: any HashLibrary

    init() throws {
        library = try #require(SystemHashes.library)
    }

    @Test(arguments: HashVectors.rfc4231)
    @HeavyWork func computesTheCodesOfRFC4231(vector: HashVectors.HMAC) throws {
        let key = try #require(library.makeKey(Data(vector.key)))
        for _ in 0..<3 {
            let code = try #require(vector.message.withUnsafeBytes { key.code(for: $0) })
            #expect(code.hex == vector.code)
            #expect(vector.message.withUnsafeBytes { key.isValid(code, for: $0) })
        }
    }

    @Test(arguments: HashVectors.nist)
    @HeavyWork func computesTheHashesOfNIST(vector: HashVectors.Hash) {
        #expect(library.sha256(Data(vector.message))?.hex == vector.hash)
    }

    /// FIPS 180-4, and the example of RFC 6455, section 1.3.
    @Test func computesSHA1() throws {
        #expect(library.sha1("abc")?.hexDigits == "a9993e364706816aba3e25717850c26c9cd0d89d")
        #expect(library.sha1("")?.hexDigits == "da39a3ee5e6b4b0d3255bfef95601890afd80709")
    }

    @Test @HeavyWork func computesWhatPythonDoesForEveryLengthUpTo1024() throws {
        let chain = try #require(library.makeHasher())
        for count in 0...1024 {
            let hash = try #require(library.sha256(Data(HashVectors.bytes(count, seed: count))))
            hash.withUnsafeBytes { chain.update($0) }
        }
        #expect(chain.finalize()?.hex == HashVectors.allLengths)
    }

    @Test @HeavyWork func computesTenThousandCodesAsPythonDoes() throws {
        let chain = try #require(library.makeHasher())
        for index in 0..<10_000 {
            let key = try #require(library.makeKey(Data(HashVectors.bytes(index % 200, seed: index))))
            let message = HashVectors.bytes(index * 7 % 300, seed: index + 1_000_000)
            let code = try #require(message.withUnsafeBytes { key.code(for: $0) })
            code.withUnsafeBytes { chain.update($0) }
        }
        #expect(chain.finalize()?.hex == HashVectors.tenThousandCodes)
    }

    @Test @HeavyWork func hashingInChunksEqualsHashingAtOnce() throws {
        let bytes = HashVectors.bytes(1000, seed: 7)
        let whole = library.sha256(Data(bytes))
        for size in [1, 3, 63, 64, 65, 999, 1000] {
            let hasher = try #require(library.makeHasher())
            for start in stride(from: 0, to: bytes.count, by: size) {
                bytes[start..<min(start + size, bytes.count)].withUnsafeBytes { hasher.update($0) }
            }
            #expect(hasher.finalize() == whole)
        }
        #expect(library.sha256("") == library.makeHasher()?.finalize())
    }

    @Test @HeavyWork func aCodeWithAnyBitChangedIsNotValid() throws {
        let key = try #require(library.makeKey(Data("key".utf8)))
        let message = Array("message".utf8)
        let code = try #require(message.withUnsafeBytes { key.code(for: $0) })
        for bit in 0..<256 {
            let changed = SHA256Hash { bytes in
                code.withUnsafeBytes { for index in 0..<32 { bytes[index] = $0[index] } }
                bytes[bit / 8] ^= 1 << UInt8(bit % 8)
                return true
            }
            #expect(try message.withUnsafeBytes { key.isValid(try #require(changed), for: $0) } == false)
        }
    }

    @Test @HeavyWork func hashesAFileInChunks() async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("pulse-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        for count in [0, 1, 256 << 10, (256 << 10) + 1, 1_000_000] {
            let data = Data(HashVectors.bytes(count, seed: count))
            try data.write(to: file)
            #expect(try await library.sha256(of: file) == library.sha256(data))
        }
    }

    @Test @HeavyWork func aFileThatCannotBeReadIsAnError() async {
        let missing = FileManager.default.temporaryDirectory.appendingPathComponent("pulse-\(UUID().uuidString)")
        for file in [missing, FileManager.default.temporaryDirectory] {
            await #expect(throws: (any Error).self) { try await library.sha256(of: file) }
        }
    }

    @Test @HeavyWork func descriptionsOfAKeyContainNoSecret() throws {
        let key = try #require(library.makeKey(Data("hunter2".utf8)))
        var text = ""
        dump(key, to: &text)
        #expect(!(text + String(reflecting: key)).contains("hunter2"))
    }

    @Test @HeavyWork func parsesHexadecimalDigitsInEitherCaseAndNothingElse() throws {
        let hash = try #require(library.sha256("abc"))
        #expect(SHA256Hash(hex: hash.hex) == hash)
        #expect(SHA256Hash(hex: hash.hex.uppercased()) == hash)
        for text in [
            "", "0", hash.hex + "0", hash.hex + "00", String(hash.hex.dropLast()) + "g", " " + hash.hex.dropLast(),
        ] {
            #expect(SHA256Hash(hex: text) == nil)
        }
    }
}
