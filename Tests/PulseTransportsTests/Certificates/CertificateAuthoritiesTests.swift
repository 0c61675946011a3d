// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@testable import PulseTransports

@Suite(.tags(.addresses), .throttled)
struct CertificateAuthoritiesTests {
    /// Computed: the leak check of the address sanitizer does not see what `Data` in a global refers to.
    private static var all: [Data] { CertificateFixture.all.map(\.der) }

    private func problem(of authorities: [Data]) -> String? {
        let error = #expect(throws: PulseError.self) { try CertificateAuthorities(authorities) }
        guard case .invalidRequest(let reason) = error else { return nil }
        return reason
    }

    private func pem(_ certificates: [Data]) throws -> String {
        String(decoding: try CertificateAuthorities(certificates).pem, as: UTF8.self)
    }

    @Test func certificatesOfAllKindsAreReadInBothForms() throws {
        #expect(try CertificateAuthorities(Self.all).certificates == Self.all)
        let text = try pem(Self.all)
        #expect(text.components(separatedBy: "-----BEGIN CERTIFICATE-----\n").count == Self.all.count + 1)
        #expect(text.split(separator: "\n").allSatisfy { $0.utf8.count <= 64 })
        #expect(try CertificateAuthorities([Data(text.utf8)]).certificates == Self.all)
        #expect(try CertificateAuthorities([]).certificates.isEmpty)
    }

    @Test func anElementMayHaveSeveralCertificates() throws {
        let three = Array(Self.all.prefix(3))
        #expect(try CertificateAuthorities([three[0] + three[1], three[2]]).certificates == three)
        let text =
            "# the first\r\n" + (try pem([three[0]])).replacingOccurrences(of: "\n", with: "\r\n")
            + "-----BEGIN X509 CRL-----\nAAAA\n-----END X509 CRL-----\nthe second:  \n" + (try pem([three[1]]))
        #expect(try CertificateAuthorities([Data(text.utf8), three[2]]).certificates == three)
        let other = text.replacingOccurrences(of: " CERTIFICATE", with: " X509 CERTIFICATE")
        #expect(try CertificateAuthorities([Data(other.utf8)]).certificates == Array(three.prefix(2)))
        // A slice has other indices.
        #expect(try CertificateAuthorities([(Data([1, 2]) + three[0]).dropFirst(2)]).certificates == [three[0]])
    }

    @Test func whatIsNoCertificateNamesItsPlaceAndTheSetting() throws {
        let one = Self.all[0]
        let text = try pem([one])
        let cases: [(Data, String)] = [
            (Data(), "there is no certificate"), (Data("no certificate".utf8), "there is no certificate"),
            (Data("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----".utf8), "there is no certificate"),
            (one.dropLast(), "the bytes end"), (one + one.dropLast(), "the bytes end"), (one + [0], "another type"),
            (Data([0x30, 0]), "the bytes end"),
            (Data(text.dropLast(30).utf8), "the bytes end"),
            (Data(text.replacingOccurrences(of: "\nM", with: "\n*").utf8), "not base64"),
            (Data("-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----".utf8), "not base64"),
            (
                Data(text.replacingOccurrences(of: "N CERT", with: "N TRUSTED CERT").utf8), "trust settings"
            ),
            (Data(text.replacingOccurrences(of: "END CERT", with: "END X509 CERT").utf8), "the bytes end"),
        ]
        for (data, words) in cases {
            let reason = try #require(problem(of: [one, data]))
            #expect(reason.contains("`certificateAuthorities`") && reason.contains("element 1"))
            #expect(reason.contains(words), "\(reason)")
        }
    }

    @Test func everyTruncationOfATextIsAnErrorOrFewerCertificates() throws {
        let text = Data(try pem(Array(Self.all.prefix(2))).utf8)
        for count in 0..<text.count {
            guard let read = try? CertificateAuthorities([text.prefix(count)]) else { continue }
            #expect(read.certificates == Array(Self.all.prefix(read.certificates.count)))
        }
    }

    #if DEBUG
    @Test func aBundleIsReadInLinearTime() throws {
        let one = String(repeating: "a comment\n", count: 100) + (try pem([Self.all[0]]))
        func steps(_ count: Int) throws -> Int {
            let bundle = Data(String(repeating: one, count: count).utf8)
            return try StepCount.taken { _ = try CertificateAuthorities([bundle]) }
        }
        let base = try steps(20)
        #expect(try steps(40) < 9 * base / 4)
        // Each byte counts, so no other search is left.
        #expect(base > 20 * one.utf8.count * 9 / 10)
    }
    #endif

    @Test func aCertificateThatTheSystemCannotReadIsAnError() throws {
        let authorities = try CertificateAuthorities(Array(Self.all.prefix(2)))
        try authorities.requireReading(of: 2)
        #expect(throws: PulseError.self) { try authorities.requireReading(of: 1) }
    }

    @Test(
        arguments: [
            (0, true, nil), (0, false, "private key"), (-25293, false, "password"),
            (-25264, false, "password"), (-26275, false, "PKCS #12"), (-25257, false, "PKCS #12"), (-50, false, "-50"),
            (-25293, true, "password"),
        ] as [(Int32, Bool, String?)])
    func anImportThatFailedHasAReason(_ status: Int32, hasIdentity: Bool, _ words: String?) {
        let problem = TLSSettings.ClientCertificate.importProblem(status: status, hasIdentity: hasIdentity)
        guard let words else { return #expect(problem == nil) }
        #expect(problem?.contains(words) == true)
    }

    @Test func versionsHaveTheirNumbersOnTheWire() {
        #expect(TLSSettings.Version.tls12.number == 0x0303)
        #expect(TLSSettings.Version.tls13.number == 0x0304)
    }
}
