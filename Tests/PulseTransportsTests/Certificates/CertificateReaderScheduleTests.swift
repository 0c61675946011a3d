// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting
import PulseTransports
import TestSupport
import Testing

/// Certificates with random errors; `PULSE_STEPS` sets their number.
@Suite(.tags(.schedule, .addresses), .throttled)
struct CertificateReaderScheduleTests {
    private static let steps = ProcessInfo.processInfo.environment["PULSE_STEPS"].flatMap(Int.init) ?? 10_000

    /// No input traps, and a result is a part of the certificate that a key can be.
    @Test(arguments: [1, 2] as [UInt64])
    @HeavyWork func damagedCertificatesAreErrorsOrHaveAKey(seed: UInt64) {
        let chance = SeededRandomness(seed: seed)
        func below(_ limit: Int) -> Int { Int(chance.next() % UInt64(limit)) }
        var (keys, reasons) = (0, Set<CertificateError.Reason>())
        for step in 0..<Self.steps {
            var bytes = CertificateFixture.all[below(CertificateFixture.all.count)].der
            // Most of the structure is at the beginning, and so are half of the errors.
            for _ in 0...below(3) {
                let index = below(2) == 0 ? below(bytes.count) : below(min(bytes.count, 200))
                bytes[index] ^= UInt8(1 << below(8))
            }
            if below(8) == 0 { bytes.removeSubrange(0..<below(20)) }
            do throws(CertificateError) {
                let info = try CertificateReader.publicKeyInfo(of: bytes)
                keys += 1
                #expect(info.count > 4 && bytes.range(of: info) != nil, "seed \(seed), step \(step)")
            } catch {
                reasons.insert(error.reason)
                #expect(0...bytes.count ~= error.offset, "seed \(seed), step \(step): \(error)")
            }
        }
        #expect(keys > Self.steps / 10)
        #expect(reasons == [.truncated, .invalidLength, .unexpectedTag, .surplusBytes, .invalidKey])
    }
}
