// SPDX-License-Identifier: MIT

import PulseCore
import PulsePlatform
import TestSupport
import Testing

@testable import PulseTransports

@Suite(.throttled)
struct CertificateReaderTests {
    private func reason(_ certificate: Data) -> CertificateError.Reason? {
        let error = #expect(throws: CertificateError.self) { try CertificateReader.publicKeyInfo(of: certificate) }
        return error?.reason
    }

    private func read(_ certificate: Data) throws -> Data {
        try CertificateReader.publicKeyInfo(of: certificate)
    }

    @Test(arguments: CertificateFixture.all)
    func theKeyHasTheHashThatOpenSSLComputes(_ fixture: CertificateFixture) throws {
        let hashes = try #require(SystemHashes.library)
        #expect(hashes.sha256(try read(fixture.der))?.hex == fixture.keyHash)
        // A slice has other indices.
        let slice = (Data([0x30, 0x80]) + fixture.der).dropFirst(2)
        #expect(hashes.sha256(try read(slice))?.hex == fixture.keyHash)
    }

    @Test func thereAreFixturesOfAllKinds() {
        #expect(CertificateFixture.all.count >= 40)
        #expect(Set(CertificateFixture.all.map(\.keyHash)).count == CertificateFixture.all.count)
    }

    @Test(arguments: CertificateFixture.all)
    func everyTruncationIsAnError(_ fixture: CertificateFixture) {
        for count in 0..<fixture.der.count {
            let error = #expect(throws: CertificateError.self) { try read(fixture.der.prefix(count)) }
            #expect(error == CertificateError(reason: .truncated, offset: count))
        }
    }

    @Test func optionalFieldsMayBePresent() throws {
        let version = DER.element(0xA0, DER.element(0x02, Data([2])))
        let ids = DER.element(0x81, Data([0, 1])) + DER.element(0x82, Data([0, 2]))
        let extensions = DER.element(0xA3, DER.sequence(DER.null))
        for rest in [Data(), ids, extensions, ids + extensions] {
            #expect(try read(DER.certificate(rest: rest)) == DER.publicKeyInfo)
            #expect(try read(DER.certificate(version: version, rest: rest)) == DER.publicKeyInfo)
        }
        #expect(reason(DER.certificate(rest: extensions + ids)) == .surplusBytes)
        #expect(reason(DER.certificate(rest: extensions + extensions)) == .surplusBytes)
        #expect(reason(DER.certificate(rest: DER.null)) == .surplusBytes)
    }

    @Test(arguments: [0x7F, 0x80, 0xFF, 0x100, 0xFFFF, 0x10000, 0x1_00000])
    func lengthsOfAllSizesAreRead(count: Int) throws {
        let key = DER.sequence(DER.sequence(DER.null), DER.element(0x03, Data([0]) + Data(repeating: 7, count: count)))
        #expect(try read(DER.certificate(key: key)) == key)
    }

    @Test(
        arguments: [
            // Indefinite; longer than needed; of more bytes than a certificate has; beyond the bytes; reserved.
            ([0x80], .invalidLength), ([0x81, 0x05], .invalidLength), ([0x81, 0x7F], .invalidLength),
            ([0x82, 0x00, 0x85], .invalidLength), ([0x84, 0x00, 0x00, 0x01, 0x00], .invalidLength),
            ([0x85, 0x01, 0x00, 0x00, 0x00, 0x00], .invalidLength),
            ([0x88] + Array(repeating: 0xFF, count: 8), .invalidLength),
            ([0xFF], .invalidLength), ([0x81, 0xFF], .truncated), ([0x82, 0xFF, 0xFF], .truncated),
            ([0x84, 0xFF, 0xFF, 0xFF, 0xFF], .truncated), ([0x84, 0x7F, 0xFF, 0xFF, 0xFF], .truncated),
        ] as [([UInt8], CertificateError.Reason)])
    func lengthsAreInTheShortestForm(_ length: [UInt8], _ expected: CertificateError.Reason) {
        let element = Data([0x30] + length + [0x05, 0x00, 0x05, 0x00, 0x00])
        #expect(reason(element) == expected)
        #expect(reason(DER.certificate(key: element)) == expected)
    }

    @Test func elementsOfOtherTypesAreErrors() {
        #expect(reason(DER.element(0x31, DER.null)) == .unexpectedTag)
        #expect(reason(DER.element(0x24, DER.null)) == .unexpectedTag)
        #expect(reason(DER.certificate(key: DER.null)) == .unexpectedTag)
        #expect(reason(DER.certificate(version: DER.element(0xA1, DER.null))) == .unexpectedTag)
        #expect(reason(DER.certificate(signature: DER.element(0x04, Data([0, 9])))) == .unexpectedTag)
        #expect(
            reason(DER.certificate(key: DER.sequence(DER.null, DER.element(0x03, Data([0, 1]))))) == .unexpectedTag)
        // A string of bits in parts, which DER does not have.
        #expect(
            reason(DER.certificate(signature: DER.element(0x23, DER.element(0x03, Data([0, 9]))))) == .unexpectedTag)
        #expect(reason(Data("-----BEGIN CERTIFICATE-----".utf8)) == .unexpectedTag)
        // A tag of several bytes.
        #expect(reason(Data([0x3F, 0x10, 0x00])) == .unexpectedTag)
    }

    @Test func bytesAfterACertificateAreAnError() throws {
        let certificate = DER.certificate()
        #expect(try read(certificate) == DER.publicKeyInfo)
        #expect(reason(certificate + Data([0x0A])) == .surplusBytes)
        #expect(reason(certificate + certificate) == .surplusBytes)
        #expect(reason(DER.certificate(outer: DER.null)) == .surplusBytes)
        #expect(
            reason(
                DER.certificate(
                    key: DER.sequence(
                        DER.sequence(DER.null), DER.element(0x03, Data([0, 1])), DER.null))) == .surplusBytes)
    }

    @Test(arguments: [[], [0], [1, 2], [8, 2], [0xFF, 2]] as [[UInt8]])
    func aKeyThatIsNoStringOfBytesIsAnError(_ bits: [UInt8]) {
        let key = DER.sequence(DER.sequence(DER.null), DER.element(0x03, Data(bits)))
        #expect(reason(DER.certificate(key: key)) == .invalidKey)
    }

    @Test func anErrorTellsWhere() {
        let certificate = DER.certificate(outer: DER.null)
        let error = CertificateError(reason: .surplusBytes, offset: certificate.count - 2)
        #expect(throws: error) { try read(certificate) }
        #expect(throws: error) { try read((Data([0]) + certificate).dropFirst()) }
        #expect("\(error)" == "there are surplus bytes (byte \(certificate.count - 2))")
    }
}
